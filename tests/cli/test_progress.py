"""Signs of life: on a terminal, for what takes more than a second; and nothing where nobody looks."""

from __future__ import annotations

import http.server
import json
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from conftest import PATIENCE

from memctl import open_store

from .conftest import Memctl, plain, read_until


def test_a_command_that_waits_says_that_it_works(memctl: Memctl) -> None:
    with ExitStack() as held, memctl.terminal("add", "The kettle is blue") as terminal:
        store = held.enter_context(open_store(memctl.store, user="alice"))
        held.enter_context(store.engine.files.gateway.locked())
        read_until(terminal, "working … ")
        held.close()
        assert "added mem_" in read_until(terminal, "added mem_")


class Embeddings(http.server.BaseHTTPRequestHandler):
    """Answers for one text at once, and for many when it is let."""

    go_on: threading.Event

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        len(given) == 1 or self.go_on.wait(PATIENCE)
        data = [{"index": at, "embedding": [1.0, float(at), 0.5]} for at in range(len(given))]
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def embeddings() -> Iterator[tuple[str, threading.Event]]:
    handler = type("Handler", (Embeddings,), {"go_on": threading.Event()})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", handler.go_on
        finally:
            handler.go_on.set()
            server.shutdown()


def test_what_can_be_counted_is_counted(empty: Memctl) -> None:
    lines = "\n".join(json.dumps({"content": f"thing number {at}"}) for at in range(300))
    empty("import", "-", stdin=lines).done()
    with embeddings() as (url, go_on):
        (empty.store / "memctl.yaml").write_text(f"model: openai:small\nmodel_url: {url}\nmodel_timeout: {PATIENCE}\n")
        empty("config", "trust", "model_url").done()
        with empty.terminal("sync") as terminal:
            shown = read_until(terminal, " of 300 … ")
            assert "embedding " in shown
            assert "░" in shown
            go_on.set()
            read_until(terminal, "index fresh")


def test_nothing_of_it_in_a_pipe(memctl: Memctl) -> None:
    assert memctl.process("reindex").done().err == ""


def test_reading_from_a_terminal_says_so(memctl: Memctl) -> None:
    with memctl.terminal("add", "-") as terminal:
        read_until(terminal, "reading from the terminal; end with Ctrl-D")
        os.write(terminal, b"The kettle is green\n\x04")
        read_until(terminal, "added mem_")
    assert "The kettle is green" in memctl("list", "-n", "1").out


def test_a_question_takes_the_line_away(memctl: Memctl) -> None:
    with memctl.terminal("forget", "--purge", memctl.ids()[0]) as terminal:
        shown = read_until(terminal, "[y/N]")
        assert "This cannot be undone." in plain(shown)
        os.write(terminal, b"n\n")
    assert memctl("show", memctl.ids()[0]).code == 0

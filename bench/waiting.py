"""What an agent's calls cost while a language model does not answer, beside the same without one: `python -m bench.waiting`.

A server on this machine takes each request and never answers.
"""

from __future__ import annotations

import http.server
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from memctl import open_store
from memctl.agent.memory import AgentMemory

TURNS = 60


class _Hanging(http.server.BaseHTTPRequestHandler):
    over: threading.Event

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.over.wait()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def hanging() -> Iterator[str]:
    """The address of a server that never answers."""
    over = _Hanging.over = threading.Event()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hanging) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        over.set()
        server.shutdown()


def costs(model: Mapping[str, str]) -> dict[str, list[float]]:
    """Milliseconds of each call of a conversation, the first turns, which warm caches, left out."""
    times: dict[str, list[float]] = {}

    def timed(name: str, act: Callable[[], object]) -> None:
        start = time.perf_counter()
        act()
        times.setdefault(name, []).append((time.perf_counter() - start) * 1000)

    with tempfile.TemporaryDirectory() as folder, open_store(folder, "alice", create=True, environment=model) as store:
        memory = AgentMemory(store)
        for turn in range(TURNS):
            timed("on_user_message", partial(memory.on_user_message, f"I moved shop number {turn} to Porto."))
            timed("build_context", memory.build_context)
            timed("on_assistant_message", lambda: memory.on_assistant_message("Noted."))
        memory.on_task_start("Find the pager rota")
        timed("on_task_complete", lambda: memory.on_task_complete("Alice has the pager"))
        timed("on_session_end", memory.on_session_end)
        memory.close(0)
    return {name: some[5:] or some for name, some in times.items()}


def main() -> None:
    """Print the medians side by side."""
    plain = costs({**os.environ, "MEMCTL_LLM": "none"})
    with hanging() as url:
        waiting = costs({**os.environ, "MEMCTL_LLM": "openai:none", "MEMCTL_LLM_URL": url})
    print("| call | no language model, ms | one that does not answer, ms |\n|---|---|---|")
    for name, some in plain.items():
        print(f"| `{name}` | {statistics.median(some):.1f} | {statistics.median(waiting[name]):.1f} |")


if __name__ == "__main__":
    main()

"""Servers that a store names: nothing is sent to them before the user of this machine has said that it is meant."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from providers.test_fastembed import build_model

from memctl import open_store, trust
from memctl.cli.main import main
from memctl.errors import ProviderError, UntrustedError
from memctl.storage.folder import settings_file
from memctl.trust import Server, server

EVIL = "https://evil.example/v1"
KEY = "sk-thisIsTheUsersOwnKey"


@pytest.fixture(autouse=True)
def _a_machine_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MEMCTL_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("MEMCTL_USER", "alice")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def heard() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A server on this machine under an address that is not known to be one of this machine, and what it was sent."""
    requests: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((str(self.headers["Authorization"]), body))
            asked = json.loads(body)
            texts = asked.get("input", [])
            answer = {"data": [{"index": at, "embedding": [1.0, 0.5]} for at in range(len(texts))]}
            told = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_: object) -> None:
            pass

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=listening.serve_forever, daemon=True).start()
    yield f"http://0.0.0.0:{listening.server_port}/v1", requests
    listening.shutdown()
    listening.server_close()


def hostile(tmp_path: Path, **values: str) -> Path:
    """A store that came from somebody else."""
    root = tmp_path / "store"
    open_store(root, "alice", create=True).close()
    (root / "memctl.yaml").write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items()))
    return root


# What is sent


def test_a_store_that_names_a_server_gets_neither_texts_nor_key(
    tmp_path: Path, heard: tuple[str, list[tuple[str, bytes]]]
) -> None:
    address, requests = heard
    root = hostile(tmp_path, model="openai:m", model_url=address, llm="openai:m", llm_url=address)
    with open_store(root, "alice") as store:
        store.add("Alice drinks tea")
        answer = store.query("tea")
        assert [hit.memory.content for hit in answer.hits] == ["Alice drinks tea"]
        assert any("`memctl config trust model_url` allows it" in told for told in answer.degraded)
        assert any("the key in OPENAI_API_KEY would be sent" in told for told in answer.degraded)
        assert any(
            "`memctl config trust llm_url` allows it" in note for note in store.reflections.write(store.all()).notes
        )
        assert KEY not in str(answer)
    assert requests == []

    assert main(["config", "trust", "model_url"]) == 0
    with open_store(root, "alice") as store:
        store.sync()
    assert requests
    assert requests[0][0] == f"Bearer {KEY}"

    del requests[:]
    assert main(["config", "distrust", address]) == 0
    with open_store(root, "alice") as store:
        store.add("Alice keeps bees")
        store.query("bees")
    assert requests == []


def test_a_trusted_server_gets_no_other_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "ds-other")
    trust.add(server(EVIL, "OPENAI_API_KEY"), os.environ)
    root = hostile(tmp_path, llm="openai:m", llm_url=EVIL, llm_key_variable="DEEPSEEK_API_KEY")
    with open_store(root, "alice") as store, pytest.raises(UntrustedError, match="DEEPSEEK_API_KEY"):
        _ = store.engine.llm


def test_the_environment_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = hostile(tmp_path, llm="openai:m", llm_url=EVIL)
    monkeypatch.setenv("MEMCTL_LLM", "openai:other")
    with open_store(root, "alice") as store, pytest.raises(UntrustedError):
        _ = store.engine.llm
    monkeypatch.setenv("MEMCTL_LLM_URL", "https://mine.example/v1")
    with open_store(root, "alice") as store:
        assert store.engine.llm is not None
    monkeypatch.delenv("MEMCTL_LLM_URL")
    monkeypatch.setenv("MEMCTL_TRUSTED_URLS", f"https://other.example, {EVIL}/")
    with open_store(root, "alice") as store:
        assert store.engine.llm is not None


def test_what_is_typed_here_is_trusted_and_what_the_file_said_is_not(tmp_path: Path) -> None:
    root = hostile(tmp_path, model_url=EVIL, llm_url=EVIL)
    assert main(["config", "set", "llm", "openai:m"]) == 0
    assert main(["config", "set", "llm_key_variable", "MISTRAL_API_KEY"]) == 0
    with open_store(root, "alice") as store, pytest.raises(UntrustedError):
        _ = store.engine.llm
    assert main(["config", "set", "llm_url", "https://mine.example/v1"]) == 0
    assert main(["config", "set", "llm_key_variable", "GROQ_API_KEY"]) == 0
    assert trust.listed(os.environ) == [
        Server("https://mine.example/v1", "MISTRAL_API_KEY"), Server("https://mine.example/v1", "GROQ_API_KEY"),
    ]  # fmt: skip
    with open_store(root, "alice") as store:
        assert store.engine.llm is not None
    assert main(["model", "use", "openai:m"]) == UntrustedError.exit_code
    assert settings_file.read(root)[0].model == "builtin"


@pytest.mark.parametrize("name", ["model", "rerank"])
def test_a_model_in_a_folder_that_the_store_names_is_not_loaded(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = build_model(tmp_path / "model")
    root = hostile(tmp_path, **{name: f"fastembed:{folder}"})
    with open_store(root, "alice") as store:
        assert getattr(store.settings, name) == ("builtin" if name == "model" else "none")
        assert f"{name} to fastembed:{folder}, which runs a model's files" in store.engine.setting_notes[0]
    assert main(["model", "verify"]) == 0
    assert capsys.readouterr().out.startswith("builtin works")
    assert main(["config", "trust", name]) == 0
    with open_store(root, "alice") as store:
        assert getattr(store.settings, name) == f"fastembed:{folder}"


def test_a_model_in_a_folder_that_the_user_chose_is_loaded(tmp_path: Path) -> None:
    root = hostile(tmp_path)
    assert main(["model", "use", f"fastembed:{build_model(tmp_path / 'model')}"]) == 0
    with open_store(root, "alice") as store:
        assert store.settings.model.startswith("fastembed:/")


def test_the_command_line_lists_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile(tmp_path, llm_url=EVIL)
    trust.add(server("https://old.example", "OPENAI_API_KEY"), os.environ)
    assert main(["--json", "config", "trust"]) == 0
    found = {row["setting"]: row["state"] for row in json.loads(capsys.readouterr().out)}
    assert {name: found[name] for name in ("model_url", "llm_url", "")} == {
        "model_url": "the default, without a key", "llm_url": "not trusted", "": "trusted",
    }  # fmt: skip
    assert main(["config", "trust", "query_top"]) == 2
    assert main(["config", "distrust", "llm_url"]) == 1


# The file


def test_it_is_private_and_lies_outside_of_the_store(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "mine")}
    assert trust.add(server(EVIL + "/", "A_API_KEY"), environment)
    assert not trust.add(server(EVIL, "A_API_KEY"), environment)
    path = trust.place(environment)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert trust.is_trusted(server(EVIL, "A_API_KEY"), environment)
    assert not trust.is_trusted(server(EVIL, "B_API_KEY"), environment)
    assert trust.remove(EVIL, environment)
    assert trust.listed(environment) == []


@pytest.mark.parametrize("broken", ["{", "[1]", '["ab", 3]', "null ", "[[1, 2, 3]]", "\xff"])
def test_unreadable_is_not_taken_for_empty(broken: str, tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    path = trust.place(environment)
    path.parent.mkdir()
    path.write_bytes(broken.encode("latin-1"))
    with pytest.raises(ProviderError, match="is malformed"):
        trust.is_trusted(server(EVIL, "A_API_KEY"), environment)
    with pytest.raises(ProviderError):
        trust.add(server(EVIL, "A_API_KEY"), environment)
    assert path.read_bytes() == broken.encode("latin-1")


# This machine


@pytest.mark.parametrize(
    "address", ["http://localhost:11434/v1", "http://127.0.0.1/v1", "https://127.3.2.1:8443", "http://[::1]:80/", "HTTP://LOCALHOST"],
)  # fmt: skip
def test_addresses_of_this_machine(address: str) -> None:
    assert trust.is_local(address)


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost.evil.example/v1", "http://localhost@evil.example/v1", "http://evil.example/localhost",
        "http://127.0.0.1.evil.example", "http://127.0.0.1@evil.example", "http://localhost:80@evil.example",
        "http://localhost\\@evil.example/v1", "http://evil.example\\@localhost", "http://localhost#@evil.example",
        "http://localhost?@evil.example", "//localhost", "localhost", "http://0.0.0.0:1", "http://10.0.0.1", "http://[::]",
        "http://localhost:1/@evil.example", "http://localhos\u0442", "ftp://localhost",
    ],
)  # fmt: skip
def test_addresses_that_only_look_so(address: str) -> None:
    assert not trust.is_local(address)

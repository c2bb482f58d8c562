"""Where texts and keys go: straight to the server that was named, whatever proxies, redirects and variables say."""

from __future__ import annotations

import http.server
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cli.answering import program
from conftest import PATIENCE

from memctl import open_store
from memctl.context import tokens
from memctl.errors import ProviderError, UntrustedError
from memctl.providers import addresses
from memctl.providers.llm import OpenAILLM
from memctl.providers.openai import OpenAIEmbedder
from memctl.providers.rerank import ServerReranker

KEY = "sk-thisIsTheUsersOwnKey"
TEXT = "Alice keeps nine bees"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
MESSAGES = [{"role": "user", "content": TEXT}]


@dataclass
class Heard:
    """A listening port, and everything it was sent: first lines, headers and bodies."""

    port: int
    redirect: str = ""
    requests: list[tuple[str, dict[str, str], str]] = field(default_factory=list)

    def url(self, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}/v1"

    @property
    def keys(self) -> set[str | None]:
        return {headers.get("authorization") for _, headers, _ in self.requests}


def answer(path: str, body: str) -> dict[str, Any]:
    asked = json.loads(body)
    if path.endswith("/embeddings"):
        return {"data": [{"index": at, "embedding": [1.0, 0.5]} for at in range(len(asked["input"]))]}
    if path.endswith("/rerank"):
        return {"results": [{"index": at, "relevance_score": 0.5} for at in range(len(asked["documents"]))]}
    return {"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]}


class Handler(http.server.BaseHTTPRequestHandler):
    heard: Heard

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.heard.requests.append((self.requestline, {k.lower(): v for k, v in self.headers.items()}, body))
        if self.heard.redirect:
            self.send_response(307)
            self.send_header("Location", self.heard.redirect)
            content = b""
        else:
            self.send_response(200)
            content = json.dumps(answer(self.path, body)).encode()
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_CONNECT(self) -> None:
        self.heard.requests.append((self.requestline, {k.lower(): v for k, v in self.headers.items()}, ""))
        self.send_error(502)

    def log_message(self, *_: object) -> None:
        pass


class OnSix(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6


@contextmanager
def listening(host: str = "127.0.0.1") -> Iterator[Heard]:
    with (OnSix if ":" in host else http.server.ThreadingHTTPServer)((host, 0), Handler) as server:
        heard = Heard(server.server_address[1])
        server.RequestHandlerClass = type("ThisHandler", (Handler,), {"heard": heard})
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield heard
        server.shutdown()


@pytest.fixture
def server() -> Iterator[Heard]:
    with listening() as heard:
        yield heard


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    """A proxy that all variables name."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with listening() as heard:
        for name in PROXIES:
            monkeypatch.setenv(name, f"http://127.0.0.1:{heard.port}")
        yield heard


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pauses between attempts."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


def embed(url: str) -> None:
    OpenAIEmbedder("m", base_url=url, api_key=KEY, timeout=PATIENCE).embed([TEXT])


def rerank(url: str) -> None:
    ServerReranker("m", base_url=url, api_key=KEY, timeout=PATIENCE).scores("bees", [TEXT])


def complete(url: str) -> None:
    OpenAILLM("m", base_url=url, api_key=KEY, timeout=PATIENCE).complete(MESSAGES)


clients = pytest.mark.parametrize("ask", [embed, rerank, complete])
Ask = Callable[[str], None]


# Proxies


@clients
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.8.7", "LOCALHOST", "127.1", "0.0.0.0"])
@pytest.mark.parametrize("exceptions", ["", "example.org,10.0.0.0/8"])
def test_what_stays_on_this_machine_uses_no_proxy(
    ask: Ask, host: str, exceptions: str, proxy: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", exceptions)
    with listening("0.0.0.0") as server:
        ask(server.url(host))
    assert proxy.requests == []
    assert server.keys == {f"Bearer {KEY}"}
    assert TEXT in server.requests[0][2]


@clients
def test_plain_http_needs_no_certificates(
    ask: Ask, server: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    ask(server.url("127.0.0.1"))
    assert TEXT in server.requests[0][2]


@clients
def test_also_over_the_newer_protocol(ask: Ask, proxy: Heard) -> None:
    try:
        with listening("::1") as server:
            ask(server.url("[::1]"))
            ask(server.url("localhost"))
    except OSError:
        pytest.skip("this machine has no IPv6")
    assert proxy.requests == []
    assert len(server.requests) == 2


@clients
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "ollama.localhost", "localhost.", "127.1"]
)
def test_also_with_tls(ask: Ask, host: str, proxy: Heard) -> None:
    with pytest.raises(ProviderError):
        ask(f"https://{host}:9/v1")
    assert proxy.requests == []


@clients
@pytest.mark.usefixtures("hurried")
def test_a_proxy_never_carries_what_it_could_read(ask: Ask, proxy: Heard) -> None:
    with pytest.raises(ProviderError):
        ask("http://model.invalid/v1")
    assert proxy.requests == []
    with pytest.raises(ProviderError):
        ask("https://model.invalid/v1")
    assert {line for line, *_ in proxy.requests} == {"CONNECT model.invalid:443 HTTP/1.1"}
    assert KEY not in str(proxy.requests)
    assert TEXT not in str(proxy.requests)


def test_at_the_command_line(proxy: Heard, server: Heard, tmp_path: Path) -> None:
    environment = os.environ | {
        "MEMCTL_STORE": str(tmp_path / "store"), "MEMCTL_USER": "alice", "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "OPENAI_API_KEY": KEY, "RERANK_API_KEY": KEY, "PYTHONIOENCODING": "utf-8",
    }  # fmt: skip

    def memctl(*arguments: str) -> str:
        command = [program(), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def post() -> set[str]:
        memctl("sync")
        shown = memctl("query", "bees") + memctl("reflect", "--query", "bees")
        assert proxy.requests == []
        return {line.split()[1] for line, *_ in server.requests} if "not trusted" not in shown else set()

    memctl("init")
    named = {"model": "openai:m", "rerank": "server:m", "llm": "openai:m"}
    settings = named | dict.fromkeys(("model_url", "rerank_url", "llm_url"), server.url("localhost"))
    (tmp_path / "store" / "memctl.yaml").write_text("".join(f"{n}: {json.dumps(v)}\n" for n, v in settings.items()))
    memctl("add", TEXT)
    memctl("add", "Alice sold two bees")
    assert post() == set()
    assert server.requests == [], "a store may not choose who is posted to, on this machine either"
    for name in ("model_url", "rerank_url", "llm_url"):
        assert "without a key" in memctl("config", "set", name, server.url("localhost"))
    assert post() == {"/v1/embeddings", "/v1/rerank", "/v1/chat/completions"}
    assert server.keys == {None}
    for name in ("model_url", "rerank_url", "llm_url"):
        memctl("config", "trust", name)
    memctl("query", "who keeps the bees")
    assert server.keys == {None, f"Bearer {KEY}"}
    assert proxy.requests == []


# Names


@clients
def test_a_resolver_is_not_asked_for_localhost(ask: Ask, server: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    resolve = socket.getaddrinfo

    def elsewhere(host: Any, *rest: Any, **named: Any) -> Any:
        asked.append(host)
        return resolve(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", elsewhere)
    ask(server.url("localhost"))
    assert set(asked) == {"127.0.0.1"}
    assert server.requests[0][1]["host"] == f"localhost:{server.port}"


@pytest.mark.parametrize(
    "address", ["http://127.0.0.999/v1", "http://127.1.2", "http://127.00000.0.1", "http://1.2.3.4"]
)
def test_a_number_that_is_no_address_of_this_machine(address: str) -> None:
    assert not addresses.is_local(address)


# Redirects


@clients
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_redirect_is_not_followed(ask: Ask, host: str, server: Heard) -> None:
    with listening() as other:
        server.redirect = other.url(host) + "/embeddings"
        with pytest.raises(ProviderError, match="redirects to another address") as caught:
            ask(server.url(host))
    assert "final address" in caught.value.hint
    assert other.requests == []
    assert len(server.requests) == 1


# What else could tell who the user is


@clients
def test_nothing_is_taken_from_files_and_variables_of_others(
    ask: Ask, server: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login alice password netrc-secret\ndefault login a password netrc-secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "of-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer of-openai\nX-Gateway-Key: of-openai")
    ask(server.url())
    assert server.keys == {f"Bearer {KEY}"}
    assert "of-openai" not in str(server.requests)
    assert "netrc-secret" not in str(server.requests)


def test_without_a_key_none_is_sent(server: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-openai")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer of-openai")
    OpenAILLM("m", base_url=server.url(), api_key="").complete(MESSAGES)
    assert server.keys == {None}


# Keys of stores


@pytest.fixture
def hostile(tmp_path: Path) -> Callable[..., Any]:
    """Opens a store that came from somebody else."""

    def opened(environment: dict[str, str], **values: str) -> Any:
        root = tmp_path / "store"
        open_store(root, "alice", create=True).close()
        (root / "memctl.yaml").write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items()))
        return open_store(root, "alice", environment=environment | {"XDG_CONFIG_HOME": str(tmp_path / "config")})

    return opened


def test_a_key_is_not_sent_to_whoever_listens_on_this_machine(server: Heard, hostile: Callable[..., Any]) -> None:
    values = {"model": "openai:m", "model_url": server.url(), "model_key_variable": "DEEPSEEK_API_KEY"}
    with hostile({"DEEPSEEK_API_KEY": KEY}, **values) as store:
        store.add(TEXT)
        store.sync()
    assert server.requests == []
    with hostile({"DEEPSEEK_API_KEY": KEY, "MEMCTL_TRUSTED_URLS": server.url()}, **values) as store:
        store.sync()
    assert server.keys == {None}
    allowed = {"MEMCTL_TRUSTED_URLS": f"OPENAI_API_KEY={server.url()} DEEPSEEK_API_KEY={server.url()}/"}
    with hostile({"DEEPSEEK_API_KEY": KEY} | allowed, **values) as store:
        store.add("Alice sold two bees")
        store.sync()
    assert server.keys == {None, f"Bearer {KEY}"}


def test_the_environment_allows_a_server_and_names_its_key(hostile: Callable[..., Any]) -> None:
    address = "https://model.invalid/v1"
    values = {"llm": "openai:m", "llm_url": address, "llm_key_variable": "DEEPSEEK_API_KEY"}
    with hostile({"DEEPSEEK_API_KEY": KEY}, **values) as store, pytest.raises(UntrustedError):
        _ = store.engine.llm
    with (
        hostile({"MEMCTL_TRUSTED_URLS": f"OPENAI_API_KEY={address}"}, **values) as store,
        pytest.raises(UntrustedError),
    ):
        _ = store.engine.llm
    for allowed in (address, f"DEEPSEEK_API_KEY={address}"):
        with hostile({"DEEPSEEK_API_KEY": KEY, "MEMCTL_TRUSTED_URLS": allowed}, **values) as store:
            assert store.engine.llm is not None


def test_a_store_does_not_choose_the_key_for_the_users_own_server(server: Heard, hostile: Callable[..., Any]) -> None:
    own = {
        "MEMCTL_LLM_URL": server.url(),
        "MEMCTL_LLM": "openai:m",
        "OPENAI_API_KEY": KEY,
        "GITHUB_API_KEY": "of-github",
    }
    with hostile(own, llm_key_variable="GITHUB_API_KEY") as store:
        store.engine.llm.complete(MESSAGES)
    assert server.keys == {None}
    with hostile(own) as store:
        store.engine.llm.complete(MESSAGES)
    assert server.keys == {None, f"Bearer {KEY}"}


# What else could ask a server


def test_a_tokenizer_that_a_store_names_is_not_downloaded(
    proxy: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tiktoken")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    loaded = tokens.load("tiktoken:r50k_base")
    assert loaded.name == tokens.ESTIMATE
    assert "tiktoken's cache" in loaded.note
    assert proxy.requests == []

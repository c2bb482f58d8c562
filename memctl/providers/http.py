"""What asking any model server over HTTP needs: its address, its key, its pauses, its words."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from memctl.errors import ProviderError
from memctl.providers.waiting import PassingError as PassingError
from memctl.providers.waiting import Service

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

PAUSES = (0.2, 0.4)
"""Seconds before the second and the third attempt, unless the server asks for another pause."""

MAX_BYTES = 64_000_000
"""A longer answer is refused: 64 vectors of 4,096 numbers are about 6 MB."""

LOOPBACK = ("127.0.0.1", "::1")
"""What `localhost` is, in the order tried, whatever a resolver says."""

MAX_CHARACTERS = 4_000
"""Only this much of a text is sent: many servers refuse a whole batch for one text beyond the model's tokens."""


def address(base_url: str, what: str, hint: str) -> SplitResult:
    """The parts of an address, once it is known to be one; `what` it is of, in words."""
    try:
        url = urlsplit(base_url.strip())
        valid = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ProviderError(f"the base URL of {what} is missing or is no http(s) address", hint=hint)
    return url


_LOCALHOST = re.compile(r"https?://(localhost|[\d.]+|\[::1\])(:\d{1,5})?(/.*)?", re.IGNORECASE | re.DOTALL)
"""Strict on purpose: what one parser takes for this machine, another may take for a name and a password."""


def is_local(address: str) -> bool:
    """Whether an address is certainly one of this machine: `localhost`, `127.x.x.x` or `[::1]`, written in full."""
    found = _LOCALHOST.fullmatch(address.strip())
    if found is None or "\\" in address or "@" in address:
        return False
    from ipaddress import IPv4Address

    try:
        return not found[1][0].isdigit() or IPv4Address(found[1]).is_loopback
    except ValueError:  # a resolver would be asked for it as a name
        return False


def may_use_proxy(url: SplitResult) -> bool:
    """Whether a proxy of the environment may carry this: what it cannot read, to a machine that is not this one."""
    return url.scheme == "https" and not _is_this_machine(url.hostname or "")


def _is_this_machine(host: str) -> bool:
    """Whether a host leads here in any way of writing it, `127.1` and `[::ffff:7f00:1]` among them."""
    import socket
    from ipaddress import IPv4Address, ip_address

    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        found = ip_address(name) if ":" in name else IPv4Address(socket.inet_aton(name))
    except (ValueError, OSError):
        return False
    found = getattr(found, "ipv4_mapped", None) or found
    return found.is_loopback or found.is_unspecified


def direct_transport(library: Any) -> Any:
    """A transport of `httpx` or `httpx2` that uses no proxy, and does not ask a resolver what `localhost` is.

    A line in a hosts file, or a name server asked for `localhost`, could otherwise lead texts to another machine.
    """

    class Direct(library.HTTPTransport):  # type: ignore[misc]
        def handle_request(self, request: Any) -> Any:
            if request.url.host != "localhost":
                return super().handle_request(request)
            request.extensions = {**request.extensions, "sni_hostname": "localhost"}
            return self._on_loopback(request)

        def _on_loopback(self, request: Any) -> Any:
            first, second = (request.url.copy_with(host=host) for host in LOOPBACK)
            try:
                request.url = first
                return super().handle_request(request)
            except library.ConnectError as refused:
                try:
                    request.url = second
                    return super().handle_request(request)
                except library.ConnectError:
                    raise refused from None

    return Direct()


def shown(url: SplitResult) -> str:
    """An address without what may be secret in it: user, password and query."""
    return url._replace(netloc=url.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")


def checked_key(key: str, what: str, hint: str) -> str:
    """The key, if a header can hold it: the HTTP library would print it in its complaint."""
    key = key.strip()
    if not key.isascii() or not all(map(str.isprintable, key)):
        raise ProviderError(f"the key for {what} is not plain printable ASCII", hint=hint)
    return key


def until(deadline: float, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Hand chunks on; cut off a server that sends byte by byte."""
    for chunk in chunks:
        if time.monotonic() > deadline:
            raise TimeoutError
        yield chunk


def said(content: bytes, key: str) -> str:
    """The beginning of what a server says, fit for a terminal, with the key taken out, as some servers echo it."""
    text = content.decode("utf-8", "replace")
    shown_text = "".join(c if c.isprintable() else " " for c in (text.replace(key, "…") if key else text)[:2_000])
    return ": " + " ".join(shown_text.split())[:300] if shown_text.strip() else ""


def pause_of(retry_after: str) -> float | None:
    """The pause a `Retry-After` header asks for, as seconds or as a date; None if it does not say."""
    try:
        if retry_after.strip().isdigit():
            return float(retry_after)
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None


def patiently(attempt: Callable[[], T], pauses: Iterable[float], deadline: float) -> T:
    """What an attempt gives, made again after a failure that may pass, while there are pauses and time left.

    Args:
        pauses: seconds before each further attempt, unless the server says how many.
        deadline: of the monotonic clock.
    """
    left = iter(pauses)
    while True:
        try:
            return attempt()
        except PassingError as error:
            pause = next(left, math.inf)
            if error.pause is not None and pause < math.inf:
                pause = error.pause
            if time.monotonic() + pause >= deadline:
                raise
            time.sleep(pause)


def clean(text: str) -> str:
    """What is sent of a text: no lone surrogates, as JSON is UTF-8, and never nothing, which servers refuse."""
    return text[:MAX_CHARACTERS].encode("utf-8", "ignore").decode("utf-8") or " "


class RefusedByServerError(ProviderError):
    """A status that says the request itself is not what the server takes."""

    status = 0


class Endpoint:
    """One address that JSON is posted to, with its key, patience and repetitions; imports `httpx` at the first use.

    Args:
        model: as the server calls it; empty where it knows of one alone.
        timeout: seconds for one request, repetitions included.
        hints: what to do about a status; 500 stands for all from there on.
    """

    def __init__(self, url: SplitResult, key: str, model: str, timeout: float, hints: Mapping[int, str]) -> None:
        self.url, self.place = url.geturl(), shown(url)
        self._parts = url
        self._key, self._timeout, self._hints = key, timeout, hints
        self.of_model = f" for model {model!r}" if model else ""
        self.service = Service(self.place)

    def client(self) -> httpx.Client:
        """A connection for some requests; a context manager. It follows no redirect."""
        import httpx

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            if may_use_proxy(self._parts):
                return httpx.Client(headers=headers)
            return httpx.Client(headers=headers, transport=direct_transport(httpx), trust_env=False)
        except (ImportError, ValueError, OSError) as error:  # such as a SOCKS proxy without its package
            hint = "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE in the environment."
            raise ProviderError(f"cannot prepare a connection to {self.place}: {error}", hint=hint) from error

    def post(self, client: httpx.Client, payload: Mapping[str, Any]) -> bytes:
        """The body of the server's answer, asked for again while there are attempts and time left.

        Raises:
            RefusedByServerError: the server does not take this request.
            ProviderError: it cannot be reached, fails, or is too slow.
        """
        deadline = time.monotonic() + self._timeout
        return patiently(lambda: self._attempt(client, payload, deadline), PAUSES, deadline)

    def _attempt(self, client: httpx.Client, payload: Mapping[str, Any], deadline: float) -> bytes:
        import httpx

        left = max(deadline - time.monotonic(), 0.001)
        try:
            with client.stream("POST", self.url, json=payload, timeout=left) as response:
                content = self._limited(until(deadline, response.iter_bytes()))
        except (httpx.TimeoutException, TimeoutError) as error:
            hint = "Check that the server runs and has the model loaded, or raise the time limit in the settings."
            raise PassingError(f"{self.place} did not answer within {self._timeout:g} s", hint=hint) from error
        except (httpx.RequestError, httpx.InvalidURL, UnicodeError) as error:  # UnicodeError: no host can be called so
            hint = "Check that the server runs and that the base URL in the settings is right."
            kind = PassingError if isinstance(error, httpx.TransportError) else ProviderError
            raise kind(f"cannot reach {self.place}: {error}", hint=hint) from error
        if response.status_code != 200:
            raise self._refusal(response.status_code, response.headers.get("Retry-After", ""), content)
        return content

    def _limited(self, chunks: Iterable[bytes]) -> bytes:
        content = bytearray()
        for chunk in chunks:
            content += chunk
            if len(content) > MAX_BYTES:
                hint = "Check that the base URL and the model in the settings are right."
                raise ProviderError(f"{self.place} answered with more than {MAX_BYTES / 1e6:g} MB", hint=hint)
        return bytes(content)

    def _refusal(self, status: int, retry_after: str, content: bytes) -> ProviderError:
        """What a status other than 200 means."""
        message = f"{self.place} answered {status}{self.of_model}{said(content, self._key)}"
        hint = self._hints.get(min(status, 500), "Check the base URL, the model's name and its limits.")
        if 300 <= status < 400:
            message = f"{self.place} leads to another address, where nothing is sent: it answered {status}"
            hint = "Set the base URL in the settings to the server's final address."
        if status != 429 and status < 500:
            refused = RefusedByServerError(message, hint=hint)
            refused.status = status
            return refused
        error = PassingError(message, hint=hint)
        error.pause = pause_of(retry_after)
        return error

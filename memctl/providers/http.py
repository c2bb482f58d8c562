"""Asking a model server over HTTP: its address and key, attempts and limits, and what an error says."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from memctl.errors import ProviderError
from memctl.providers.waiting import PassingError, Service, in_thread

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

PAUSES = (0.2, 0.4)
"""Seconds before the second and the third attempt, unless the server asks for another pause."""

LOOPBACK = ("127.0.0.1", "::1")
"""What `localhost` is, in the order tried, whatever a resolver says."""

MAX_CHARACTERS = 4_000
"""Only this much of a text is sent: many servers refuse a whole batch for one text beyond the model's tokens."""

_MAX_REFUSAL = 65_536  # bytes that are read of what a server says when it refuses

_KEY_HINT = (
    "Set a valid key for this server in the environment variable that `{name}_key_variable` names; a server on this "
    "machine gets it after `memctl config trust {name}_url`."
)
_ADDRESS_HINT = "Check that `{name}_url` is what comes before `{path}` (often it ends in `/v1`)."
_MEANINGS = {
    300: ("leads to another address, where nothing is sent", "Set `{name}_url` to the server's final address."),
    400: ("does not take the request", "Check the model's name and how much text it takes at once."),
    401: ("does not accept the key", _KEY_HINT),
    402: ("wants to be paid first", "Check the account's balance."),
    403: ("does not allow this", f"Check that the account may use the model. {_KEY_HINT}"),
    404: ("does not know the model or the address", f"Check the model's name in `{{name}}`. {_ADDRESS_HINT}"),
    429: ("has had too many requests", "Wait, or check the limits and the balance of the account."),
    500: ("failed", "The fault is the server's: see its log, or try again later."),
    503: ("is overloaded or still starts", "Wait until the server has the model loaded, then try again."),
}
"""What a status means and what to do; 300, 400 and 500 stand for those behind them that are not listed."""


@dataclass(frozen=True)
class Api:
    """A kind of server.

    Args:
        what: it is, in words.
        name: the setting that names its model; those of its address, key and time limit begin with it.
        paths: what may come behind the base URL, first the one that is added where none is there.
        example: of a base URL.
        most: bytes of the longest answer that is read; 64 vectors of 4,096 numbers are about 6 MB.
    """

    what: str
    name: str
    paths: tuple[str, ...]
    example: str = "http://localhost:11434/v1"
    most: int = 64_000_000

    def hint(self, text: str) -> str:
        """A hint with the names of this server's settings."""
        return text.format(name=self.name, path=self.paths[0])


class RefusedByServerError(ProviderError):
    """A status that says the request itself is not what the server takes; `body` is the beginning of its reason.

    `unsuited`: another form of the request may do.
    """

    unsuited = False
    body = ""


class Endpoint:
    """One address that JSON is posted to, with its key; imports `httpx` at the first use.

    Args:
        base_url: what comes before the API's path, or the whole address.
        key: empty for a server that needs none.
        model: as the server calls it; empty where it knows of one alone.
        timeout: seconds for one request, repetitions included.

    Raises:
        ProviderError: the address or the key cannot be one.
    """

    def __init__(self, api: Api, base_url: str, key: str, model: str, timeout: float) -> None:
        base = address(base_url, api.what, f"Set `{api.name}_url`, such as {api.example}.")
        path = base.path.rstrip("/")
        self._url = base._replace(path=path if path.endswith(api.paths) else path + api.paths[0])
        self.base, self.place = shown(base), shown(self._url)
        self._api, self._key, self._timeout = api, _checked_key(key, api), timeout
        self._of_model = f" for model {model!r}" if model else ""
        self._service = Service(self.place)

    def ask(self, request: Callable[[httpx.Client], T]) -> T:
        """What the request gives, which posts with the connection that it gets.

        Raises:
            ProviderError: as the request does; or the server did not answer lately.
        """

        def connected() -> T:
            with self._client() as client:
                return request(client)

        return self._service.ask(connected)

    def batched(
        self, texts: Sequence[str], size: int, request: Callable[[httpx.Client, list[str]], list[T]]
    ) -> list[T]:
        """What the request gives for batches of texts as they are sent, all of it in one list. Raises as `ask` does."""
        cleaned = [clean(text) for text in texts]
        batches = [cleaned[start : start + size] for start in range(0, len(texts), size)]
        return self.ask(lambda client: [one for batch in batches for one in request(client, batch)]) if batches else []

    def deadline(self) -> float:
        """When a request that begins now has taken too long, by the monotonic clock."""
        return time.monotonic() + self._timeout

    def post(self, client: httpx.Client, payload: Mapping[str, Any], deadline: float | None = None) -> bytes:
        """The body of the server's answer, asked for again while there are attempts and time left.

        Raises:
            RefusedByServerError: the server does not take this request.
            ProviderError: it cannot be reached, fails, or is too slow.
        """
        latest = deadline or self.deadline()
        return _patiently(lambda: self._attempt(client, payload, latest), latest)

    def unusable(self, reason: object, content: bytes = b"") -> ProviderError:
        """The error for an answer that is not what the API promises; of its content the beginning is shown."""
        hint = self._api.hint(f"{_ADDRESS_HINT} A proxy may stand in between.")
        message = f"{self.place} answered with {reason}{self._of_model}{self._quoted(content)}"
        return ProviderError(message, hint=hint)

    def _quoted(self, content: bytes) -> str:
        beginning = self.readable(content.decode("utf-8", "replace"))
        return beginning and f": {beginning}"

    def readable(self, text: str) -> str:
        """The beginning of what a server says, fit for a terminal, without the key, which some servers echo."""
        beginning = (text.replace(self._key, "…") if self._key else text)[:2_000]
        return " ".join("".join(c if c.isprintable() else " " for c in beginning).split())[:300]

    def _client(self) -> httpx.Client:
        """A connection that follows no redirect."""
        import httpx

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            if may_use_proxy(self._url):
                return httpx.Client(headers=headers)
            return httpx.Client(headers=headers, transport=_direct_transport(), trust_env=False)
        except (ImportError, ValueError, OSError) as error:  # such as a SOCKS proxy without its package
            hint = "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE in the environment."
            raise ProviderError(f"cannot prepare a connection to {self.place}: {error}", hint=hint) from error

    def _attempt(self, client: httpx.Client, payload: Mapping[str, Any], deadline: float) -> bytes:
        import httpx

        left = max(deadline - time.monotonic(), 0.001)
        try:
            # Nothing but a thread that is left alone ends the lookup of a name, or an answer that comes byte by byte.
            return in_thread(lambda: self._send(client, payload, left)).result(left)
        except (httpx.TimeoutException, TimeoutError):
            hint = self._api.hint("Check that the server runs and has the model loaded, or raise `{name}_timeout`.")
            raise PassingError(f"{self.place} did not answer within {self._timeout:g} s", hint=hint) from None
        except (httpx.RequestError, httpx.InvalidURL, UnicodeError) as error:  # UnicodeError: no host can be called so
            kind = PassingError if isinstance(error, httpx.TransportError) else ProviderError
            message = f"cannot reach {self.place}: {self.readable(str(error)) or type(error).__name__}"
            raise kind(
                message, hint=self._api.hint("Check that the server runs and that `{name}_url` is right.")
            ) from None

    def _send(self, client: httpx.Client, payload: Mapping[str, Any], timeout: float) -> bytes:
        with client.stream("POST", self._url.geturl(), json=payload, timeout=timeout) as response:
            if response.status_code != 200:
                raise self._refusal(response, next(response.iter_bytes(_MAX_REFUSAL), b""))
            content = bytearray()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > self._api.most:
                    raise self.unusable(f"more than {self._api.most / 1e6:g} MB")
            return bytes(content)

    def _refusal(self, response: httpx.Response, content: bytes) -> ProviderError:
        """What a status other than 200 means."""
        status = response.status_code
        group = status if status in _MEANINGS else min(status // 100 * 100, 500)
        meaning, hint = _MEANINGS.get(group, ("answered unexpectedly", _ADDRESS_HINT))
        message = f"{self.place} {meaning}: it answered {status}{self._of_model}{self._quoted(content)}"
        if status in (408, 429) or status >= 500:
            passing = PassingError(message, hint=self._api.hint(hint))
            passing.pause = _pause_of(response.headers.get("Retry-After", ""))
            return passing
        refused = RefusedByServerError(message, hint=self._api.hint(hint))
        refused.unsuited, refused.body = status in (400, 422), content.decode("utf-8", "replace")
        return refused


def clean(text: str) -> str:
    """What is sent of a text: no lone surrogates, as JSON is UTF-8, and never nothing, which servers refuse."""
    return text[:MAX_CHARACTERS].encode("utf-8", "ignore").decode("utf-8") or " "


def _checked_key(key: str, api: Api) -> str:
    """The key, if a header can hold it: the HTTP library would print it in its complaint."""
    key = key.strip()
    if not key.isascii() or not all(map(str.isprintable, key)):
        raise ProviderError(f"the key for {api.what} is not plain printable ASCII", hint=api.hint(_KEY_HINT))
    return key


def _pause_of(retry_after: str) -> float | None:
    """The pause a `Retry-After` header asks for, as seconds or as a date; None if it does not say."""
    try:
        if retry_after.strip().isdigit():
            return float(retry_after)
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None


def _patiently(attempt: Callable[[], T], deadline: float, pauses: Iterable[float] = PAUSES) -> T:
    """What an attempt gives, made again after a failure that may pass, while there are pauses and time left."""
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


# Addresses


def address(base_url: str, what: str, hint: str) -> SplitResult:
    """The parts of an address, once it is known to be one; `what` it is of, in words.

    Raises:
        ProviderError: it is none.
    """
    try:
        url = urlsplit(base_url.strip())
        valid = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ProviderError(f"the base URL of {what} is missing or is no http(s) address", hint=hint)
    return url


def shown(url: SplitResult) -> str:
    """An address without what may be secret in it: user, password and query."""
    return url._replace(netloc=url.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")


_LOCALHOST = re.compile(r"https?://(localhost|[\d.]+|\[::1\])(:\d{1,5})?(/.*)?", re.IGNORECASE | re.DOTALL)
"""Strict on purpose: what one parser takes for this machine, another may take for a name and a password."""


def is_local(address: str) -> bool:
    """Whether an address is certainly one of this machine: `localhost`, `127.x.x.x` or `[::1]`, written in full."""
    match = _LOCALHOST.fullmatch(address.strip())
    if match is None or "\\" in address or "@" in address:
        return False
    from ipaddress import IPv4Address

    try:
        return not match[1][0].isdigit() or IPv4Address(match[1]).is_loopback
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
        number = ip_address(name) if ":" in name else IPv4Address(socket.inet_aton(name))
    except (ValueError, OSError):
        return False
    number = getattr(number, "ipv4_mapped", None) or number
    return number.is_loopback or number.is_unspecified


def _direct_transport() -> httpx.BaseTransport:
    """A transport that uses no proxy, and does not ask a resolver what `localhost` is.

    A line in a hosts file, or a name server asked for `localhost`, could otherwise lead texts to another machine.
    """
    import httpx

    class Direct(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.host != "localhost":
                return super().handle_request(request)
            request.extensions = {**request.extensions, "sni_hostname": "localhost"}
            first, second = (request.url.copy_with(host=host) for host in LOOPBACK)
            try:
                request.url = first
                return super().handle_request(request)
            except httpx.ConnectError as refused:
                try:
                    request.url = second
                    return super().handle_request(request)
                except httpx.ConnectError:
                    raise refused from None

    return Direct()

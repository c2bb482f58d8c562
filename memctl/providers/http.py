"""What asking any model server over HTTP needs: its address, its key, its pauses, its words."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, urlsplit

from memctl.errors import ProviderError


class PassingError(ProviderError):
    """A failure that may be over in a moment; `pause` is how many seconds the server asks to wait, if it does."""

    pause: float | None = None


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

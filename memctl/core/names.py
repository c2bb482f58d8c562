"""Names that users choose, of users and sessions; each is a folder's or a file's name too."""

from __future__ import annotations

import re
import unicodedata

from memctl.errors import UsageError

USER_NAME = re.compile(r"^[^\W_][\w.@+-]{0,63}$")
_RESERVED = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}

_LONGEST_SESSION_ID = 200
"""Bytes: a name in a folder may have 255, and the queue puts up to 40 behind it."""

FEEDBACK = "feedback.jsonl"
"""The log of what users and agents said of answers."""

MAINTENANCE = "maintenance"
"""Command name of changes that memctl makes by itself (moving what has expired); `undo` steps over them."""


def check_user_name(name: str) -> str:
    """The name, normalised (NFC), if it can be a folder's name everywhere.

    Raises:
        UsageError: it holds a path, control characters, or is reserved by a system.
    """
    return _checked_name(name, "a user name", "such as alice or 小林")


def check_session_id(name: str) -> str:
    """The id of a session, which is a file's name too: as for users, and short enough with what is put behind it.

    Raises:
        UsageError: as for users.
    """
    return _checked_name(name, "the id of a session", "such as main or 2026-11-21", _LONGEST_SESSION_ID)


def _checked_name(name: str, what: str, example: str, longest: int = 255) -> str:
    normal = unicodedata.normalize("NFC", name)
    reserved = normal.endswith(".") or normal.split(".")[0].casefold() in _RESERVED
    if not USER_NAME.fullmatch(normal) or reserved or len(normal.encode()) > longest:
        hint = f"Use letters, digits, and . _ - @ + inside (at most 64 characters), {example}."
        raise UsageError(f"{name!r} cannot be {what}", hint=hint)
    return normal

"""Strict JSON: no duplicate names in an object, no NaN, no number that becomes infinite."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any


class StrictError(ValueError):
    """JSON that a lenient reader accepts but that is ambiguous; the message says why."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise StrictError(f"the name {_first_repeated(name for name, _ in pairs)!r} occurs twice in one object")
    return members


def _first_repeated(names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""


def _no_number(text: str) -> Any:
    raise StrictError(f"{text[:40]} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if abs(value) == float("inf"):
        raise StrictError(f"the number {text[:40]} is too large")
    return value


def explained(problem: json.JSONDecodeError) -> tuple[str, int]:
    """The problem in plain words, and its position; the same with every version of Python."""
    text, at, kind = problem.doc, problem.pos, problem.msg.lower()
    here = text[at : at + 1]
    if "trailing comma" in kind:  # reported at the comma by newer Pythons
        at += 1 + len(text[at + 1 :]) - len(text[at + 1 :].lstrip())
    elif "control character" in kind:
        return _CONTROL.get(here, "a control character in a text"), at
    elif "escape" in kind:
        return "a backslash in a text must be written \\\\", at
    elif "unterminated" in kind:
        return "a text is not closed", at
    return misplaced(text, at) or _expected(kind, text, at), at


_CONTROL = {
    **dict.fromkeys("\r\n", "a text is not closed in its line (a line end within one is written \\n)"),
    "\t": "a tab in a text must be written \\t",
}
_QUOTES, _WIDE = "'`‘’“”„‟«»「」『』＂＇", "，：、；｛｝［］"
_LITERALS = {"true": "true", "false": "false", "none": "null", "null": "null", "undefined": "null", "nil": "null"}


def misplaced(text: str, at: int) -> str:
    """A common mistake at a position, in words; empty if there is none."""
    here = text[at : at + 1]
    before = text[max(0, at - 1000) : at].rstrip()[-1:]
    if here and here in "]}" and before == ",":
        return f"a comma before the closing {here!r}"
    if here and here in _QUOTES:
        return f"{here} where a straight double quote must be"
    if here and here in _WIDE:
        return f"a wide {here} where a plain sign must be"
    if here == "#" or text.startswith(("//", "/*"), at):
        return "a comment, which JSON does not have"
    if here == "\0":
        return "a NUL character; if the file is UTF-16, save it as UTF-8"
    return "an extra comma" if here == "," and before in ("", ",", "[", "{", ":") else ""


def _expected(kind: str, text: str, at: int) -> str:
    here = text[at : at + 1]
    word = re.match(r"[^\W\d]\w{0,30}", text[at : at + 31])
    if not here:
        return "ends in the middle"
    if "':'" in kind:
        return "a colon is missing before this"
    if "','" in kind:
        slip = ", or a backslash before a double quote within the text" if word else ""
        missing = word or here in '"{['
        return f"a comma is missing before this{slip}" if missing else f"expected a closing bracket, found {here!r}"
    if word and (plain := _LITERALS.get(word[0].lower())):
        return f"{word[0]} must be written {plain}"
    what = "a name in double quotes" if "name" in kind else "a value"
    return f"expected {what}, found {word[0] if word else here!r}"


DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite)

"""Splits a text into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from memctl.core.text.language import CHINESE

_BEFORE_NAMES = frozenset(
    "mr mrs ms mx dr prof rev gen capt lt sgt hon st mt ft vs cf fig nos approx ca e.g i.e esp incl resp tel".split()
)
"""Abbreviations that precede a name or number: no sentence ends with one."""

_AFTER_NAMES = frozenset(
    "inc corp ltd co llc plc bros jr sr etc dept ave blvd rd est mgr asst univ al hr hrs min sec ph.d".split()
)
_DATES = frozenset(
    "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun".split()
)
"""These, and the abbreviations after names, end a sentence if the next text looks like the start of one."""

_OPENS = (
    r"(?:I|I'\w+|We|We'\w+|My|Our|The|It|It's|He|She|They|You|Your|Please|This|That|That's|These|There|And|But|So|Also|"
    r"Then|Can|Could|What|When|Where|How|Do|Does|Is|Are|If|In|On|At|No|Not|Yes|Actually|From|For|Remember|Note)\b"
)
_OPENING = rf"\s*{_OPENS}"
_LOWER_CASE = r"[^\S\n]*[a-z]"
_DIGIT = r"\s*\d"
_LETTERS = r"\d?(?:[a-z]\.)+[a-z]"
_INITIAL = r"(?:^|[A-Z][\w'-]*(?:\. ?| ))[A-Z]$"
_LIST_NUMBER = r"\W*\d{1,2}$"
_CLOSES = "\"'”’)\\]}»"
_END = (
    rf"(?<![.!?…])(?P<mark>[.!?…]++)(?P<close>[{_CLOSES}]*+)(?=\s|$)|[!?]+(?=[{CHINESE}])"
    r"|(?:[。！？；]|…{2})[。！？；…”’」』）》]*|\n+"
)
_REACH = 24
_compiled = cache(re.compile)  # at the first use: most commands split no text


def sentences(text: str) -> list[str]:
    """The sentences of a text with their end marks, each on one line."""
    return [" ".join(text[begin:end].split()) for begin, end in spans(text)]


def spans(text: str) -> Iterator[tuple[int, int]]:
    """The span of each sentence, without surrounding blanks. A line break ends a sentence."""
    begin = 0
    for end in _compiled(_END).finditer(text):
        if end["mark"] and end.end() < len(text) and _goes_on(text, begin, end):
            continue
        yield from _trimmed(text, begin, end.end())
        begin = end.end()
    yield from _trimmed(text, begin, len(text))


def _trimmed(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    sentence = text[begin:end]
    if bare := sentence.strip():
        begin += len(sentence) - len(sentence.lstrip())
        yield begin, begin + len(bare)


def _goes_on(text: str, begin: int, end: re.Match[str]) -> bool:
    """Whether a sentence continues: after an abbreviation, or in lower case after an ellipsis or a quotation."""
    if end["close"] or end["mark"] not in (".", "!", "?"):
        return _compiled(_LOWER_CASE).match(text, end.end()) is not None
    return end["mark"] == "." and _is_abbreviated(text, begin, end.start(), end.end())


def _is_abbreviated(text: str, begin: int, dot: int, after: int) -> bool:
    """Whether the dot belongs to an abbreviation, an initial or a list number."""
    before = text[max(begin, dot - _REACH) : dot]
    written = before.split()[-1].lstrip("(\"'[“‘") if before.split() else ""
    word = written.lower()
    opens = _compiled(_OPENING).match(text, after) is not None
    if word in _BEFORE_NAMES or (dot - begin < _REACH and _compiled(_LIST_NUMBER).fullmatch(before)):
        return True
    if word == "no" or written.capitalize() in _DATES:
        return _compiled(_DIGIT).match(text, after) is not None or (written in _DATES and not opens)
    short = word in _AFTER_NAMES or _compiled(_LETTERS).fullmatch(word) or _compiled(_INITIAL).search(before)
    return bool(short) and not opens

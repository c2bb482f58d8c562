"""What a purge looks at to find what is left: the texts of a file, and the words that give a text away."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator

from memctl.core.text.stopwords import is_stop
from memctl.core.text.terms import folded, runs, terms

# A quick look


Concerned = Callable[[str], bool]
"""Whether a text may hold what is looked for, in whatever way it is written; a no is certain."""


def _any(text: str) -> bool:
    return True


_AT_MOST = 32
"""Words that a quick look searches for; for more of them, a thorough one is as quick."""

_UNICODE_ESCAPE = re.compile(r"\\+u([0-9a-fA-F]{4})")


def holds_one_of(phrases: Iterable[Collection[str]], marks: Collection[str] = ()) -> Concerned:
    """A quick look for a text with all words of one of the phrases (`terms.words`), or with one of the marks."""
    groups = [sorted(phrase, key=len, reverse=True) for phrase in phrases] + [[_beginning(mark)] for mark in marks]
    if sum(map(len, groups)) > _AT_MOST:
        return _any
    return lambda text: _holds(written(text), groups)


def _holds(text: str, groups: Iterable[Iterable[str]]) -> bool:
    return any(all(word in text for word in group) for group in groups)


def written(text: str) -> str:
    """A text in which each word that its passages hold stands as it is."""
    plain = "\n".join(map(folded, text.split("\n")))  # most lines are ASCII
    if "\\u" in text:
        plain += "\n" + folded(_UNICODE_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text))
    return plain + "\n" + plain.replace("'", "") if "'" in plain else plain  # a stem has no apostrophe


def _beginning(mark: str) -> str:
    """Letters that are in every text with this mark: those a stemmer leaves as they are at the head of a word."""
    if mark.isdecimal() or runs(mark) == [mark]:
        return mark
    return mark[:-1] if mark.isascii() and mark not in _IRREGULAR else ""


_IRREGULAR = ("die", "lie", "tie")
"""Stems of `dying` and the like."""


# The texts of a file


_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|[\\/"bfnrt])')
_DEPTH = 4


def unescaped(text: str) -> Iterator[str]:
    """The text as it stands, then as JSON means it, as JSON within JSON, and so on; lines keep their numbers."""
    yield text
    for _ in range(_DEPTH):
        plain = _ESCAPE.sub(_unescaped, text)
        if plain == text:
            return
        text = plain
        yield text


def _unescaped(escape: re.Match[str]) -> str:
    """The character of an escape, but a space for a line break, so that lines keep their numbers."""
    if escape[1]:
        return chr(int(escape[1], 16)).replace("\n", " ")
    return escape[0][1] if escape[0][1] in '\\/"' else " "


Passage = tuple[int, str]
"""A text, and the line it begins in."""


def passages(text: str, concerned: Concerned = _any) -> Iterator[Passage]:
    """The texts that a file holds: of JSON, and of lines of JSON, what its fields say; else all of it.

    Args:
        concerned: a quick look; of what does not concern it nothing is taken apart.
    """
    first = text.lstrip().partition("\n")[0]
    if _is_json(first):
        for number, line in enumerate(text.split("\n"), 1):
            yield from ((number, passage) for passage in _within(line, concerned, known=line == first))
    elif not concerned(text):
        return
    elif _is_json(text):
        yield from _values(text, concerned)
    else:
        yield from ((1, version) for version in unescaped(text))


def _is_json(text: str) -> bool:
    """Whether a text is an object or a list in JSON."""
    bare = text.lstrip("\ufeff \t\r\n")
    if not bare.startswith(("{", "[")):
        return False
    try:
        json.loads(bare)
    except (ValueError, RecursionError):
        return False
    return True


_TOKEN = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")(?P<colon>\s*:)?|(?P<number>-?\d[\d.eE+-]*)|(?P<end>\})')
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?")


_CLOSING = re.compile(r"\n[ \t]*\}")


def _values(text: str, concerned: Concerned) -> Iterator[Passage]:
    """What the fields of valid JSON say, each with its line; a name counts where no program would have chosen it.

    A line never begins within a text, and after one that closes an object no name is open: each such part is looked at
    by itself.
    """
    line, start = 1, 0
    for end in (*(closing.start() + 1 for closing in _CLOSING.finditer(text)), len(text)):
        if len(part := text[start:end]) == len(text) or concerned(part):
            yield from _values_of_part(part, line, concerned)
        line, start = line + part.count("\n"), end


def _values_of_part(text: str, line: int, concerned: Concerned) -> Iterator[Passage]:
    counted, name = 0, ""
    for token in _TOKEN.finditer(text):
        line, counted = line + text.count("\n", counted, token.start()), token.start()
        if token["end"]:
            name = ""
        elif token["number"]:
            yield line, token["number"]
        elif token["colon"] or concerned(token["text"]):
            value = _decoded(token["text"])
            if token["colon"]:
                name = value
            if not (_IDENTIFIER.fullmatch(value) if token["colon"] else _of_the_form(name, value)):
                yield from ((line, each.replace("\n", " ")) for each in _within(value, concerned))


def _decoded(literal: str) -> str:
    return str(json.loads(literal)) if "\\" in literal else literal[1:-1]


def _within(text: str, concerned: Concerned, *, known: bool = False) -> Iterator[str]:
    """A text; of JSON in a text, what its fields say.

    Args:
        known: whether it is known to be JSON.
    """
    if not concerned(text):
        return iter(())
    return (passage for _, passage in _values(text, concerned)) if known or _is_json(text) else unescaped(text)


_NO_TEXT = frozenset(("tombstones", "erases", "mac", "memory_id", "memory_ids", "superseded_by", "supersedes"))
_WORD_FIELDS = frozenset(("kind", "category", "layer", "status", "source", "phase", "command", "format"))
_MESSAGE_FIELDS = frozenset(("role", "type", "name"))
_MESSAGE_WORDS = frozenset(
    "user assistant system tool developer function model text image audio video file thinking reasoning tool_use "
    "tool_call tool_result image_url input_text output_text input_image base64 url object string msg message".split()
)


def _of_the_form(name: str, value: str) -> bool:
    """Whether a field holds an id, a time, or one of a few fixed words. (Ids are looked for as such.)"""
    if name in _NO_TEXT or _TIME.fullmatch(value):
        return True
    if name in _MESSAGE_FIELDS:
        return value.lower() in _MESSAGE_WORDS
    return name in _WORD_FIELDS and bool(_IDENTIFIER.fullmatch(value))


# The words of a text


_HIRAGANA = "\u3041-\u309f"
_UNSPACED_WORDS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Myanmar and Khmer: their words are written as alphabets write them, with no space between."""

_WINDOW = re.compile(
    f"(?=([{_UNSPACED_WORDS}]{{4}}|[{_HIRAGANA}]{{3}}|[^{_HIRAGANA}{_UNSPACED_WORDS}][^{_UNSPACED_WORDS}]))"
)
_GRAMMAR = frozenset("的了吗呢吧啊呀么着是我你您他她它们这那哪はがをにのでとも")
_ENDINGS = frozenset(
    "ました ません します してい ている います という ですか ります "
    "니다 습니 입니 합니 에서 으로 하고 는데 하는 있는".split()
)


def marks(text: str) -> set[str]:
    """What gives a text away wherever it is: its words of three letters and more; of a script without spaces, which
    has no words to see, pairs of characters, or longer runs where two are a syllable."""
    spaced = {term for term in terms(text) if len(term) > 2}
    return spaced.union(*(_windows(run) for run in runs(text)))


def _windows(run: str) -> Iterator[str]:
    return (window for window in _WINDOW.findall(run) if not _says_nothing(window))


def _says_nothing(window: str) -> bool:
    pair = len(window) == 2
    return window in _ENDINGS or (pair and (not _GRAMMAR.isdisjoint(window) or is_stop(window)))

"""What a recalled text holds of a message. Pure functions over texts.

A message counts as recalled where one item of the text holds at least 80 % of its content words. An item is a bullet
(`- …`) with the lines that continue it; words that stand in two items do not add up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ENOUGH = 0.8
"""This share of a message's content words must stand in one item."""

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff々〆"
_TOKEN = re.compile(rf"(?P<run>[{_UNSPACED}]+)|(?P<word>(?:(?![{_UNSPACED}])[^\W_])+(?:['’][^\W\d_]+)*)")
_LATER = re.compile(r"^\s+(?:\| ?)?")

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are aren't as at be because been before being below between both
    but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further
    get go got had hadn't has hasn't have haven't having he he's her here here's hers herself him himself his how i i'd
    i'll i'm i've if in into is isn't it it's its itself just let let's me more most my myself no nor not now of off ok
    okay on once only or other our ours out over own same she she's should shouldn't so some such than that that's the
    their theirs them themselves then there there's these they they'd they'll they're they've this those through to too
    under until up us very was wasn't we we'd we'll we're we've were weren't what what's when where which while who
    who's whom why will with won't would wouldn't yeah yes you you'd you'll you're you've your yours yourself
    """.split()
)
"""Words of English that carry no content. Chinese has no list: its pairs of characters seldom are such words."""


def words(text: str) -> list[str]:
    """The words of a text, folded; a script written without spaces gives its pairs of neighbouring characters."""
    result: list[str] = []
    for match in _TOKEN.finditer(text.lower()):
        run = match["run"]
        if run is None:
            result.append(match["word"].replace("’", "'"))
        else:
            result += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
    return result


def content_words(text: str) -> frozenset[str]:
    """The words without stop words; all of them where nothing else is left, as in "So are you!"."""
    every = frozenset(words(text))
    return every - STOP_WORDS or every


def items(text: str) -> list[str]:
    """The items of a rendered context: each bullet with its continuation lines, their marks taken off.

    Headings, the fence and what stands before the first bullet are in no item.
    """
    result: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("- "):
            result.append([line[2:]])
            inside = True
        elif inside and line[:1].isspace():
            result[-1].append(_LATER.sub("", line))
        else:
            inside = False
    return ["\n".join(lines) for lines in result]


def share(wanted: frozenset[str], held: Sequence[frozenset[str]]) -> float:
    """The largest share of the wanted words that one item holds; 0 for a text without words."""
    if not wanted:
        return 0.0
    return max((len(wanted & item) for item in held), default=0) / len(wanted)


def scores(evidence: Sequence[str], recalled: str) -> tuple[float, float]:
    """The share of evidence messages that a recalled text holds, and the share of those it holds with every word."""
    held = [frozenset(words(item)) for item in items(recalled)]
    most = sum(share(content_words(text), held) >= ENOUGH for text in evidence)
    full = sum(share(frozenset(words(text)), held) >= 1 for text in evidence)
    return most / len(evidence), full / len(evidence)

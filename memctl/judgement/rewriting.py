"""Patterns of ways to say something, each with the plain way.

There are many, and nearly none is in a sentence: an English one is tried only where the sentence has one of its words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

from memctl.judgement import lexicon

Rewriting = tuple[re.Pattern[str], str]
"""A pattern, and what stands instead."""

APOSTROPHE = "'"
"""Counts as a word: a pattern without words may have one."""


class Rewritings:
    """Patterns in their order.

    Args:
        by_words: whether each is tried only on a text that has one of its words, as English ones can be.
    """

    def __init__(self, listed: Iterable[tuple[str, str]], *, by_words: bool) -> None:
        self._all = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in listed]
        self._always: set[int] = set()
        self._of_word: dict[str, set[int]] = defaultdict(set)
        needed = [words_of(pattern.pattern) if by_words else frozenset() for pattern, _ in self._all]
        enabled: dict[int, set[int]] = {}
        for at in reversed(range(len(needed))):
            given = words_in(self._all[at][1])  # what stands instead may be rewritten in its turn
            enabled[at] = {at}.union(*(enabled[later] for later in enabled if not given.isdisjoint(needed[later])))
            for word in needed[at]:
                self._of_word[word] |= enabled[at]
            if not needed[at]:
                self._always |= enabled[at]

    def tried(self, text: str) -> Iterator[Rewriting]:
        """Those that may match a text."""
        named = (self._of_word[word] for word in words_in(text) if word in self._of_word)
        return (self._all[at] for at in sorted(self._always.union(*named)))

    def rewritten(self, text: str) -> str:
        """The text with each of them replaced."""
        for pattern, instead in self.tried(text):
            if pattern.search(text):
                text = pattern.sub(instead, text)
        return text


_WORDS = re.compile("[a-z]+")
_LOOKS_AROUND = re.compile(r"\(\?[<!=](?:[^()]|\([^()]*\))*\)|\(\?-i:[^()]*\)")
_EVERYWHERE = frozenset("is are am was were the an of to in on at for with by it he she".split())
_COMMON = rf"(?:{'|'.join(_EVERYWHERE)}|has|have|had|been|an\?|my|his|her|their|our|your|its|[a-z]{{0,2}})"
_COMMON_GROUP = re.compile(rf"\((?:\?:)? ?{_COMMON} ?(?:\| ?{_COMMON} ?)*\)")


def words_of(pattern: str) -> frozenset[str]:
    """Stems of words of which an English text that a pattern matches has one; empty where it may have none."""
    found: set[str] = set()
    for part in _COMMON_GROUP.sub("", _LOOKS_AROUND.sub("", pattern)).replace("\\b", " ").split("|"):
        words = [word for word in _WORDS.findall(part) if len(word) > 1 and word not in _EVERYWHERE]
        if not words and APOSTROPHE not in part:
            return frozenset()
        found.update(map(lexicon.stem, words) if words else APOSTROPHE)
    return frozenset(found)


@lru_cache(256)
def words_in(text: str) -> frozenset[str]:
    """The stems of the English words of a text, and whether it has an apostrophe."""
    stems = map(lexicon.stem, _WORDS.findall(text.lower()))
    return frozenset((*stems, APOSTROPHE) if "'" in text or "’" in text else stems)

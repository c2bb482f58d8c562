"""What class a word is of: one of a list, a Chinese one, one that says little."""

from __future__ import annotations

from functools import cache, lru_cache

from memctl.core.text.language import has_chinese
from memctl.judgement import lexicon
from memctl.judgement.wording import MODAL, NAME, QUANTIFIER, QUANTITY, WORD, Word

COST = {NAME: 3, QUANTITY: 3, WORD: 1, QUANTIFIER: 1, MODAL: 1}
"""How much a word that only one of the sentences has tells them apart; words of other kinds are not compared."""

CONTENT = (WORD, NAME, QUANTITY)


def among(word: Word, language: str, name: str) -> bool:
    """Whether a word is in a list of its language."""
    if language == "zh":
        return not lexicon.words("zh", name).isdisjoint((word.text, word.stem))
    return word.plain in lexicon.words("en", name)


def is_chinese(word: Word) -> bool:
    return not word.text.isascii() and _holds_chinese(word.text)


_holds_chinese = lru_cache(16_384)(has_chinese)


def says_little(word: Word) -> bool:
    """Whether a word more or less makes no difference between two claims."""
    if not is_chinese(word):
        return word.stem in _weak()
    return word.kind in (MODAL, QUANTIFIER) or not _weak().isdisjoint((word.text, word.stem))


def tells(stem: str) -> bool:
    """Whether a word with this stem makes a difference between two claims."""
    return stem not in _weak()


@cache
def _weak() -> frozenset[str]:
    chinese = (lexicon.words("zh", name) for name in ("weak", "light", "adverbs", "bounds"))
    return frozenset().union(*chinese, *(lexicon.stems("en", name) for name in ("weak", "light", "only")))


def cost(word: Word) -> int:
    """What a word costs that only one of two sentences has."""
    return 0 if says_little(word) else 1 if is_chinese(word) else COST[word.kind]

"""Whether two sentences are about the same person or thing, as far as their subjects tell."""

from __future__ import annotations

from collections.abc import Sequence

from memctl.judgement import lexicon
from memctl.judgement.wording import NAME, PRONOUN, QUANTITY, WORD, Sentence, Word

_FIRST = frozenset("i me my mine myself we our us user 我 我们 用户 本人 咱 咱们".split())
_THIRD = frozenset("he him his she her hers they them their 他 她 他们 她们".split())
_OWNERS = frozenset("my our user his her their 我 我们 用户 他 她".split())


def apart(one: Sentence, left: Sequence[Word], other: Sentence, right: Sequence[Word]) -> bool:
    """Whether they are about two.

    Args:
        left: words of one that the other has not; `right` those of the other.
    """
    if any(map(_tells_apart, (*left, *right))):
        return True
    if all(any(map(_names_subject, words)) for words in (left, right)):
        return True
    return _person_apart(one, left, other) or _person_apart(other, right, one)


def _names_subject(word: Word) -> bool:
    return word.subject and word.kind in (WORD, NAME)


def _tells_apart(word: Word) -> bool:
    """Whether a word says whose or which: a sister, the old one."""
    if word.subject and word.stem in lexicon.stems("en", "contrast"):
        return True
    return word.stem in lexicon.stems("en", "relatives") or word.stem in lexicon.words("zh", "relatives")


def _person_apart(one: Sentence, left: Sequence[Word], other: Sentence) -> bool:
    """Whether one names somebody whom the other, which is about the user or somebody unnamed, does not."""
    mine, theirs = _pronouns(one), _pronouns(other)
    if mine & _FIRST and theirs & _THIRD and not theirs & _FIRST:
        return True
    if any(word.subject and (word.kind == NAME or word.mark == "'s") for word in left) and theirs & _OWNERS:
        return True
    shared = any(_names_subject(word) and word not in left for word in one.words)
    named = any(map(_names_subject, left))
    return named and not shared and not any(w.subject and w.kind in (WORD, NAME, QUANTITY) for w in other.words)


def _pronouns(sentence: Sentence) -> set[str]:
    return {word.key for word in sentence.words if word.kind == PRONOUN}


def is_thing(shared: Sequence[Word]) -> bool:
    """Whether the subject that two sentences share is a thing, not a person."""
    return any(word.subject and word.kind == WORD for word in shared)

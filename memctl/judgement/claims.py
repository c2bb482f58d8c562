"""What a text claims: its sentences and clauses, each with the subject it goes on about, and what follows from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from memctl.core.text.language import has_chinese
from memctl.core.text.sentences import sentences
from memctl.judgement import lexicon
from memctl.judgement.wording import Sentence, read

LONGEST, MOST = 20_000, 200
"""Characters and clauses of a text that are read: a longer one is a document, not a claim."""

_LONGEST_SUBJECT = 6

_BREAK = re.compile(
    r"(?:;|,|–|—| -)?\s+(?=(?:but|because|although|though|while|whereas|so|and (?:he|she|it|they|i|we"
    r"|is|are|was|has|have|can|can't|cannot|does|doesn't|do|don't|did|will|won't|never|still|works|lives|owns|keeps|uses)\b)\s)"
    r"|;\s+|，|；|——",
    re.IGNORECASE,
)
_JOINT = re.compile(
    r"^(?:but|because|although|though|while|whereas|so|and|但是?|因为|所以|而且?|不过|虽然)\b\s*", re.IGNORECASE
)
_INSTEAD = re.compile(r",?\s+(?:but )?not (?=(?:in|on|at|to|from|for|with|by|an?|the)\b)", re.IGNORECASE)
_GOES_ON = re.compile(r"^(?:he|she|it|they|his|her|its|their|该|他|她|它|他们|她们)\b\s*", re.IGNORECASE)
_OPEN = re.compile(
    r"[?？]\s*$|\b(?:if|unless|whether|suppose|imagine|perhaps|maybe|possibly|might|rumou?r(?:ed|s)?|allegedly|believes?|"
    r"thinks?|says|said|claims?|heard|hopes?|wish(?:es)?|dream(?:s|ed|t)?|wants? to|plans? to|intends? to|considering|"
    r"thinking of|would like to|used to|formerly|previously|as a child|in the past)\b"
    r"|[吗呢][。？?]?$|如果|要是|假如|也许|可能|听说|据说|打算|计划|想要|希望|以前|曾经?|过去|小时候|认为|以为|觉得",
    re.IGNORECASE,
)
"""What is asked, supposed, reported, meant to be or over claims nothing about now."""


@lru_cache(8_192)
def claims(text: str, aliases: frozenset[str] = frozenset()) -> tuple[Sentence, ...]:
    """What a text claims to be so, clause by clause.

    Args:
        aliases: names, in lower case, of the one whose memories these are.
    """
    found: list[Sentence] = []
    for clause in list(_clauses(text[:LONGEST]))[:MOST]:
        if has_chinese(clause) or not _OPEN.search(clause):
            found += (read(each, aliases) for each in (clause, *_implied(clause)))
    return tuple(claim for claim in found if claim.words)


def _clauses(text: str) -> Iterator[str]:
    subject = ""
    for sentence in sentences(text):
        for number, part in enumerate(_parts(sentence)):
            clause = _JOINT.sub("", part.strip())
            own = _subject(clause)
            if subject and (_GOES_ON.match(clause) or (number and not own)):
                clause = f"{subject} {_GOES_ON.sub('', clause)}"
            elif own and not subject:
                subject = own
            if clause:
                yield clause


def _parts(sentence: str) -> Iterator[str]:
    """The clauses of a sentence; "on tape, not in the cloud" are two. A Chinese one is judged as a whole."""
    if has_chinese(sentence):
        yield sentence
        return
    for part in _BREAK.split(sentence):
        claimed, denied, rest = part.partition(match[0]) if (match := _INSTEAD.search(part)) else (part, "", "")
        yield claimed
        if denied and (subject := _subject(claimed)):
            yield f"{subject} is not {rest}"


def _subject(clause: str) -> str:
    """The words before the verb, where they name somebody or something."""
    words = read(clause).words
    named = [word.text for word in words if word.subject]
    if not named or len(named) > _LONGEST_SUBJECT or len(named) == len(words):
        return ""
    end = 0
    for text in named:
        end = max(clause.find(text, end), 0) + len(text)
    return clause[:end]


def _implied(clause: str) -> Iterator[str]:
    language = "zh" if has_chinese(clause) else "en"
    for pattern, instead in _implications(language):
        if pattern.search(clause) and not read(clause).denied:
            yield pattern.sub(instead, clause)


@cache
def _implications(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in lexicon.implied(language))

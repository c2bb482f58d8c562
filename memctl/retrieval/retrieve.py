"""Candidates for a question from both signals, each with its raw scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import log1p

from memctl.core.models import DOCUMENTS, MEMORIES, MESSAGES, Filters
from memctl.core.text import terms
from memctl.core.text.stopwords import is_stop
from memctl.errors import ProviderError
from memctl.providers.base import Embedder
from memctl.storage.ports.search import Search, Vector

RECENT_WORDS = 12
"""Words of what was said before a question that are searched for: the rarest say what it is about."""

FREQUENT_SHARE = 0.4
"""Words that are in more than this share of the memories say nothing about which one is meant."""

FREQUENT_FROM = 50
"""… but in a store smaller than this, every share is chance."""

CANDIDATES = 100

_EDGES = "?!.,;:\"'()[]{}<>“”‘’«»…—–？！。，、；：（）「」『』《》"
"""Punctuation around words says nothing, but would have a vector of its own."""


@dataclass(frozen=True)
class Question:
    """A question, prepared.

    Args:
        words: its terms for full text, stop words and frequent ones left out (never down to nothing).
        embedded: its text for the embedder, frequent words left out.
        weights: idf of each term.
        pieces: of its words, for full text, where it is not in English.
    """

    words: tuple[str, ...]
    embedded: str
    weights: Mapping[str, float]
    pieces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A match that may answer. `lexical`: bm25, 0 when no term matched; `cosine`: in [-1, 1], 0 without vectors."""

    key: int
    lexical: float
    cosine: float


def frequent(search: Search, counts: Mapping[str, int]) -> frozenset[str]:
    """Words of which there are too many to say anything.

    Memories and documents are judged apart, as far as there are enough of each: a manual repeats its subject in every
    passage, which says nothing about the memories.

    Args:
        counts: in how many entries each word stands.
    """
    total = search.total()
    many = {word for word, count in counts.items() if count > FREQUENT_SHARE * total}
    if total < FREQUENT_FROM or not many or not search.has(DOCUMENTS):
        return frozenset(many if total >= FREQUENT_FROM else ())
    passages = search.size(DOCUMENTS)
    inside = search.passages_with(many)
    parts = {word: ((total - passages, counts[word] - inside[word]), (passages, inside[word])) for word in many}
    return frozenset(word for word, sizes in parts.items() if _everywhere(sizes))


def _everywhere(parts: Sequence[tuple[int, int]]) -> bool:
    """Whether a word is frequent in each part that is large enough: its size, and how many hold the word."""
    judged = [count > FREQUENT_SHARE * size for size, count in parts if size >= FREQUENT_FROM]
    return bool(judged) and all(judged)


def prepare(asked: str, counts: Mapping[str, int], total: int, frequent: Collection[str] = ()) -> Question:
    """Take out of the question what does not tell memories apart.

    Args:
        counts: in how many entries each term of the question stands.
        total: how many entries there are.
        frequent: terms of which there are too many.
    """
    words = list(dict.fromkeys(terms.terms(asked)))
    telling = _unless_empty([w for w in words if not is_stop(w)], words)
    rare = _unless_empty([w for w in telling if w not in frequent], telling)
    kept = [w for w in asked.split() if not (inside := terms.terms(w)) or any(t not in frequent for t in inside)]
    embedded = " ".join(filter(None, (w.strip(_EDGES) for w in kept if terms.terms(w)))) or asked
    weights = {word: _idf(counts.get(word, 0), total) for word in rare}
    return Question(tuple(rare), embedded, weights, tuple(dict.fromkeys(terms.pieces(asked))))


def rarest(question: Question, counts: Mapping[str, int], most: int) -> Question:
    """The question with its rarest words alone, of those that stand anywhere."""
    known = [word for word in question.words if counts.get(word)]
    words = sorted(known, key=lambda word: (-question.weights[word], word))[:most]
    return replace(question, words=tuple(words), pieces=question.pieces[: 3 * most])


def _unless_empty(some: list[str], all_: list[str]) -> list[str]:
    return some or all_


def _idf(count: int, total: int) -> float:
    return log1p((total - count + 0.5) / (count + 0.5)) if count <= total else 0.0


@dataclass(frozen=True)
class Retrieved:
    """What may answer.

    Args:
        vector: of the question; empty where vectors are not used.
        degraded: a sentence on why vectors could not be used; empty when they could.
    """

    candidates: Sequence[Candidate]
    vector: Vector = ()
    degraded: str = ""


def vector_of(question: Question, embedder: Embedder | None) -> tuple[Vector, str]:
    """The vector of a question, empty where there is none, and a sentence on why it could not be made."""
    if embedder is None or not question.words:
        return (), ""
    try:
        return embedder.embed_query(question.embedded), ""
    except ProviderError as problem:
        return (), f"full text only: {problem.message}. {problem.hint}".strip()


def retrieved(
    search: Search,
    vector: Vector,
    question: Question,
    filters: Filters,
    now: datetime,
    limit: int = CANDIDATES,
    recent: Question | None = None,
) -> Sequence[Candidate]:
    """Entries found by either signal, with the scores of both; as many of documents as of everything else.

    Args:
        limit: candidates of each signal and part.
        recent: what was said before the question, which adds to what its words find.
    """
    pools = _pools(search, filters)
    search.expect_nearest(vector, pools, now, limit)
    lexical = _lexical(search, pools, question, now, limit)
    if recent is not None and recent.words:
        lexical = _with_recent(lexical, _lexical(search, pools, recent, now, limit))
    if not len(vector):
        return _joined(lexical, {})
    cosines = {s.key: s.score for pool in pools for s in search.nearest(vector, pool, now, limit)}
    cosines |= search.cosines(vector, lexical.keys() - cosines.keys())
    return _joined(lexical, cosines)


RECENT_SHARE = 0.4
"""How much what was said before a question counts beside it, in each signal (docs/models.md)."""


def _lexical(
    search: Search, pools: Sequence[Filters], question: Question, now: datetime, limit: int
) -> dict[int, float]:
    words = (*question.words, *question.pieces)
    return {s.key: s.score for pool in pools for s in search.full_text(words, pool, now, limit)}


def _with_recent(question: Mapping[int, float], recent: Mapping[int, float]) -> dict[int, float]:
    """Scores of the question with a share of those of what was said before it, each measured by its best."""
    best, other = max(question.values(), default=0.0), max(recent.values(), default=0.0)
    if not (best and other):
        return dict(question or recent)
    rows = question.keys() | recent.keys()
    return {row: question.get(row, 0.0) + RECENT_SHARE * best / other * recent.get(row, 0.0) for row in rows}


def between(question: Vector, recent: Vector) -> Vector:
    """A vector near the question's, drawn to that of what was said before it."""
    if not len(question) or not len(recent):
        return question
    return [q + RECENT_SHARE * r for q, r in zip(question, recent, strict=True)]


def strangers(search: Search, vector: Vector, rows: Collection[int]) -> list[Candidate]:
    """Candidates that only their neighbours brought: how near they are tells which of them are worth it."""
    cosines = search.cosines(vector, rows) if vector and rows else {}
    return [Candidate(row, 0.0, cosines.get(row, 0.0)) for row in sorted(rows)]


def _pools(search: Search, filters: Filters) -> Sequence[Filters]:
    """Memories, messages and documents are looked through apart: a thousand passages cannot keep a memory from being a
    candidate."""
    others = [] if filters.only else [part for part in (MESSAGES, DOCUMENTS) if search.has(part)]
    return [replace(filters, only=part) for part in (MEMORIES, *others)] if others else [filters]


def _joined(lexical: Mapping[int, float], cosines: Mapping[int, float]) -> list[Candidate]:
    rows = sorted(lexical.keys() | cosines.keys())
    return [Candidate(row, lexical.get(row, 0.0), cosines.get(row, 0.0)) for row in rows]


def coverage(question: Question, present: Collection[str]) -> tuple[float, tuple[str, ...]]:
    """The idf-weighted share of the question's terms that are among those of a text, in [0, 1], and these terms."""
    matched = tuple(word for word in question.words if word in present)
    whole = sum(question.weights.values())
    return (sum(question.weights[word] for word in matched) / whole if whole else 0.0), matched


def telling_terms(asked: str) -> Sequence[str]:
    """The terms of a question that say something."""
    words = list(dict.fromkeys(terms.terms(asked)))
    return _unless_empty([word for word in words if not is_stop(word)], words)

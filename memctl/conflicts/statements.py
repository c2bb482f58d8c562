"""What the clauses of a text say, as far as words alone tell: whom about, which words, which quantities, yes or no.

No parser and no dictionary: words are told apart by the short lists of `lexicon`. What those do not know stays a plain
content word, so an unknown word makes two statements differ and never makes them contradict.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise

from memctl.conflicts import lexicon
from memctl.core.text.sentences import sentences
from memctl.core.text.stopwords import stop_terms
from memctl.core.text.terms import terms
from memctl.judgement.quantities import PLACE, Quantity, Value, quantities

FACT, PLAN, PAST, OPEN = "fact", "plan", "past", "open"
"""Moods: what is so, what is meant to be, what was, and what nobody says is so (questions, conditions, guesses)."""

LONGEST = 300
"""Characters of a clause that are read."""

SELF = frozenset("i me my mine i'm user she he her his we our 我 我的 用户 本人 我们".split())
"""Words for the one whose memories these are, or for the one a memory spoke of last."""


@dataclass(frozen=True)
class Statement:
    """What one clause says.

    Args:
        source: position of its memory.
        text: the clause as written.
        words: its content words in order (English stems, Chinese characters), without the subject's pronouns.
        core: those that say what is so; `limits` those that say when, where or with what.
        names: words that tell one thing from another: names, relatives, identifiers.
        sign: +1, or -1 where it is denied; `marks` are the words that make it so.
        dimensions: of the opposites in it.
        shown: how a content word is written.
        inherited: words for whom it is about, where the clause before says so.
        asked: whether the clause by itself is a question, a condition or a guess.
        whole: whether it has a subject and a verb, or an opposite that stands for them.
    """

    source: int
    text: str
    sentence: str
    mood: str
    words: tuple[str, ...] = ()
    core: frozenset[str] = frozenset()
    limits: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    sign: int = 1
    marks: tuple[str, ...] = ()
    dimensions: frozenset[str] = frozenset()
    quantities: tuple[Quantity, ...] = ()
    shown: Mapping[str, str] = field(default_factory=dict)
    inherited: tuple[str, ...] = ()
    whole: bool = True
    asked: bool = False

    @cached_property
    def terms(self) -> frozenset[str]:
        """What similarity is measured by: English words, pairs of neighbouring Chinese characters."""
        return terms_of(self.words)

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, frozenset[Value]]]:
        """The values of its quantities, by group and type."""
        found: dict[str, dict[str, frozenset[Value]]] = {}
        for quantity in self.quantities:
            types = found.setdefault(quantity.group, {})
            types[quantity.type] = types.get(quantity.type, frozenset()) | {quantity.value}
        return found


def terms_of(words: Sequence[str]) -> frozenset[str]:
    """English words as they are, and pairs of neighbouring Chinese characters; a lone character for itself."""
    pairs = {one + two for one, two in pairwise(words) if _is_han(one) and _is_han(two)}
    lone = {word for word in words if not _is_han(word)}
    return frozenset(pairs | lone) or frozenset(words)


def _is_han(word: str) -> bool:
    return len(word) == 1 and not word.isascii()


_CLAUSE = re.compile(
    r"[,，]?\s+(?:but|because|although|though|while|whereas|so that)\s+|,\s+(?:and|so|then|which|where|who|or)\s+"
    r"|,\s+(?=(?:she|he|they|it|we|I)\s)|;|:\s|：|\s[–—-]\s|[()（）]|，|,(?=\s*[\u4e00-\u9fff])|——"
)


def statements(source: int, text: str, aliases: frozenset[str]) -> list[Statement]:
    """What a text says, clause by clause.

    Args:
        aliases: names of the one whose memories these are, in lower case.
    """
    found: list[Statement] = []
    subject: tuple[str, ...] = ()
    topic: tuple[str, ...] = ()
    for sentence in (unicodedata.normalize("NFKC", each) for each in sentences(text)):
        mood = _mood(sentence)
        for clause in _CLAUSE.split(sentence):
            if not clause.strip():
                continue
            read = _Reader(clause.strip()[:LONGEST], aliases)
            whom = subject or (topic if read.speaks_of_a_thing else ())
            made = read.statement(source, sentence, _worst(mood, _clause_mood(clause)), whom)
            if not found and not read.begins_in_the_middle:
                subject, topic = read.subject, tuple(read.words)
            found.append(replace(made, asked=_mood(clause) == OPEN))
            found += _implied(made, read)
    return found


def _mood(sentence: str) -> str:
    if lexicon.QUESTION.search(sentence) or lexicon.CONDITION.search(sentence):
        return OPEN
    return FACT


def _clause_mood(clause: str) -> str:
    for mood, pattern in ((PAST, lexicon.PAST), (PLAN, lexicon.PLAN), (PAST, lexicon.PAST_VERB)):
        if pattern.search(clause):
            return mood
    return FACT


def _worst(sentence: str, clause: str) -> str:
    return OPEN if sentence == OPEN else clause


@cache
def _scanner() -> re.Pattern[str]:
    """Private characters of quantities, words, Chinese words of the lists, single Chinese characters."""
    chinese = {w for w in _all_words() if not w.isascii() and len(w) > 1} | lexicon.KEPT
    listed = "|".join(map(re.escape, sorted(chinese, key=lambda word: (-len(word), word))))
    return re.compile(
        rf"(?P<place>[\ue000-\uf8ff])|(?P<word>[^\W\u3400-\u9fff_]+(?:[-'’./+][^\W\u3400-\u9fff_]+)*)"
        rf"|(?P<listed>{listed})|(?P<han>[\u3400-\u9fff])|(?P<comma>,)"
    )


def _all_words() -> Iterator[str]:
    yield from lexicon.NEGATIONS
    yield from lexicon.DIMENSIONS
    yield from lexicon.ALTERNATIVES
    yield from lexicon.QUALIFIERS
    yield from lexicon.FILLERS


class _Reader:
    """Reads one clause, word by word."""

    def __init__(self, clause: str, aliases: frozenset[str]) -> None:
        self.clause, self.aliases = clause, aliases | SELF
        text = re.sub("[\ue000-\uf8ff]", " ", clause)
        for pattern, instead in lexicon.PHRASES_IN_ASCII if clause.isascii() else lexicon.PHRASES:
            text = pattern.sub(instead, text)
        for alias in aliases:
            if not alias.isascii():
                text = text.replace(alias, " 我 ")
        self.text, self.quantities = quantities(text)
        self.sign, self.marks = 1, list[str]()
        self.dimensions = set[str]()
        self.words, self.core, self.limits, self.names = list[str](), list[str](), set[str](), set[str]()
        self.shown: dict[str, str] = {}
        self.raw_words: list[str] = []
        self.subject: tuple[str, ...] = ()
        self.in_limits = self.past_subject = self.addressed = False
        found = list(_scanner().finditer(self.text))
        self.choosing = any(match[0].lower() in lexicon.CHOOSING for match in found)
        for match in found:
            self._read(match)
        if not self.past_subject:
            self.subject = ()

    @property
    def begins_in_the_middle(self) -> bool:
        """Whether the clause has no subject of its own."""
        first = self.raw_words[0] if self.raw_words else ""
        known = first in lexicon.VERBS or first in lexicon.NEGATIONS or first in lexicon.DIMENSIONS
        return known or first in ("she", "he", "her", "his", "it", "its", "它", "他", "她", "其")

    @property
    def speaks_of_a_thing(self) -> bool:
        return bool(self.raw_words) and self.raw_words[0] in ("it", "its", "它", "其")

    def _read(self, match: re.Match[str]) -> None:
        raw = match[0]
        if match["comma"]:
            return
        if match["place"]:
            self._quantity(self.quantities[ord(raw) - PLACE])
            return
        word = raw.lower().replace("’", "'")
        owner = word.removesuffix("'s")
        self.raw_words.append(word)
        if owner in self.aliases:
            self.addressed = True
            return
        if word in lexicon.VERBS and not self.past_subject:
            self.past_subject, self.subject = True, tuple(self.words)
        if word in lexicon.NEGATIONS:
            self._mark(-1, raw)
        elif self.choosing and word in lexicon.ALTERNATIVES:
            self._opposite(*lexicon.ALTERNATIVES[word], raw)
        elif word in lexicon.DIMENSIONS:
            self._opposite(*lexicon.DIMENSIONS[word], raw)
        elif word in lexicon.QUALIFIERS:
            self._limit(word)
        elif word not in lexicon.FILLERS:
            self._content(match, raw, owner)

    def _quantity(self, quantity: Quantity) -> None:
        term = f"{quantity.type}={quantity.value}"
        self.shown[term] = quantity.text
        self.limits.add(term) if quantity.group in ("time", "date") else self._place(term)

    def _mark(self, sign: int, raw: str) -> None:
        self.sign *= sign
        self.marks.append(raw)
        if not self.past_subject:
            self.past_subject, self.subject = True, tuple(self.words)

    def _opposite(self, dimension: str, sign: int, raw: str) -> None:
        self.dimensions.add(dimension)
        self._mark(sign, raw)

    def _limit(self, word: str) -> None:
        if word.isascii():
            self.in_limits = True
        else:
            self.limits.add(word)

    def _content(self, match: re.Match[str], raw: str, owner: str) -> None:
        if match["listed"]:
            for character in raw:
                self._add(character, character)
            return
        if match["han"]:
            self._add(raw, raw)
            return
        for stem in terms(owner):
            if stem in stop_terms():
                continue
            self._add(stem, re.sub("['’]s$", "", raw))
            if self._tells_apart(match, raw, owner):
                self.names.add(stem)

    def _tells_apart(self, match: re.Match[str], raw: str, owner: str) -> bool:
        first = match.start() == 0
        identifier = any(c.isdigit() for c in raw) or bool(re.fullmatch(r"\w{1,4}-\w", raw)) or len(raw) == 1
        name = raw[0].isupper() and not first
        return identifier or name or owner in lexicon.RELATIVES

    def _add(self, term: str, shown: str) -> None:
        self.words.append(term)
        self.shown.setdefault(term, shown)
        self._place(term)

    def _place(self, term: str) -> None:
        if self.in_limits:
            self.limits.add(term)
        else:
            self.core.append(term)

    def statement(self, source: int, sentence: str, mood: str, subject: tuple[str, ...]) -> Statement:
        """What was read.

        Args:
            subject: of the clause before, for one that has none.
        """
        inherited = subject if self.begins_in_the_middle else ()
        core = [*inherited, *self.core]
        return Statement(
            source,
            self.clause,
            sentence,
            mood,
            (*inherited, *self.words),
            frozenset(core),
            frozenset(self.limits),
            frozenset(self.names | set(inherited)),
            self.sign,
            tuple(self.marks),
            frozenset(self.dimensions),
            tuple(self.quantities),
            {**{word: word for word in inherited}, **self.shown},
            inherited,
            bool(self.dimensions) or (self.past_subject and bool(self.addressed or self.subject or inherited)),
        )


def _implied(made: Statement, read: _Reader) -> list[Statement]:
    """What somebody who is vegetarian does not eat, what kind of thing a steak is, and what an allergy forbids."""
    if made.mood != FACT:
        return []
    base = replace(
        made, words=(), core=frozenset(made.inherited or read.subject), limits=frozenset(), names=frozenset()
    )
    base = replace(base, quantities=(), dimensions=frozenset({"eat"}))
    found = [
        replace(base, sign=-1, core=base.core | {kind}, words=(kind,), marks=(match[0],))
        for pattern, kinds in lexicon.ABSTAINS
        if (match := pattern.search(made.text))
        for kind in kinds
    ]
    text = read.clause.lower()
    if made.dimensions & {"eat", "like"}:
        kinds = [kind for kind, members in lexicon.CLASSES.items() if _mentions(text, members)]
        named = [kind for kind in kinds if made.sign > 0 or _is_the_kind(made, kind)]
        found += [replace(base, sign=made.sign, core=base.core | {kind}, words=(kind,)) for kind in named]
    return found


def _mentions(text: str, members: Iterable[str]) -> bool:
    return any(re.search(rf"\b{m}s?\b", text) if m.isascii() else m in text for m in members)


def _is_the_kind(made: Statement, kind: str) -> bool:
    """Whether all of a kind is denied, not one of its members alone."""
    names = {kind, *terms(kind), *({"meat": "肉", "alcohol": "酒", "seafood": "海鲜"}.get(kind, kind))}
    return bool(made.core) and made.core <= names

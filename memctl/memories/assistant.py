"""Saving what an agent asks to keep: classified where it does not say what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memctl.conflicts.service import Conflicts
from memctl.conversations import derived
from memctl.core import guarding, kinds, records, sensitive, times
from memctl.core.models import ACTIVE, CANDIDATE, MEMORIES, MESSAGES, Change, Filters, Memory
from memctl.core.records import ADDED, CANDIDATE_KEPT, MENTIONED, UPDATED, Added
from memctl.core.text.stopwords import is_stop
from memctl.core.text.terms import terms
from memctl.errors import UsageError
from memctl.facts import rules
from memctl.memories.asking import Asking
from memctl.memories.changing import Changing
from memctl.retrieval import answer as answering
from memctl.storage.ports.view import View

if TYPE_CHECKING:  # the rules cost every command's start, if they are imported here
    from memctl.extraction.extract import Proposal

CONFIDENCE = 0.8
"""Of what an agent saves, at most: the user's own words may be surer."""

NAME = ("life", "name")
"""Category and key of what the user is called."""


_CHOICES = 8
_SURE, _POSSIBLE, _APART = 0.75, 0.3, 0.3
"""Shares of the words that mean a memory: which it needs to be the one, which to be shown, and how far others are."""

_ABOUT = re.compile(
    r"^(?:please\s+)?(?:forget|delete|remove|drop|erase)?\s*(?:what (?:i|you) (?:said|know) )?(?:about|that)?\s+"
    r"|^(?:请|麻烦)?(?:你)?(?:把)?(?:忘掉|忘记|忘了|删掉|删除|不要记|别记)(?:关于)?",
    re.IGNORECASE,
)


_MATTER = re.compile(r"的?(?:那件|这件)?事(?:情|儿)?[。！]?$")
"""What a Chinese request ends with."""


@dataclass(frozen=True)
class Meant:
    """What a caller says of a text; the rest is classified, or stays as it is."""

    kind: str = ""
    category: str = ""
    key: str = ""
    value: Any = None
    tags: tuple[str, ...] | None = None
    pinned: bool | None = None


@dataclass(frozen=True)
class Saved:
    """What became of a saved text.

    Attributes:
        replaced: the records whose value the new one superseded, as they were.
        pinned: pinned facts with another value, which stay; the new one is a candidate beside them.
        against: active memories that it seems to contradict.
    """

    added: Added
    replaced: tuple[Memory, ...] = ()
    pinned: tuple[Memory, ...] = ()
    against: tuple[Memory, ...] = ()


@dataclass(frozen=True)
class MeantBy:
    """What some words mean: the one memory that they can only mean, None where several may be meant or nothing is near
    enough; and all that are likely, the best first."""

    one: Memory | None
    likely: tuple[Memory, ...]


class Assistant:
    """Saving with a classification, and correcting what was saved."""

    def __init__(self, engine: Asking) -> None:
        self._engine = engine

    def save(
        self,
        text: str,
        meant: Meant | None = None,
        *,
        source: str = "agent",
        metadata: Mapping[str, Any] | None = None,
        now: datetime | None = None,
    ) -> tuple[Saved, ...]:
        """Save a text; what nobody says of it, the rules of extraction decide. All of it is one change.

        A fact with a key supersedes its predecessor, unless that is pinned: then the new one is kept as a candidate.

        Returns:
            what became of it: several where the text states several facts with a key.

        Raises:
            UsageError: there is no such category or kind.
            RefusedError: a part looks like a secret, and the setting `secrets` is `refuse`.
        """
        now = now or times.utc_now()
        meant = meant or Meant()
        if meant.value is not None and not meant.key:
            raise UsageError("a value needs a key", hint="Give `key` too, such as city for the value Lisbon.")
        self._engine.refresh()
        fields = {"source": source, "metadata": dict(metadata or {})}
        drawn = [self._saved_record(one, meant, fields, now) for one in self._proposed(text, meant, now)]
        said = {"kind": meant.kind, "category": meant.category, "pinned": meant.pinned}
        explicit = frozenset(name for name, given in said.items() if given not in ("", None))

        def decide(view: View) -> tuple[Change, list[Saved]]:
            puts: dict[str, Memory] = {}
            result = []
            for memory in view.unused(drawn):
                changed, saved = _placed(view, memory, explicit, now)
                puts |= {each.memory_id: each for each in changed}
                result.append(saved)
            return Change("add", tuple(puts.values())), result

        done = self._engine.apply(decide, now, on_secret=sensitive.ALLOW)
        return tuple(self._looked_at(saved, now) for saved in done)

    def amend(
        self, memory_id: str, meant: Meant, content: str = "", *, source: str = "agent", now: datetime | None = None
    ) -> Saved:
        """Correct a memory; what is not given stays. The record of before is in the log, for `undo`.

        Args:
            meant: what is given replaces what there is; `tags` and `value` where they are not None.

        Raises:
            NotFoundError: there is none.
            UsageError: nothing is given, the memory is superseded or archived, or a new text leaves its value behind.
            RefusedError: a part looks like a secret, and the setting `secrets` is `refuse`.
        """
        now = now or times.utc_now()
        before = self._engine.get(memory_id)
        if before.status not in (ACTIVE, CANDIDATE):
            by = f" by {before.superseded_by}" if before.superseded_by else ""
            raise UsageError(f"{before.memory_id} is {before.status}{by}", hint="Change the one that is active.")
        after = self._amended(before, meant, content, now)
        if after == before:
            raise UsageError("nothing would change", hint="Give what is to be different.")
        if (after.content, after.key, after.value) != (before.content, before.key, before.value):
            after = replace(after, source=source)
        changed = Changing(self._engine).put(after, expected=before, now=now)
        return self._looked_at(Saved(Added(UPDATED, changed)), now)

    def meant_by(self, text: str, *, now: datetime | None = None) -> MeantBy:
        """What some words may mean. Episodes where nothing else fits, and messages of the user's (by their ids) where
        these hold more of the words than any memory.

        Nothing is written, no receipt either.
        """
        memories = self._likely(text, MEMORIES, now)
        likely = [pair for pair in memories if pair[1].kind != kinds.EPISODE] or memories
        own = [pair for pair in self._likely(text, MESSAGES, now) if _is_own_statement(pair[1])]
        if own and (not likely or own[0][0] > likely[0][0]):
            likely = sorted([*own, *likely], key=lambda pair: -pair[0])
        sure = likely and likely[0][0] >= _SURE and all(share <= likely[0][0] - _APART for share, _ in likely[1:])
        return MeantBy(likely[0][1] if sure else None, tuple(memory for _, memory in likely))

    def _likely(self, text: str, part: str, now: datetime | None) -> list[tuple[float, Memory]]:
        """What may be meant, with the share of the words that it holds, the best first."""
        wanted = _words(_MATTER.sub("", _ABOUT.sub("", text)))
        hits = self._engine.query(text, top=_CHOICES, now=now, receipt=False, filters=Filters(only=part)).hits
        shares = [(_share(wanted, hit.memory), hit.memory) for hit in hits if hit.memory.memory_id]
        return sorted((pair for pair in shares if pair[0] >= _POSSIBLE), key=lambda pair: -pair[0])

    def _amended(self, before: Memory, meant: Meant, content: str, now: datetime) -> Memory:
        fields: dict[str, Any] = {"content": content.strip() or before.content}
        fields |= {name: given for name in ("kind", "category") if (given := getattr(meant, name))}
        fields |= {"tags": tuple(dict.fromkeys(meant.tags))} if meant.tags is not None else {}
        fields |= {"pinned": meant.pinned} if meant.pinned is not None else {}
        after = replace(before, **fields)
        if meant.key:
            return replace(after, key=self._key(after.category, meant.key), value=_value(meant))
        if meant.value is not None and not before.key:
            raise UsageError("a value needs a key", hint="Give `key` too, such as city for the value Lisbon.")
        if meant.value is not None:
            return replace(after, value=meant.value)
        return after if after.content == before.content or not before.key else self._with_its_value(after, now)

    def _with_its_value(self, memory: Memory, now: datetime) -> Memory:
        """A fact with a new text and the value that this says.

        Raises:
            UsageError: the text does not say the old value, and the rules find no new one.
        """
        from memctl.extraction import classify

        threshold = self._engine.settings.extract_threshold
        for one in classify.classified(memory.content, self._engine.user, self._names(), threshold, now):
            if one.key == memory.key:
                return replace(memory, value=one.value)
        if not isinstance(memory.value, str) or memory.value.casefold() in memory.content.casefold():
            return memory
        raise UsageError(
            f"{memory.memory_id} says that {memory.key} is {memory.value}, and the new text does not",
            hint="Give `value` too.",
        )

    def _looked_at(self, saved: Saved, now: datetime) -> Saved:
        """With what says almost the same, and what it seems to contradict."""
        memory = saved.added.memory
        apart = {memory.memory_id, *(m.memory_id for m in (*saved.replaced, *saved.pinned))}
        near = answering.near_duplicates(self._engine.search, memory.content, self._engine.settings.near_duplicate, now)
        added = replace(saved.added, near=tuple(each for each in near if each not in apart))
        against = Conflicts(self._engine).against(memory, now=now) if memory.status == ACTIVE else ()
        return replace(saved, added=added, against=tuple(m for m in against if m.memory_id not in apart))

    def _proposed(self, text: str, meant: Meant, now: datetime) -> Sequence[Proposal]:
        from memctl.extraction import classify

        classified = classify.classified(
            text, self._engine.user, self._names(), self._engine.settings.extract_threshold, now
        )
        if not meant.key and not (meant.category and any(c.category != meant.category for c in classified if c.key)):
            return classified
        # The caller names the fact, or puts it where the rules would not: then it is one memory, as it was written.
        return [replace(classified[0], content=text, key="", value=None, subcategory="")]

    def _names(self) -> tuple[str, ...]:
        """What the user is called."""
        known = [
            m.value for m in self._engine.view().with_key(*NAME) if m.status == ACTIVE and isinstance(m.value, str)
        ]
        return tuple(dict.fromkeys((self._engine.user, *known, *(name.split()[0] for name in known if name.split()))))

    def _saved_record(self, proposal: Proposal, meant: Meant, fields: Mapping[str, Any], now: datetime) -> Memory:
        """The record of a proposal with what the caller says, complete and checked."""
        from memctl.extraction import extract

        memory = replace(extract.memory(proposal, 0.0, now), **fields)
        memory = replace(
            memory,
            kind=meant.kind or memory.kind,
            category=meant.category or self._category(memory, meant),
            tags=tuple(dict.fromkeys((*(meant.tags or ()), *memory.tags))),
            confidence=min(CONFIDENCE, memory.confidence),
            pinned=bool(meant.pinned),
        )
        if meant.key:
            memory = replace(memory, key=self._key(memory.category, meant.key), value=_value(meant))
        policy = self._engine.secret_policy()
        given = frozenset({"kind", "category", "confidence"})
        memory = records.completed(memory, now, self._engine.new_id(now), given)
        return records.check(guarding.guarded(memory, policy), self._engine.settings.categories)

    def _category(self, memory: Memory, meant: Meant) -> str:
        """Where a fact with this key is already; else what the rules say, where the store has such a category."""
        if meant.key:
            for category in self._engine.settings.categories:
                key = self._key(category, meant.key)
                if any(m.status in (ACTIVE, CANDIDATE) for m in self._engine.view().with_key(category, key)):
                    return category
        return (
            memory.category
            if memory.category in self._engine.settings.categories
            else self._engine.settings.categories[0]
        )

    def _key(self, category: str, given: str) -> str:
        """A key as it is in the store, else in small letters: "Favorite Color" is `favorite_color`."""
        return given if self._engine.view().with_key(category, given) else "_".join(given.lower().split())[:80]


def _value(meant: Meant) -> Any:
    if meant.value is None or not str(meant.value).strip():
        raise UsageError(f"the key {meant.key!r} needs a value", hint="Give `value` too, such as Lisbon for city.")
    return meant.value


def _placed(view: View, memory: Memory, given: frozenset[str], now: datetime) -> tuple[list[Memory], Saved]:
    """The records to write for one, and what became of it."""
    same = next((m for m in view.same_text(memory.content) if m.status == ACTIVE and not m.key), None)
    if same and memory.key:  # the same text without its key: this one says what it is
        again = records.mention(same, now, memory, given)
        memory = replace(again, kind=memory.kind, category=memory.category, key=memory.key, value=memory.value)
    elif not memory.key:
        changed, added = _mentioned_or_new(view, memory, same, given, now)
        return changed, Saved(added)
    known = [m for m in view.with_key(memory.category, memory.key) if m.memory_id != memory.memory_id]
    if waiting := next((m for m in known if m.status == CANDIDATE and m.value == memory.value), None):
        known.remove(waiting)
        memory = replace(records.mention(waiting, now, memory, given), status=ACTIVE, conflicts_with=())
    active = [m for m in known if m.status == ACTIVE]
    pinned = [m for m in active if m.pinned and m.value != memory.value]
    if pinned:
        rivals = tuple(m.memory_id for m in active)
        kept = replace(memory, status=CANDIDATE, conflicts_with=rivals)
        return [kept], Saved(Added(CANDIDATE_KEPT, kept), pinned=tuple(pinned))
    changed, added = rules.stated(memory, known, now)
    if added.outcome == MENTIONED:
        again = records.mention(next(m for m in active if m.value == memory.value), now, memory, given)
        return [again], Saved(replace(added, memory=again))
    return changed, Saved(added, tuple(m for m in active if m.memory_id in added.replaced))


def _mentioned_or_new(
    view: View, memory: Memory, same: Memory | None, given: frozenset[str], now: datetime
) -> tuple[list[Memory], Added]:
    held = same or next((m for m in view.same_text(memory.content) if m.status == ACTIVE), None)
    if held is None:
        return [memory], Added(ADDED, memory)
    again = records.mention(held, now, memory, given)
    return [again], Added(MENTIONED, again)


def _is_own_statement(message: Memory) -> bool:
    """Whether the user said it, and not only that it should be forgotten."""
    return message.metadata.get("role") == "user" and not derived.asks_to_forget(message.content)


def _words(text: str) -> frozenset[str]:
    words = terms(text)
    telling = frozenset(word for word in words if not is_stop(word) and (len(word) > 1 or word.isascii()))
    return telling or frozenset(words)


def _share(wanted: frozenset[str], memory: Memory) -> float:
    """The share of some words that a memory holds, its key and value included."""
    held = frozenset(terms(f"{memory.content} {memory.key} {memory.value or ''}"))
    return len(wanted & held) / len(wanted) if wanted else 0.0

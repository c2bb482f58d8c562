"""The data that `inspect` shows: an overview of a store, and everything about one memory. Read-only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memctl.core.models import ACTIVE, IndexState, Memory, Reflection
from memctl.core.operations import Operation
from memctl.decay import policies
from memctl.reflections.service import Stale
from memctl.store import MemoryStore

CURVE_POINTS = 48
_NEXT = 5
LEAST_CURVE_DAYS, MOST_CURVE_DAYS = 90, 1000


@dataclass(frozen=True)
class Overview:
    """An overview of a store; sizes are in bytes."""

    user: str
    folder: str
    total: int
    trashed: int
    statuses: Mapping[str, int]
    categories: Mapping[str, int]
    kinds: Mapping[str, int]
    tags: Mapping[str, int]
    oldest: datetime | None
    newest: datetime | None
    pinned: int
    needs_revision: int
    reflections: int
    stale_reflections: Sequence[Stale]
    documents: int
    passages: int
    messages: int
    runs: int
    sizes: Mapping[str, int]
    index: IndexState
    index_path: str
    model: str
    next_to_fade: Sequence[policies.Forecast]


@dataclass(frozen=True)
class MemoryDetails:
    """Everything about one memory; `curve` is its decayed importance over the next `curve_days` days."""

    memory: Memory
    reflection: Reflection | None
    problem: str
    links: Sequence[str]
    history: Sequence[str]
    uses: int
    forecast: policies.Forecast
    curve: Sequence[float]
    curve_days: int


@dataclass
class _Counts:
    """Counts over all memories, which are too many to hold in memory at once."""

    statuses: Counter[str] = field(default_factory=Counter)
    categories: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    oldest: datetime | None = None
    newest: datetime | None = None
    pinned: int = 0
    needs_revision: int = 0
    reflections: set[str] = field(default_factory=set)

    def active(self, store: MemoryStore) -> Iterator[Memory]:
        """The active memories, while counting all."""
        for memory in store.engine.view().all():
            self._count(store, memory)
            if memory.status == ACTIVE:
                self.categories[memory.category] += 1
                self.kinds[memory.kind] += 1
                self.tags.update(memory.tags)
                yield memory

    def _count(self, store: MemoryStore, memory: Memory) -> None:
        self.statuses[memory.status] += 1
        self.pinned += memory.pinned
        self.needs_revision += memory.needs_revision
        if memory.when:
            self.oldest = min(self.oldest or memory.when, memory.when)
            self.newest = max(self.newest or memory.when, memory.when)
        if memory.summary_md_ref and (document := store.engine.readable_reflection(memory)[0]):
            self.reflections.add(document.path)


def _counted(store: MemoryStore, now: datetime) -> tuple[_Counts, list[policies.Forecast]]:
    """The counts, and the memories that fade next."""
    counts = _Counts()
    return counts, policies.next_to_fade(counts.active(store), now, store.decay.rules, _NEXT)


def of_store(store: MemoryStore, now: datetime) -> Overview:
    """The overview of a store."""
    report = store.sync()
    counts, next_to_fade = store.engine.retry(lambda: _counted(store, now))
    passages = store.engine.search.documents()
    runs = store.conversations.runs()
    return Overview(
        user=store.user,
        folder=store.engine.storage.place,
        total=counts.statuses.total(),
        trashed=len(store.engine.storage.trashed()),
        statuses=counts.statuses,
        categories=counts.categories,
        kinds=counts.kinds,
        tags=dict(counts.tags.most_common()),
        oldest=counts.oldest,
        newest=counts.newest,
        pinned=counts.pinned,
        needs_revision=counts.needs_revision,
        reflections=len(counts.reflections),
        stale_reflections=store.reflections.stale(now),
        documents=len(passages),
        passages=sum(passages.values()),
        messages=sum(run.messages for run in runs),
        runs=len(runs),
        sizes=store.engine.storage.sizes(),
        index=report.index_state,
        index_path=store.engine.storage.index_place,
        model=store.engine.embedder.name if store.engine.embedder else "none",
        next_to_fade=next_to_fade,
    )


def of_memory(store: MemoryStore, memory: Memory, now: datetime) -> MemoryDetails:
    """Everything about one memory."""
    reflection, problem = store.engine.readable_reflection(memory)
    uses = store.decay.uncounted_uses(memory.memory_id)
    used = replace(memory, access_count=memory.access_count + uses)
    forecast = policies.forecast(memory, now, store.decay.rules)
    days = curve_days(forecast, now)
    return MemoryDetails(
        memory=memory,
        reflection=reflection,
        problem=problem,
        links=_links(store, memory),
        history=[_sentence(operation, memory.memory_id) for operation in store.history.operations(memory.memory_id)],
        uses=used.access_count,
        forecast=forecast,
        curve=policies.curve(memory, now, store.decay.rules, days, CURVE_POINTS),
        curve_days=days,
    )


def curve_days(forecast: policies.Forecast, now: datetime) -> int:
    """How many days a curve shows, so that the day on which a memory fades is in it."""
    if not forecast.fades_on:
        return LEAST_CURVE_DAYS
    return max(LEAST_CURVE_DAYS, min(MOST_CURVE_DAYS, 2 * (forecast.fades_on - now).days))


def _links(store: MemoryStore, memory: Memory) -> list[str]:
    named = [
        ("supersedes", memory.supersedes),
        ("conflicts with", memory.conflicts_with),
        ("derived from", memory.sources),
    ]
    links = [f"{what} {other}" for what, ids in named for other in ids]
    links += [f"superseded by {memory.superseded_by}"] if memory.superseded_by else []
    naming = store.engine.view().naming([memory.memory_id])
    return links + [f"used by {each.memory_id}" for each in naming if memory.memory_id in each.sources]


def _sentence(operation: Operation, memory_id: str) -> str:
    step = next(step for step in operation.records if step.memory_id == memory_id)
    what = "added" if step.before is None else "removed" if step.after is None else "changed"
    return f"{operation.at} {what} by `{operation.command}`"

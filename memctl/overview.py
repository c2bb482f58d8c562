"""What `inspect` shows: a store at a glance, and everything about one memory. It changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from memctl.core.models import ACTIVE, IndexState, Memory, Reflection
from memctl.core.operations import Operation
from memctl.decay import policies
from memctl.reflections.service import Stale
from memctl.storage.files import transcripts
from memctl.storage.files.layout import UserFolder
from memctl.store import MemoryStore

CURVE_POINTS = 48
_NEXT = 5
LEAST_CURVE_DAYS, MOST_CURVE_DAYS = 90, 1000


@dataclass(frozen=True)
class Overview:
    """The store at a glance; sizes in bytes."""

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
class Portrait:
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
    """What is counted while the memories go by, of which a large store has more than should be held at once."""

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
        """The active memories; all are counted."""
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
    """The counts, and which memories fade next."""
    counts = _Counts()
    return counts, policies.next_to_fade(counts.active(store), now, store.decay.rules, _NEXT)


def of_store(store: MemoryStore, now: datetime) -> Overview:
    """The overview of a store."""
    report = store.sync()
    counts, next_to_fade = store.engine.healed(lambda: _counted(store, now))
    passages = store.engine.search.documents()
    runs = store.conversations.runs()
    return Overview(
        user=store.user,
        folder=str(store.folder.root),
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
        sizes=_sizes(store.folder),
        index=report.index_state,
        index_path=str(store.engine.files.index.path),
        model=store.engine.embedder.name if store.engine.embedder else "none",
        next_to_fade=next_to_fade,
    )


def _sizes(folder: UserFolder) -> dict[str, int]:
    return {
        "memory.json": _size(folder.memory_file),
        "reflections": _size(folder.reflections),
        "knowledge": _size(folder.knowledge),
        "transcripts": transcripts.size(folder),
        "index": _size(folder.cache),
        "log": _size(folder.operations),
    }


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(_size(inner) for inner in path.iterdir() if not inner.is_symlink())
    return path.stat().st_size if path.is_file() else 0


def of_memory(store: MemoryStore, memory: Memory, now: datetime) -> Portrait:
    """The portrait of one memory."""
    reflection, problem = store.engine.readable_reflection(memory)
    uses = store.decay.uncounted_uses(memory.memory_id)
    used = replace(memory, access_count=memory.access_count + uses)
    forecast = policies.forecast(memory, now, store.decay.rules)
    days = LEAST_CURVE_DAYS
    if forecast.fades_on:
        days = max(days, min(MOST_CURVE_DAYS, 2 * (forecast.fades_on - now).days))
    return Portrait(
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


def _links(store: MemoryStore, memory: Memory) -> list[str]:
    named = [
        ("supersedes", memory.supersedes),
        ("conflicts with", memory.conflicts_with),
        ("derived from", memory.sources),
    ]
    links = [f"{what} {other}" for what, ids in named for other in ids]
    links += [f"superseded by {memory.superseded_by}"] if memory.superseded_by else []
    return links + [f"used by {m.memory_id}" for m in store.engine.view().all() if memory.memory_id in m.sources]


def _sentence(operation: Operation, memory_id: str) -> str:
    step = next(step for step in operation.records if step.memory_id == memory_id)
    what = "added" if step.before is None else "removed" if step.after is None else "changed"
    return f"{operation.at} {what} by `{operation.command}`"

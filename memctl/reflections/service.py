"""Reflections: written from records, refreshed when those change, never over what a person wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memctl.core import kinds, provenance, records, times
from memctl.core.formats import codec, reflections
from memctl.core.models import ACTIVE, Change, Memory, Reflection, TextEdit
from memctl.core.sensitive import MASK
from memctl.errors import MemctlError, NotFoundError
from memctl.memories.asking import Asking
from memctl.reflections import drafting
from memctl.reflections.extractive import Draft
from memctl.reflections.extractive import draft as draft_of
from memctl.reflections.scope import Scope, made_from_others, scope_of
from memctl.reflections.writing import REFRESHED, WRITTEN, proposal_path, written
from memctl.storage.ports.view import View

GENERATED_BY = "generated_by"

CONSOLIDATION, REPORT_TAG = "consolidation", "strategy_report"
"""Source and tag of records that `consolidate` and `strategy report` make and keep fresh themselves."""


@dataclass(frozen=True)
class Reflected:
    """What became of a reflection.

    Args:
        outcome: `written`, `refreshed`, `unchanged`, or `proposed`, when a person had edited the file: then `path` is
            the proposal beside it.
        notes: where the rules stood in for a language model, and why.
    """

    outcome: str
    memory: Memory
    path: str
    body: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stale:
    """A reflection that no longer says what its sources say: its record, its file, and why."""

    memory: Memory
    path: str
    why: str


@dataclass(frozen=True)
class _Subject:
    """What is reflected on: the records, the reflection's record where there is one, and how it came about."""

    ids: tuple[str, ...]
    held: str = ""
    title: str = ""
    scope: Scope = Scope()
    drafts: Mapping[str, Draft] = field(default_factory=dict)
    """A model's draft, by the digest of the sources it was made from."""
    by: str = ""


class Reflections:
    """Reflections, written from memories and refreshed when those change, as `store.reflections`."""

    def __init__(self, engine: Asking) -> None:
        self._engine = engine

    def write(
        self,
        memories: Sequence[Memory],
        *,
        title: str = "",
        scope: Scope | None = None,
        use_model: bool = True,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Reflected:
        """Write or refresh a reflection from records.

        A body that a person edited is never overwritten: the new one is laid beside it as a proposal. With a language
        model its summary is taken if every point names its sources; else, and without one, an extractive summary.

        Args:
            memories: what to reflect on; a reflection's own record stands for its sources, to refresh it.
            scope: how they were chosen, kept so that the reflection grows with what is added later.
        """
        if not memories:
            raise NotFoundError("there is nothing to reflect on", hint="`memctl list` shows what there is.")
        return self._reflect(
            self._subject(memories, title, scope or Scope()), use_model, dry_run, now or times.utc_now()
        )

    def in_scope(self, scope: Scope, now: datetime | None = None) -> list[Memory]:
        """The memories a scope holds, the oldest first."""
        from memctl.core.selection import Selection

        memories = self._engine.select(Selection(scope.filters, ascending=True), now=now)
        return [memory for memory in memories if scope.holds(memory)]

    def stale(self, now: datetime | None = None) -> list[Stale]:
        """Reflections whose sources were changed, or whose scope has grown, since they were written."""
        now = now or times.utc_now()
        self._engine.refresh()
        view = self._engine.view()
        outdated = []
        for memory in view.all():
            document = self._engine.readable_reflection(memory)[0] if memory.status == ACTIVE else None
            if document is not None and document.generated_hash and not _kept_by_others(memory):
                why = self._why_stale(view, memory, document, now)
                if why and not _is_proposed(view, document, self._fresh_ids(memory, document, now)):
                    outdated.append(Stale(memory, document.path, why))
        return outdated

    def refresh(self, *, use_model: bool = True, dry_run: bool = False, now: datetime | None = None) -> list[Reflected]:
        """Refresh every stale reflection."""
        now = now or times.utc_now()
        stale = self.stale(now)
        return [
            self._reflect(self._subject([one.memory], "", scope_of(one.memory)), use_model, dry_run, now)
            for one in stale
        ]

    def _subject(self, memories: Sequence[Memory], title: str, scope: Scope) -> _Subject:
        """A reflection's own record stands for its sources, and for those its scope has won since."""
        only = memories[0]
        if len(memories) > 1 or not made_from_others(only):
            return _Subject(tuple(memory.memory_id for memory in memories), "", title, scope)
        document = self._engine.readable_reflection(only)[0]
        ids = self._fresh_ids(only, document, times.utc_now())
        if not ids:
            raise NotFoundError(f"none of the memories {only.memory_id} was made from is there any more")
        own = document.title if document and reflections.hand_edited(document) else str(only.metadata.get("title", ""))
        return _Subject(ids, only.memory_id, title or own, scope_of(only))

    def _fresh_ids(self, memory: Memory, document: Reflection | None, now: datetime) -> tuple[str, ...]:
        """What a reflection would be made from today."""
        view, scope = self._engine.view(), scope_of(memory)
        kept = [known for source in _named_sources(memory, document) if (known := view.get(source))]
        grown = self.in_scope(scope, now) if not scope.empty else []
        return tuple(dict.fromkeys(m.memory_id for m in (*kept, *grown) if m.status == ACTIVE))

    def _why_stale(self, view: View, memory: Memory, document: Reflection, now: datetime) -> str:
        sources = _named_sources(memory, document)
        known = [source_memory for source in sources if (source_memory := view.get(source))]
        written = document.fields.get("sources_hash")
        if gone := len(sources) - len(known):
            return f"{gone} of its {len(sources)} sources are gone"
        if more := len(set(self._fresh_ids(memory, document, now)) - set(sources)) if sources else 0:
            return f"{more} more {'memory belongs' if more == 1 else 'memories belong'} to it"
        if written:
            return "" if written == sources_hash(known or [memory]) else "what it was made from was changed"
        since = _time(document.fields.get("updated_at") or document.fields.get("created_at"))
        changed = since and any((source.updated_at or since) > since for source in known)
        return "what it was made from was changed" if changed else ""

    def _reflect(self, subject: _Subject, use_model: bool, dry_run: bool, now: datetime) -> Reflected:
        subject, notes = self._drafted(subject) if use_model else (subject, ())

        def decide(view: View) -> tuple[Change, Reflected]:
            change, reflected = reflection(view, subject, now)
            return change, replace(reflected, notes=notes)

        return self._engine.apply(decide, now, dry_run=dry_run, on_secret=MASK)

    def _drafted(self, subject: _Subject) -> tuple[_Subject, tuple[str, ...]]:
        """The subject with a model's draft, where a model is configured, asked outside of any lock."""
        if len(subject.ids) > drafting.MOST_MEMORIES and self._engine.has_llm:
            return subject, (f"made by rules: {len(subject.ids)} memories are too many for one prompt",)
        memories = [self._engine.view().need(memory_id) for memory_id in subject.ids]
        answer = self._engine.ask(
            drafting.asked(memories),
            lambda said: drafting.checked(said, memories, subject.title),
            drafting.REFLECTION,
        )
        if answer.value is None:
            return subject, answer.notes("made by rules")
        return replace(subject, drafts={sources_hash(memories): answer.value}, by=answer.by), ()


def reflection(view: View, subject: _Subject, now: datetime) -> tuple[Change, Reflected]:
    """Write or refresh the reflection over records: one record's own, or one of its own for many."""
    memories = [view.need(memory_id) for memory_id in subject.ids]
    digest = sources_hash(memories)
    draft = subject.drafts.get(digest) or draft_of(memories, subject.title)
    record = _reflection_record(view, memories, subject, draft, now)
    by = subject.by if digest in subject.drafts else ""
    made = written(view, record, draft.body, now, {"sources_hash": digest, GENERATED_BY: by})
    puts = (record,) if made.outcome in (WRITTEN, REFRESHED) else ()
    return Change("reflect", puts, texts=made.edits), Reflected(made.outcome, record, made.path, draft.body)


def _kept_by_others(memory: Memory) -> bool:
    """Whether another command keeps a record and its reflection fresh."""
    return memory.source == CONSOLIDATION or REPORT_TAG in memory.tags


def sources_hash(memories: Sequence[Memory]) -> str:
    """What a reflection's sources said, in a few letters."""
    said = "\n".join(sorted(f"{m.memory_id} {m.status} {codec.text_hash(m.content)}" for m in memories))
    return codec.digest(said.encode("utf-8", "replace"))[:16]


def _named_sources(memory: Memory, document: Reflection | None) -> tuple[str, ...]:
    if memory.sources:
        return memory.sources
    named = document.fields.get("sources") if document else None
    return tuple(map(str, named)) if isinstance(named, list) else ()


def _is_proposed(view: View, document: Reflection, ids: Sequence[str]) -> bool:
    """Whether the proposal beside a file that a person edited is made from what is known now."""
    if not reflections.hand_edited(document):
        return False
    try:
        proposal = view.reflection(proposal_path(document.path))
    except MemctlError:
        return False
    sources = [memory for memory_id in ids if (memory := view.get(memory_id))]
    return proposal is not None and proposal.fields.get("sources_hash") == sources_hash(sources)


def _time(value: object) -> datetime | None:
    try:
        return times.from_value(value) if value else None
    except ValueError:
        return None


def _reflection_record(
    view: View, memories: Sequence[Memory], subject: _Subject, draft: Draft, now: datetime
) -> Memory:
    held = view.get(subject.held) if subject.held else _held(view, memories, subject.scope)
    sources = tuple(memory.memory_id for memory in memories)
    if held:
        summary = held.content if held.source == CONSOLIDATION else draft.summary
        return replace(held, content=summary, sources=sources, metadata=_metadata(held, subject), updated_at=now)
    if len(memories) == 1 and subject.scope.empty:
        memory = memories[0]
        return replace(memory, summary_md_ref=reflection_path(memory))
    categories = [memory.category for memory in memories]
    new_id = view.new_id(now)
    return Memory(
        memory_id=new_id,
        content=draft.summary,
        kind=kinds.KNOWLEDGE,
        category=max(sorted(set(categories)), key=categories.count),
        tags=("reflection",),
        confidence=round(sum(memory.confidence for memory in memories) / len(memories), 2),
        source="reflection",
        created_at=now,
        sources=sources,
        summary_md_ref=reflections.path_for(new_id),
        metadata=_metadata(None, subject) | provenance.noted(map(provenance.origin, memories)),
    )


def _held(view: View, memories: Sequence[Memory], scope: Scope) -> Memory | None:
    """The record of the reflection over this scope, or over just these records."""
    ids = sorted(memory.memory_id for memory in memories)
    if len(ids) == 1 and scope.empty:
        return None
    made = [m for m in view.all() if made_from_others(m) and m.summary_md_ref and m.status == ACTIVE]
    reflected = [m for m in made if not _kept_by_others(m)]
    same = [m for m in reflected if not scope.empty and m.metadata.get("scope") == scope.as_dict()]
    return next(iter(same or [m for m in reflected if scope_of(m).empty and sorted(m.sources) == ids]), None)


def _metadata(held: Memory | None, subject: _Subject) -> dict[str, object]:
    kept = dict(held.metadata) if held else {}
    kept |= {"scope": subject.scope.as_dict()} if not subject.scope.empty else {}
    return kept | ({"title": subject.title} if subject.title else {})


def with_detail(
    view: View, puts: Sequence[Memory], memory: Memory, text: str, front: str = "", *, add: bool = True
) -> tuple[list[Memory], list[TextEdit]]:
    """Write a record's own Markdown and link it. Front matter at the top of the text goes to that of the file.

    Args:
        front: front matter for a new file: its fields are kept, but for those memctl writes itself.
        add: keep what is there and put the text below it; replace it otherwise.
    """
    path = reflection_path(memory)
    linked = replace(memory, summary_md_ref=path)
    before = view.read(path)
    present = reflections.parse(before, path) if before else None
    given, text = reflections.given_front(text)
    sources = [before or reflections.with_own_fields_left_out(front), given]
    fields = records.front_matter(linked)
    for source in filter(None, sources):
        fields |= reflections.parse(source, path).fields
    fields.pop("generated_hash", None)
    if present and present.generated_hash:  # of the body memctl made: another one shows that a person wrote this
        fields["generated_hash"] = present.generated_hash
    if add and present and text.strip() not in present.body:
        text = f"{present.body.rstrip()}\n\n{text.lstrip()}"
    elif add and present:
        text = present.body
    others = [put for put in puts if put.memory_id != memory.memory_id]
    return [*others, linked], [TextEdit(path, before, reflections.render(fields, text, *filter(None, sources)))]


def reflection_path(memory: Memory) -> str:
    """Where a record's reflection lies, or will lie."""
    named = memory.summary_md_ref
    return named if reflections.is_reference(named) else reflections.path_for(memory.memory_id)

"""Reflections: written from records, refreshed, never over what a person wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memctl import times
from memctl.engine import Engine
from memctl.errors import NotFoundError
from memctl.files import reflections
from memctl.gateway import View
from memctl.lifecycle import adding
from memctl.lifecycle.reflect import Draft
from memctl.lifecycle.reflect import draft as draft_of
from memctl.models import Change, FileEdit, Memory, Reflection


@dataclass(frozen=True)
class Reflected:
    """What became of a reflection.

    `outcome`: `written`, `refreshed`, `unchanged`, or `proposed`, when a person had edited the file: then `path` is the
    proposal beside it.
    """

    outcome: str
    memory: Memory
    path: str
    body: str


class Reflecting(Engine):
    """Reflecting on memories."""

    def reflect(
        self, memories: Sequence[Memory], *, title: str = "", dry_run: bool = False, now: datetime | None = None
    ) -> Reflected:
        """Write or refresh a reflection from records.

        A body that a person edited is never overwritten: the new one is laid beside it as a proposal.
        """
        now = now or times.utc_now()
        if not memories:
            raise NotFoundError("there is nothing to reflect on", hint="`memctl list` shows what there is.")
        ids = [memory.memory_id for memory in memories]
        result: list[Reflected] = []

        def decide(view: View) -> Change:
            reflected, change = reflection(view, ids, title, now)
            result[:] = [reflected]
            return change

        if dry_run:
            decide(self.view())
        else:
            self._apply(decide, now)
        return result[0]


def reflection(view: View, ids: Sequence[str], title: str, now: datetime) -> tuple[Reflected, Change]:
    """Write or refresh the reflection over records: one record's own, or one of its own for many."""
    memories = [view.need(memory_id) for memory_id in ids]
    draft = draft_of(memories, title)
    record = _reflection_record(view, memories, draft, now)
    path = record.summary_md_ref
    before = view.read(path)
    current = reflections.parse(before, path) if before is not None else None
    if current is not None and reflections.hand_edited(current):
        return _proposal(view, record, current, draft, now)
    fields = {
        **adding.front_matter(record),
        **(current.fields if current else {}),
        "sources": list(_sources(record, memories)),
    }
    if current is not None and current.body.strip() == draft.body.strip() and view.get(record.memory_id):
        return Reflected("unchanged", record, path, draft.body), Change("reflect")
    if current is not None:
        fields["updated_at"] = now
    data = reflections.render_generated(fields, draft.body)
    outcome = "refreshed" if current else "written"
    change = Change("reflect", (record,), files=(FileEdit(path, before, data),))
    return Reflected(outcome, record, path, draft.body), change


def _sources(record: Memory, memories: Sequence[Memory]) -> tuple[str, ...]:
    return record.sources or tuple(memory.memory_id for memory in memories if memory.memory_id != record.memory_id)


def _reflection_record(view: View, memories: Sequence[Memory], draft: Draft, now: datetime) -> Memory:
    if len(memories) == 1:
        memory = memories[0]
        return replace(memory, summary_md_ref=reflection_path(memory))
    ids = tuple(sorted(memory.memory_id for memory in memories))
    held = next(
        (m for m in view.all() if m.kind == "knowledge" and tuple(sorted(m.sources)) == ids and m.summary_md_ref), None
    )
    if held:
        return replace(held, content=draft.summary, updated_at=now)
    categories = [memory.category for memory in memories]
    new_id = view.new_id(now)
    return Memory(
        memory_id=new_id,
        content=draft.summary,
        kind="knowledge",
        category=max(sorted(set(categories)), key=categories.count),
        tags=("reflection",),
        confidence=round(sum(memory.confidence for memory in memories) / len(memories), 2),
        source="reflection",
        created_at=now,
        sources=tuple(memory.memory_id for memory in memories),
        summary_md_ref=reflections.path_for(new_id),
    )


def _proposal(view: View, record: Memory, current: Reflection, draft: Draft, now: datetime) -> tuple[Reflected, Change]:
    path = current.path.removesuffix(".md") + ".proposed.md"
    before = view.read(path)
    fields = {**adding.front_matter(record), "updated_at": now}
    if before is not None and reflections.parse(before, path).body.strip() == draft.body.strip():
        return Reflected("proposed", record, path, draft.body), Change("reflect")
    data = reflections.render_generated(fields, draft.body)
    return Reflected("proposed", record, path, draft.body), Change("reflect", files=(FileEdit(path, before, data),))


def with_detail(
    view: View, puts: Sequence[Memory], memory: Memory, text: str, *, add: bool = True
) -> tuple[list[Memory], list[FileEdit]]:
    """Write a record's own Markdown and link it.

    Args:
        add: keep what is there and put the text below it; replace it otherwise.
    """
    path = reflection_path(memory)
    linked = replace(memory, summary_md_ref=path)
    before = view.read(path)
    present = reflections.parse(before, path) if before else None
    fields = {**adding.front_matter(linked), **(present.fields if present else {})}
    fields.pop("generated_hash", None)
    if add and present and text.strip() not in present.body:
        text = f"{present.body.rstrip()}\n\n{text.lstrip()}"
    elif add and present:
        text = present.body
    others = [put for put in puts if put.memory_id != memory.memory_id]
    return [*others, linked], [FileEdit(path, before, reflections.render(fields, text))]


def reflection_path(memory: Memory) -> str:
    """Where a record's reflection lies, or will lie."""
    named = memory.summary_md_ref
    return named if reflections.is_reference(named) else reflections.path_for(memory.memory_id)

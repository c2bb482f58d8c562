"""What each use case changes, given the memories as they are under the lock: functions from a `View` to a `Change`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memctl.entries import memory_of, reflection_memory
from memctl.errors import ConflictError, MemctlError, RefusedError
from memctl.files import receipts, reflections
from memctl.files.erase import tombstones
from memctl.files.layout import UserFolder
from memctl.gateway import View
from memctl.lifecycle import adding, forgetting
from memctl.lifecycle.adding import ADDED, MENTIONED, SKIPPED, Added
from memctl.lifecycle.reflect import Draft
from memctl.lifecycle.reflect import draft as draft_of
from memctl.models import ACTIVE, Change, FileEdit, Memory, Reflection
from memctl.sync import FUSE_LEAST, FUSE_SHARE

MAINTENANCE = "maintenance"
"""Command name of changes memctl makes by itself (moving what has expired); `undo` steps over them."""

COUNTED = ".memctl/state/counted"
"""File that holds the last receipt whose uses are in `memory.json`."""

NewId = Callable[[datetime, datetime], str]


def add_one(
    view: View, memory: Memory, given: frozenset[str], allow_duplicate: bool, now: datetime
) -> tuple[list[Memory], Added]:
    """A stated fact with a key updates; the same text is counted, and takes what is `given` with it; else it is new."""
    if memory.key:
        return adding.stated(memory, view.with_key(memory.category, memory.key), now)
    same = [] if allow_duplicate else [m for m in view.same_text(memory.content) if m.status == ACTIVE and not m.key]
    if same:
        again = adding.mention(same[0], now, memory, given)
        return [again], Added(MENTIONED, again)
    return [memory], Added(ADDED, memory)


def add_many(
    view: View, batch: Sequence[Memory], own_ids: frozenset[str], allow_duplicate: bool, now: datetime
) -> tuple[list[Memory], list[Added]]:
    """As `add_one` for a whole batch, whose members may repeat one another; imports with ids are kept once each.

    Args:
        own_ids: ids that came with their records, which are therefore kept as they are.
    """
    puts: dict[str, Memory] = {}
    by_text: dict[str, str] = {}
    imported: set[tuple[str, str]] = set()
    results = []
    for memory in batch:
        added, changed = _add_to(
            view, memory, puts, by_text, imported, allow_duplicate or memory.memory_id in own_ids, now
        )
        puts |= {m.memory_id: m for m in changed}
        results.append(added)
    return list(puts.values()), results


def _add_to(
    view: View,
    memory: Memory,
    puts: dict[str, Memory],
    by_text: dict[str, str],
    imported: set[tuple[str, str]],
    as_it_is: bool,
    now: datetime,
) -> tuple[Added, list[Memory]]:
    if taken := puts.get(memory.memory_id) or view.get(memory.memory_id):
        if taken.content == memory.content:
            return Added(SKIPPED, taken), []
        raise RefusedError(
            f"the id {memory.memory_id} is taken by another memory; nothing was imported",
            hint="Leave `memory_id` out to get new ids, or `memctl forget` the old one first.",
        )
    if memory.external_id:
        identity = (memory.external_id, memory.content)
        if identity in imported or any(m.content == memory.content for m in view.imported(memory.external_id)):
            return Added(SKIPPED, memory), []
        imported.add(identity)
    if memory.key and memory.status == ACTIVE and not as_it_is:
        known = {m.memory_id: m for m in view.with_key(memory.category, memory.key)}
        known |= {m.memory_id: m for m in puts.values() if (m.category, m.key) == (memory.category, memory.key)}
        changed, added = adding.stated(memory, list(known.values()), now)
        return added, changed
    if not as_it_is and not memory.external_id:
        if earlier := by_text.get(memory.content):
            again = adding.mention(puts[earlier], now)
            return Added(MENTIONED, again), [again]
        if same := [m for m in view.same_text(memory.content) if m.status == ACTIVE]:
            again = adding.mention(puts.get(same[0].memory_id, same[0]), now)
            return Added(MENTIONED, again), [again]
        by_text[memory.content] = memory.memory_id
    return Added(ADDED, memory), [memory]


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


def check_body(view: View, memory: Memory, expected: str | None) -> None:
    """Refuse to replace a reflection that is not what its new text was made from."""
    present = view.reflection(reflection_path(memory)) if expected is not None else None
    if present is not None and expected is not None and present.body.strip() != expected.strip():
        raise ConflictError(f"{present.path} was changed by someone else in the meantime")


def reflection_path(memory: Memory) -> str:
    """Where a record's reflection lies, or will lie."""
    named = memory.summary_md_ref
    return named if reflections.is_reference(named) else reflections.path_for(memory.memory_id)


def with_details(view: View, puts: Sequence[Memory], details: Mapping[str, str]) -> tuple[list[Memory], list[FileEdit]]:
    """As `with_detail`, for many new records at once."""
    done: list[Memory] = []
    files: list[FileEdit] = []
    for memory in puts:
        if memory.memory_id in details:
            linked, edits = with_detail(view, [memory], memory, details[memory.memory_id])
            done += linked
            files += edits
        else:
            done.append(memory)
    return done, files


def replaced(view: View, changed: Memory, expected: Memory | None, read_at: datetime | None, command: str) -> Change:
    """A record changed by hand, if it is still what the change was made from.

    Args:
        expected: the record then; where that is not known, `read_at`, its `updated_at` then, must do.
    """
    present = view.need(changed.memory_id)
    if present != expected if expected is not None else present.updated_at != read_at:
        raise ConflictError(
            f"{changed.memory_id} was changed by someone else in the meantime",
            hint="Nothing was changed; your draft is kept. Look at it with `memctl show`, then try again.",
        )
    return Change(command, (changed,))


def to_trash(command: str, view: View, memories: Sequence[Memory], reason: str, now: datetime) -> Change:
    """Move records to the trash, and the reflections nothing else refers to."""
    going = {memory.memory_id for memory in memories}
    files: list[FileEdit] = []
    for memory in memories:
        own = _own_reflection(view, memory, going)
        in_trash = view.read(forgetting.trash_path(memory.memory_id))
        files += forgetting.to_trash(memory, own, in_trash, reason, now)
    return Change(
        command, removes=tuple(dict.fromkeys(memory.memory_id for memory in memories)), files=tuple(_once(files))
    )


def _own_reflection(view: View, memory: Memory, going: set[str]) -> bytes | None:
    path = memory.summary_md_ref
    if not reflections.is_reference(path) or not view.referring(path) <= going:
        return None
    try:
        return view.read(memory.summary_md_ref)
    except MemctlError:
        return None


def _once(files: Sequence[FileEdit]) -> list[FileEdit]:
    return list({file.path: file for file in files}.values())


def housekeeping(view: View, now: datetime, new_id: NewId) -> Change:
    """What every write does first: expired memories go to the trash, reflections written by hand get a record."""
    expired = [memory_of(entry) for entry in view.index.expired(now)]
    trash = to_trash(MAINTENANCE, view, expired, forgetting.EXPIRED, now)
    adopted, files = adoptions(view, now, new_id)
    return Change(MAINTENANCE, tuple(adopted), trash.removes, (*trash.files, *files))


def adoptions(view: View, now: datetime, new_id: NewId) -> tuple[list[Memory], list[FileEdit]]:
    """Records of the reflections that have none, and the ids written into those files.

    A reflection that names a forgotten or purged record is left alone: its record must not come back by it.
    """
    adopted: list[Memory] = []
    files: list[FileEdit] = []
    buried = tombstones(view.header)
    for orphan in view.orphans():
        record = adopt(orphan, new_id(now, now), now)
        gone = record.memory_id in buried or view.read(forgetting.trash_path(record.memory_id)) is not None
        if not gone and adding.can_be_stored(record):
            adopted.append(record)
            files += name_record(view, orphan, record)
    return adopted, files


def adopt(reflection: Reflection, new_id: str, now: datetime) -> Memory:
    """The record of a reflection that was written by hand."""
    seen = reflection_memory(reflection)
    return replace(
        seen,
        memory_id=reflection.memory_id or new_id,
        layer="L2",
        content=reflection.title,
        source="reflection",
        created_at=seen.created_at or now,
        summary_md_ref=reflection.path,
    )


def name_record(view: View, reflection: Reflection, memory: Memory) -> list[FileEdit]:
    """Write the record's id into a reflection that names none; its text stays as it is."""
    if reflection.memory_id:
        return []
    before = view.read(reflection.path) or b""
    return [FileEdit(reflection.path, before, reflections.with_memory_id(before, memory.memory_id))]


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


def reflection(view: View, ids: Sequence[str], title: str, new_id: str, now: datetime) -> tuple[Reflected, Change]:
    """Write or refresh the reflection over records: one record's own, or one of its own for many."""
    memories = [view.need(memory_id) for memory_id in ids]
    draft = draft_of(memories, title)
    record = _reflection_record(view, memories, draft, new_id, now)
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


def _reflection_record(view: View, memories: Sequence[Memory], draft: Draft, new_id: str, now: datetime) -> Memory:
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


def counted_uses(view: View, folder: UserFolder) -> tuple[dict[str, Memory], tuple[FileEdit, ...]]:
    """Records with the uses that receipts tell of added to their counts, and the note of how far was counted."""
    before = view.read(COUNTED)
    new = uncounted(view, folder)
    if not new:
        return {}, ()
    used: dict[str, Memory] = {}
    for receipt in new:
        for memory_id in receipt.used:
            if memory := used.get(memory_id) or view.get(memory_id):
                last = max(filter(None, (memory.last_accessed_at, receipt.at)))
                used[memory_id] = replace(memory, access_count=memory.access_count + 1, last_accessed_at=last)
    return used, (FileEdit(COUNTED, before, new[-1].receipt.encode() + b"\n"),)


def uncounted(view: View, folder: UserFolder) -> Sequence[receipts.Receipt]:
    """Receipts whose uses are not in `memory.json` yet."""
    last = (view.read(COUNTED) or b"").decode("utf-8", "replace").strip()
    written = list(receipts.read(folder.receipts))
    position = next((at for at, receipt in enumerate(written) if receipt.receipt == last), -1)
    return written[position + 1 :]


def check_fuse(going: int, active: int, allowed: bool) -> None:
    """Refuse to archive more than a quarter of the memories at once without being told to."""
    if active >= FUSE_LEAST and going > FUSE_SHARE * active and not allowed:
        raise RefusedError(
            f"{going} of {active} memories would be archived at once; nothing was changed",
            hint="Look at them with `memctl decay --dry-run`; go on with --allow-mass-change.",
        )

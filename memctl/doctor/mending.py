"""Mending what is safe to mend."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from memctl.core import times
from memctl.core.formats import document, reflections
from memctl.core.formats.document import tombstones
from memctl.core.models import Change, Memory, Problem
from memctl.doctor import hand_edits, transcripts
from memctl.doctor.codes import (
    CHANGED_ID,
    FORM,
    GONE,
    INCOMPLETE,
    INDEX,
    LEFTOVER,
    MISSING_REFLECTION,
    NAME,
    ORPHAN,
    PERMISSION,
    PURGED,
    REPEATED,
    SESSION,
    UNREADABLE,
)
from memctl.doctor.examining import examine
from memctl.doctor.memory_file import trashed_ids
from memctl.storage.files import atomic, backups, layout
from memctl.storage.files import transcripts as files
from memctl.storage.folder import housekeeping, sync
from memctl.storage.folder.view import FolderView
from memctl.store import MemoryStore

_ROUNDS = 5
"""What is mended can make clear what was not, such as which record a changed id belongs to; so `mend` looks again."""


def mend(store: MemoryStore, problems: Sequence[Problem], now: datetime | None = None) -> list[Problem]:
    """Mend what has a `fix`, and what turns out to have one then.

    What it changes of the user's files is first copied to a backup (`files.backups`). Every change is an operation that
    `undo` takes back, but for sessions, which have no log.

    Returns:
        the problems that were mended.
    """
    now = now or times.utc_now()
    keep = backups.keeper(store.folder, now)
    done: list[Problem] = []
    for _ in range(_ROUNDS):
        mended = _mend_once(store, problems, keep, now)
        if not mended:
            break
        done += mended
        known = set(done)
        problems = [problem for problem in examine(store) if problem not in known]
    return done


def _mend_once(store: MemoryStore, problems: Sequence[Problem], keep: backups.Keep, now: datetime) -> Sequence[Problem]:
    if gone := [problem for problem in problems if problem.code == GONE]:
        _bring_back(store)
        return gone
    fixable = [problem for problem in problems if problem.fix]
    if any(problem.code == UNREADABLE for problem in problems):
        fixable = [problem for problem in fixable if problem.code in _APART]
    codes = {problem.code for problem in fixable}
    for concerned, decide in _CHANGES:
        if codes & concerned:
            store.engine.files.gateway.apply(_keeping(decide, keep, now), now)
    if codes & transcripts.REPAIRED:
        transcripts.repair(store.folder, codes, timeout=store.settings.lock_timeout)
    for problem in fixable:
        if problem.code == SESSION:
            hand_edits.mend_session(store.folder, problem, keep, timeout=store.settings.lock_timeout)
        elif action := _SMALL_FIXES.get(problem.code):
            action(store, problem)
    return fixable


_APART = {PERMISSION, LEFTOVER, INDEX, SESSION, *transcripts.REPAIRED}
"""Findings that can be repaired while `memory.json` cannot be read."""


def _keeping(
    decide: Callable[[FolderView, datetime], Change], keep: backups.Keep, now: datetime
) -> Callable[[FolderView], tuple[Change, None]]:
    """The decision, and copies of the files it concerns."""

    def kept(view: FolderView) -> tuple[Change, None]:
        change = decide(view, now)
        paths = {file.name: file.before for file in change.texts}
        if change.puts or change.removes or change.header is not None:
            paths[document.FILE_NAME] = view.read(document.FILE_NAME)
        for path, data in paths.items():
            if data is not None:
                keep(path, data)
        return change, None

    return kept


def _followed(view: FolderView, now: datetime) -> Change:
    parsed = document.parse(view.read(document.FILE_NAME) or b"")
    gone = tombstones(parsed.header) | trashed_ids(view.folder)
    return hand_edits.followed(view, hand_edits.changed_ids(view, parsed, gone))


def _completed(view: FolderView, now: datetime) -> Change:
    """Write down ids and dates left out, take out references to files that are gone, make records of reflections."""
    adopted, files = housekeeping.adoptions(view, now)
    moved, moves = housekeeping.followings(view, set())
    references = housekeeping.relinks(view) | {memory.memory_id: memory.summary_md_ref for memory in moved}
    path = view.folder.memory_file
    dated = datetime.fromtimestamp(int(path.stat().st_mtime), UTC) if path.exists() else now
    puts = []
    for memory in view.all():
        found = view.index.raws(document.FILE_NAME, [memory.memory_id])[memory.memory_id]
        whole = _complete(view, memory, dated)
        whole = replace(whole, summary_md_ref=references.get(memory.memory_id, whole.summary_md_ref))
        if whole != memory or hand_edits.has_no_id(found):
            puts.append(whole)
    return Change("doctor --fix", (*puts, *adopted), texts=(*files, *moves))


def _plain_dates(view: FolderView, now: datetime) -> Change:
    memories, raws = hand_edits.plain_dates(view)
    return Change("doctor --fix", tuple(memories), raws=raws)


def _complete(view: FolderView, memory: Memory, dated: datetime) -> Memory:
    there = reflections.is_reference(memory.summary_md_ref) and (view.folder.root / memory.summary_md_ref).exists()
    return replace(
        memory,
        created_at=memory.created_at or dated,
        summary_md_ref=memory.summary_md_ref if there else "",
    )


def _bring_back(store: MemoryStore) -> None:
    """Write `memory.json` from what the index knows of it, unless somebody brings it back in this moment."""
    with store.engine.files.gateway.locked():
        atomic.create(store.folder.memory_file, sync.last_good(store.folder, store.engine.files.index))


def _make_private(store: MemoryStore, problem: Problem) -> None:
    layout.ensure_private(store.folder)
    path = store.folder.root / problem.path
    if path == store.folder.transcripts:
        with files.locked(store.folder, timeout=store.settings.lock_timeout):
            files.ensure_private(store.folder)
    if path.exists():
        with atomic.writing(path):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)


def _delete(store: MemoryStore, problem: Problem) -> None:
    with store.engine.files.gateway.locked():
        atomic.remove(store.folder.root / problem.path)


_SMALL_FIXES: Mapping[str, Callable[[MemoryStore, Problem], object]] = {
    PERMISSION: _make_private,
    LEFTOVER: _delete,
    INDEX: lambda store, problem: store.reindex(),
}

_CHANGES: tuple[tuple[set[str], Callable[[FolderView, datetime], Change]], ...] = (
    ({REPEATED, PURGED}, hand_edits.without_repeats),
    ({CHANGED_ID}, _followed),
    ({FORM}, _plain_dates),
    ({INCOMPLETE, MISSING_REFLECTION, ORPHAN}, _completed),
    ({NAME}, lambda view, now: hand_edits.renamed_user(view)),
)
"""What mends which findings, in this order: an id must be one record's before it can be followed."""

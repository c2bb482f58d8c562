"""Looking for what is wrong in a user's folder, explaining it with file and line, and mending what is safe to mend."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from memctl import hand_edits, housekeeping, secrets, sync, times
from memctl.errors import InvalidDataError
from memctl.files import atomic, backups, document, knowledge, layout, lock, reflections
from memctl.files.document import tombstones
from memctl.files.erase import temporary_files
from memctl.files.layout import UserFolder
from memctl.gateway import View
from memctl.hand_edits import CHANGED_ID, FORM, NAME, SESSION, ChangedId
from memctl.index.sqlite import SqliteIndex
from memctl.models import Change, Memory, Problem
from memctl.store import MemoryStore

UNREADABLE = "unreadable"
GONE = "gone"
BAD_RECORD = "bad-record"
REPEATED = "repeated-id"
PURGED = "purged"
INCOMPLETE = "incomplete"
DANGLING = "dangling"
ORPHAN = "orphan"
MISSING_REFLECTION = "missing-reflection"
PERMISSION = "permission"
LEFTOVER = "leftover"
LOCKED = "locked"
WAITING = "waiting"
INDEX = "index"
KIND = "kind"
SECRET = "secret"

BROKEN = frozenset({UNREADABLE, GONE, BAD_RECORD, REPEATED, PURGED, KIND})
"""Findings because of which a memory is not in any answer, or cannot be written."""


def examine(store: MemoryStore, *, deep: bool = False) -> list[Problem]:
    """Everything that is wrong, in the order of the files."""
    report = store.sync(deep=deep)
    readable = not report.blocked
    found = [
        *_memory_file(store, readable),
        *_reflections(store, orphans=readable),
        *_unread(store.folder),
        *_kinds(store.folder),
        *hand_edits.session_files(store.folder),
        *_secrets(store),
        *_permissions(store.folder),
        *_leftovers(store.folder),
        *_locks(store.folder),
    ]
    if report.blocked and not any(problem.code in (UNREADABLE, GONE) for problem in found):
        found.insert(0, Problem(document.FILE_NAME, report.blocked.message, code=UNREADABLE))
    if report.pending:
        found.append(
            Problem("index", f"{report.pending} entries have no vector: {report.pending_reason}", code=WAITING)
        )
    return [*found, *_index(store, deep=deep)]


# memory.json


def _memory_file(store: MemoryStore, indexed: bool) -> Iterator[Problem]:
    """What is wrong with `memory.json`; `indexed`: whether the index holds what it says."""
    folder = store.folder
    data = atomic.read(folder.memory_file)
    if data is None:
        yield _missing(store)
        return
    try:
        parsed = document.parse(data)
    except InvalidDataError as problem:
        yield Problem(document.FILE_NAME, problem.reason, problem.line, code=UNREADABLE, column=problem.column)
        return
    changed = _changed_ids(store, parsed) if indexed else []
    yield from hand_edits.user_name(folder, parsed)
    moved = housekeeping.relinks(store.view()) if indexed else {}
    yield from _records(folder, parsed, {each.old for each in changed}, moved)
    for each in changed:
        message = f"{each.new} was called {each.old} before, and something still names it so"
        yield Problem(document.FILE_NAME, message, each.line, "let that follow", CHANGED_ID)
    yield from hand_edits.dates(parsed)


def _missing(store: MemoryStore) -> Problem:
    many = len(store.index.hashes(document.FILE_NAME))
    if not many:
        return Problem(document.FILE_NAME, "is missing", code=INCOMPLETE, fix="write an empty one")
    message = f"is gone; the index still knows its {'1 memory' if many == 1 else f'{many} memories'}"
    return Problem(document.FILE_NAME, message, code=GONE, fix="write them again")


def _changed_ids(store: MemoryStore, parsed: document.Document) -> list[ChangedId]:
    return hand_edits.changed_ids(store.view(), parsed, tombstones(parsed.header) | _trashed_ids(store.folder))


def _records(
    folder: UserFolder, parsed: document.Document, followed: set[str], moved: Mapping[str, str]
) -> Iterator[Problem]:
    """What is wrong with the records.

    Args:
        followed: ids of which it is known what has become of them.
        moved: where the reflections of some records are now.
    """
    seen: dict[str, document.RawRecord] = {}
    buried = tombstones(parsed.header)
    known = set(parsed.memories) | buried | _trashed_ids(folder) | followed
    for record in parsed.records:
        if record.memory is None:
            yield Problem(document.FILE_NAME, record.problem, record.line, code=BAD_RECORD)
            continue
        yield from _one_record(record, record.memory, seen, buried)
        yield from _reference(folder, record.memory, record.line, moved)
        yield from _relations(record.memory, record.line, known)
        seen.setdefault(record.memory.memory_id, record)


def _one_record(
    record: document.RawRecord, memory: Memory, seen: Mapping[str, document.RawRecord], buried: set[str]
) -> Iterator[Problem]:
    name, line = memory.memory_id, record.line
    if name in buried:
        yield Problem(document.FILE_NAME, f"{name} was purged and is back", line, "remove it again", PURGED)
    elif name in seen:
        same = seen[name].memory == memory
        fix = "remove the copy" if same else "give the later one a new id"
        yield Problem(document.FILE_NAME, f"{name} stands twice (first in line {seen[name].line})", line, fix, REPEATED)
    if hand_edits.has_no_id(record.raw):
        yield Problem(document.FILE_NAME, "a record has no memory_id", line, f"write {name} into it", INCOMPLETE)
    elif memory.created_at is None:
        yield Problem(document.FILE_NAME, f"{name} has no date", line, "write the file's date into it", INCOMPLETE)


def _reference(folder: UserFolder, memory: Memory, line: int, moved: Mapping[str, str]) -> Iterator[Problem]:
    """A reflection that is not where the record says; where it was moved to is told with the file."""
    reference = memory.summary_md_ref
    if memory.memory_id in moved:
        return
    if reference and not reflections.is_reference(reference):
        message = f"{memory.memory_id}: summary_md_ref {reference!r} is not a file below reflections/"
        yield Problem(document.FILE_NAME, message, line, "take the reference out", MISSING_REFLECTION)
    elif reference and not (folder.root / reference).exists():
        message = f"{memory.memory_id} refers to {reference}, which is missing"
        yield Problem(document.FILE_NAME, message, line, "take the reference out", MISSING_REFLECTION)


def _relations(memory: Memory, line: int, known: set[str]) -> Iterator[Problem]:
    """Other records that a record names, and that are not there."""
    named = (*memory.supersedes, *memory.conflicts_with, *memory.sources, memory.superseded_by)
    for other in named:
        if other and other not in known:
            message = (
                f"{memory.memory_id} refers to {other}, which is in no file (nothing to do if it was removed by hand)"
            )
            yield Problem(document.FILE_NAME, message, line, code=DANGLING)


def _trashed_ids(folder: UserFolder) -> set[str]:
    if not folder.trash.is_dir():
        return set()
    texts = ((atomic.read(path) or b"").decode("utf-8", "replace") for path in folder.trash.glob("*.json"))
    return {part.split('"', 1)[0] for text in texts for part in text.split('"memory_id": "')[1:]}


# Other files


def _reflections(store: MemoryStore, *, orphans: bool) -> Iterator[Problem]:
    for state in store.index.files().values():
        if state.path != document.FILE_NAME and not state.readable:
            line, reason = _place(state.path, state.problem)
            yield Problem(state.path, f"{reason} (left as it is, not in answers)", line, code=BAD_RECORD)
    yield from _without_record(store.view()) if orphans else ()
    for found in store.index.misnamed() if orphans else ():
        if len(owners := store.view().referring(found.path)) == 1:
            message = f"names {found.memory_id}, but it is {next(iter(owners))} that refers to it"
            yield Problem(found.path, message, 0, "let it follow its record", ORPHAN)
    for path in (*store.folder.reflections.rglob("*.md"), *_in_knowledge(store.folder)):
        if any("\ud800" <= character <= "\udfff" for character in path.name):
            name = str(path.relative_to(store.folder.root))
            yield Problem(name, "is left out: its name is not valid UTF-8; rename it", code=BAD_RECORD)
    for path in sorted(store.folder.reflections.rglob("*.proposed.md")):
        name = str(path.relative_to(store.folder.root))
        yield Problem(name, "is a proposal for a reflection you edited: merge it by hand, then delete it", code=WAITING)


def _without_record(view: View) -> Iterator[Problem]:
    """Reflections that no record refers to."""
    for orphan in view.orphans():
        if reason := housekeeping.obstacle(view, orphan, housekeeping.adopt(orphan, "mem", datetime.now(UTC))):
            yield Problem(orphan.path, reason, code=WAITING)
        else:
            yield Problem(orphan.path, "is a reflection that no record refers to", 0, "make its record", ORPHAN)
    linked = housekeeping.relinks(view)
    for found in view.index.unreferred():
        name = found.memory_id
        if name in linked:
            message = f"names {name}, which does not refer to it"
            yield Problem(found.path, message, 0, f"let {name} refer to it", ORPHAN)
        else:
            own = view.need(name).summary_md_ref if housekeeping.has_reflection(view, name) else "named by others, too"
            message = (
                f"names {name}, whose reflection is {own}; delete it, or take the `memory_id` out to make it a memory"
            )
            yield Problem(found.path, message, code=WAITING)


def _in_knowledge(folder: UserFolder) -> list[Path]:
    return _visible(folder.knowledge)


def _visible(place: Path) -> list[Path]:
    """The files below a folder, without hidden ones and what editors leave."""
    files = (path for path in sorted(place.rglob("*")) if not path.is_dir() or path.is_symlink())
    seen = [path for path in files if not any(p.startswith(".") for p in path.relative_to(place).parts)]
    return [path for path in seen if not hand_edits.LITTER.search(path.name)]


_LIKE_MARKDOWN = {".md", ".markdown", ".mdown", ".txt", ".text", ""}
"""Endings of files that somebody may take for reflections; others, such as pictures, lie there on purpose."""


def _unread(folder: UserFolder) -> Iterator[Problem]:
    """Files below `reflections/` and `knowledge/` that are there in vain."""
    for path in _visible(folder.reflections):
        if path.suffix.lower() in _LIKE_MARKDOWN and path.suffix != ".md":
            name = path.relative_to(folder.root).as_posix()
            yield Problem(name, "is not read: the name of a reflection ends in .md", code=WAITING)
    for path in _in_knowledge(folder):
        name = path.relative_to(folder.root).as_posix()
        if not knowledge.is_document(name):
            message = "is no Markdown or text, and is not read; `memctl knowledge add` converts what it can"
            yield Problem(name, message, code=WAITING)


def _kinds(folder: UserFolder) -> Iterator[Problem]:
    """Links, pipes and folders where files have to be, and the other way round: to write there is refused."""
    for path in (folder.feedback_log, folder.operations, folder.receipts, folder.lock):
        if path.is_symlink() or (path.exists() and not path.is_file()):
            name = path.relative_to(folder.root).as_posix()
            yield Problem(
                name, "is not a regular file, as it has to be: put the real file there, or delete it", code=KIND
            )
    for path in (folder.reflections, folder.knowledge, folder.sessions):
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            name = path.relative_to(folder.root).as_posix()
            yield Problem(name, "is not a folder, as it has to be: put the real folder there, or delete it", code=KIND)


def _place(path: str, problem: str) -> tuple[int, str]:
    """Take `path:line:column: reason` apart."""
    rest = problem.removeprefix(path).lstrip(":")
    head, _, tail = rest.partition(":")
    if head.strip().isdigit():
        column, _, reason = tail.partition(":")
        return int(head), (reason if column.strip().isdigit() else tail).strip()
    return 0, rest.strip()


def _secrets(store: MemoryStore) -> Iterator[Problem]:
    """Likely secrets in files that people edit or put into git; one that somebody insisted on is told too."""
    if store.settings.secrets == secrets.ALLOW:
        return
    root = store.folder.root
    visible = (path for path in root.rglob("*") if not any(p.startswith(".") for p in path.relative_to(root).parts))
    for place in secrets.in_files(sorted(path for path in visible if path.is_file() and not path.is_symlink())):
        name = Path(place.path).relative_to(root).as_posix()
        what = f"holds what looks like {place.kind} (leave it if it is meant)" if place.line else place.kind
        yield Problem(name, what, place.line, code=SECRET, column=place.column)


def _permissions(folder: UserFolder) -> Iterator[Problem]:
    inside = (folder.memory_file, folder.state, folder.operations, folder.receipts)
    # Into a folder that is its owner's alone nobody gets, whatever git makes of the files in it.
    for path in (folder.root, *inside) if _open_to_others(folder.root) else ():
        if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
            name = str(path.relative_to(folder.root)) if path != folder.root else "."
            yield Problem(name, f"can be read by others (mode {mode:o})", 0, "make it private", PERMISSION)
    if folder.private.is_dir() and not (folder.private / ".gitignore").exists():
        yield Problem(".memctl", "is not kept out of git", 0, "write .memctl/.gitignore", PERMISSION)


def _open_to_others(path: Path) -> bool:
    return stat.S_IMODE(path.stat().st_mode) & 0o077 != 0


def _leftovers(folder: UserFolder) -> Iterator[Problem]:
    for path in temporary_files(folder):
        name = str(path.relative_to(folder.root))
        yield Problem(name, "was left behind by an interrupted write", 0, "delete it", LEFTOVER)
    if folder.displaced.is_dir():
        for path in sorted(folder.displaced.glob("hand-edit-*")):
            name = str(path.relative_to(folder.root))
            message = "is a hand edit that was saved while memctl was writing: compare it, then delete it"
            yield Problem(name, message, code=WAITING)


def _locks(folder: UserFolder) -> Iterator[Problem]:
    """Locks that somebody holds, and those that another machine has left."""
    stripes = sorted(folder.session_locks.glob("sessions-??")) if folder.session_locks.is_dir() else []
    for path in (folder.lock, *stripes):
        if told := lock.examine(path):
            yield Problem(str(path.relative_to(folder.root)), told, code=LOCKED)


def _index(store: MemoryStore, *, deep: bool) -> Iterator[Problem]:
    fix = "make the index anew"
    if damage := store.index.check():
        yield Problem("index", damage, 0, fix, INDEX)
    elif deep and (difference := _difference(store)):
        yield Problem("index", difference, 0, fix, INDEX)


def _difference(store: MemoryStore) -> str:
    """How the index differs from one made anew; empty when it does not."""
    with tempfile.TemporaryDirectory() as directory:
        fresh = SqliteIndex(Path(directory) / "index.sqlite")
        try:
            sync.sync(store.folder, fresh, None)
            mine, theirs = _contents(store.index), _contents(fresh)
        finally:
            fresh.close()
    wrong = sorted(key for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key))
    unreadable = {path for path, state in store.index.files().items() if not state.readable}
    wrong = [key for key in wrong if key[0] not in unreadable]
    return f"{len(wrong)} entries differ from the files, {wrong[0][1] or wrong[0][0]} first" if wrong else ""


def _contents(index: SqliteIndex) -> dict[tuple[str, str], str]:
    return {(path, ref): found for path in index.files() for ref, found in index.hashes(path).items()}


# Mending


def mend(store: MemoryStore, problems: Sequence[Problem], now: datetime | None = None) -> list[Problem]:
    """Mend what has a `fix`.

    What it changes of the user's files is first copied to a backup (`files.backups`). Every change is an operation that
    `undo` takes back, but for sessions, which have no log.

    Returns:
        the problems that were mended.
    """
    now = now or times.utc_now()
    if gone := [problem for problem in problems if problem.code == GONE]:
        _bring_back(store)
        return [*gone, *mend(store, examine(store), now)]
    fixable = [problem for problem in problems if problem.fix]
    if any(problem.code == UNREADABLE for problem in problems):
        fixable = [problem for problem in fixable if problem.code in (PERMISSION, LEFTOVER, INDEX, SESSION)]
    codes = {problem.code for problem in fixable}
    keep = backups.keeper(store.folder, now)
    for concerned, decide in _CHANGES:
        if codes & concerned:
            store.gateway.apply(_keeping(decide, keep, now), now)
    for problem in fixable:
        if problem.code == SESSION:
            hand_edits.mend_session(store.folder, problem, keep, timeout=store.settings.lock_timeout)
        elif action := _SMALL_FIXES.get(problem.code):
            action(store, problem)
    return fixable


def _keeping(decide: Callable[[View, datetime], Change], keep: backups.Keep, now: datetime) -> Callable[[View], Change]:
    """The decision, and copies of the files it concerns."""

    def kept(view: View) -> Change:
        change = decide(view, now)
        paths = {file.path: file.before for file in change.files}
        if change.puts or change.removes or change.header is not None:
            paths[document.FILE_NAME] = view.read(document.FILE_NAME)
        for path, data in paths.items():
            if data is not None:
                keep(path, data)
        return change

    return kept


def _followed(view: View, now: datetime) -> Change:
    parsed = document.parse(view.read(document.FILE_NAME) or b"")
    gone = tombstones(parsed.header) | _trashed_ids(view.folder)
    return hand_edits.followed(view, hand_edits.changed_ids(view, parsed, gone))


def _completed(view: View, now: datetime) -> Change:
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
    return Change("doctor --fix", (*puts, *adopted), files=(*files, *moves))


def _plain_dates(view: View, now: datetime) -> Change:
    memories, raws = hand_edits.plain_dates(view)
    return Change("doctor --fix", tuple(memories), raws=raws)


def _complete(view: View, memory: Memory, dated: datetime) -> Memory:
    there = reflections.is_reference(memory.summary_md_ref) and (view.folder.root / memory.summary_md_ref).exists()
    return replace(
        memory,
        created_at=memory.created_at or dated,
        summary_md_ref=memory.summary_md_ref if there else "",
    )


def _bring_back(store: MemoryStore) -> None:
    """Write `memory.json` from what the index knows of it, unless somebody brings it back in this moment."""
    with store.gateway.locked():
        atomic.create(store.folder.memory_file, sync.last_good(store.folder, store.index))


def _make_private(store: MemoryStore, problem: Problem) -> None:
    layout.ensure_private(store.folder)
    path = store.folder.root / problem.path
    if path.exists():
        with atomic.told(path):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)


def _delete(store: MemoryStore, problem: Problem) -> None:
    with store.gateway.locked():
        atomic.remove(store.folder.root / problem.path)


_SMALL_FIXES: Mapping[str, Callable[[MemoryStore, Problem], object]] = {
    PERMISSION: _make_private,
    LEFTOVER: _delete,
    INDEX: lambda store, problem: store.reindex(),
}

_CHANGES: tuple[tuple[set[str], Callable[[View, datetime], Change]], ...] = (
    ({REPEATED, PURGED}, hand_edits.without_repeats),
    ({CHANGED_ID}, _followed),
    ({FORM}, _plain_dates),
    ({INCOMPLETE, MISSING_REFLECTION, ORPHAN}, _completed),
    ({NAME}, lambda view, now: hand_edits.renamed_user(view)),
)
"""What mends which findings, in this order: an id must be one record's before it can be followed."""

"""What is wrong with reflections, documents and whatever else lies in a user's folder."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from memctl.core import sensitive
from memctl.core.formats import document, knowledge
from memctl.core.models import Problem
from memctl.doctor import hand_edits, transcripts
from memctl.doctor.codes import BAD_RECORD, FOREIGN, KIND, LEFTOVER, LOCKED, ORPHAN, PERMISSION, SECRET, WAITING
from memctl.storage.files import local_state, lock, signing
from memctl.storage.files.erase import temporary_files
from memctl.storage.files.layout import UserFolder
from memctl.storage.folder import housekeeping
from memctl.storage.folder.view import FolderView
from memctl.store import MemoryStore


def findings(store: MemoryStore, *, indexed: bool) -> Iterator[Problem]:
    """All of it; `indexed`: whether the index holds what `memory.json` says."""
    yield from _reflections(store, orphans=indexed)
    yield from _unread(store.folder)
    yield from _kinds(store.folder)
    of_sessions = list(hand_edits.session_files(store.folder))
    yield from of_sessions
    yield from transcripts.findings(store.folder)
    yield from _secrets(store)
    yield from _permissions(store.folder)
    yield from _leftovers(store.folder)
    yield from _locks(store.folder)
    told = {problem.path for problem in of_sessions}
    yield from (problem for problem in _foreign(store.folder) if problem.path not in told)


def _reflections(store: MemoryStore, *, orphans: bool) -> Iterator[Problem]:
    for state in store.engine.files.index.files().values():
        if state.path != document.FILE_NAME and not state.readable:
            line, reason = _place(state.path, state.problem)
            yield Problem(state.path, f"{reason} (left as it is, not in answers)", line, code=BAD_RECORD)
    yield from _without_record(store.engine.files.view()) if orphans else ()
    for found in store.engine.files.index.misnamed() if orphans else ():
        if len(owners := store.engine.view().referring(found.path)) == 1:
            message = f"names {found.memory_id}, but it is {next(iter(owners))} that refers to it"
            yield Problem(found.path, message, 0, "let it follow its record", ORPHAN)
    for path in (*store.folder.reflections.rglob("*.md"), *_in_knowledge(store.folder)):
        if any("\ud800" <= character <= "\udfff" for character in path.name):
            name = str(path.relative_to(store.folder.root))
            yield Problem(name, "is left out: its name is not valid UTF-8; rename it", code=BAD_RECORD)
    for path in sorted(store.folder.reflections.rglob("*.proposed.md")):
        name = str(path.relative_to(store.folder.root))
        yield Problem(name, "is a proposal for a reflection you edited: merge it by hand, then delete it", code=WAITING)


def _without_record(view: FolderView) -> Iterator[Problem]:
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
    for path in (folder.reflections, folder.knowledge, folder.sessions, folder.transcripts):
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
    if store.settings.secrets == sensitive.ALLOW:
        return
    root = store.folder.root
    visible = (path for path in root.rglob("*") if not any(p.startswith(".") for p in path.relative_to(root).parts))
    for place in sensitive.in_files(sorted(path for path in visible if path.is_file() and not path.is_symlink())):
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


def _foreign(folder: UserFolder) -> Iterator[Problem]:
    """What this machine's user did not write, and a key that others can read."""
    by_path = Counter(entry.path for entry in local_state.unverified(folder))
    for path, number in by_path.items():
        what = "was" if path.endswith(".json") else f"has {number} entries that were"
        message = f"{what} not written by this user on this machine, and is ignored (`memctl state` shows it)"
        yield Problem(path, message, code=FOREIGN)
    key = folder.signer.key_file
    if key.is_file() and not signing.private(key) and key == signing.key_file({}):
        yield Problem(str(key), "can be read by others: `chmod 600` it", code=PERMISSION)


def _locks(folder: UserFolder) -> Iterator[Problem]:
    """Locks that somebody holds, and those that another machine has left."""
    stripes = sorted(folder.session_locks.glob("sessions-??")) if folder.session_locks.is_dir() else []
    for path in (folder.lock, *stripes, folder.session_locks / "transcripts"):
        if told := lock.examine(path):
            yield Problem(str(path.relative_to(folder.root)), told, code=LOCKED)

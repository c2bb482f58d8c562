"""What was: the memories as they were, from the log and from git, and what is different since."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memctl.core import times
from memctl.core.formats import document
from memctl.core.formats.document import tombstones
from memctl.core.kept import KeptMessage
from memctl.core.models import Memory, Query, QueryResult
from memctl.core.selection import Selection
from memctl.errors import NotFoundError, RefusedError, UsageError
from memctl.git import revisions
from memctl.history import as_of, differences, past, restoring, stacks, undoing
from memctl.history.differences import FileChange, MessageChange, RecordChange
from memctl.history.past import FILE, LINE, RECORD, Key, Point, Unsure
from memctl.history.restoring import Restored
from memctl.history.stacks import REDO, UNDO
from memctl.history.states import FEEDBACK, SHARED, Past, present_value
from memctl.history.undoing import Taken
from memctl.memories.asking import Asking
from memctl.storage.files import transcript_scan, transcripts
from memctl.storage.files.journal import Operation
from memctl.storage.folder.housekeeping import MAINTENANCE
from memctl.storage.folder.view import View

LOG = "the log"


@dataclass(frozen=True)
class Differences:
    """What became of the memories since: records, other files, and what cannot be dated."""

    since: Past
    records: tuple[RecordChange, ...]
    files: tuple[FileChange, ...]
    unsure: tuple[RecordChange, ...] = ()
    messages: tuple[MessageChange, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.records or self.files or self.unsure or self.messages)


class History:
    """What was, as `store.history`."""

    def __init__(self, engine: Asking) -> None:
        self._engine = engine

    def operations(self, memory_id: str = "") -> list[Operation]:
        """What was done, oldest first; to one memory, or to all."""
        return self._engine.operations(memory_id)

    def undone(self) -> set[str]:
        """Ids of the operations that a person made and `undo` has taken back."""
        found = stacks.stacks(self._engine.operations(), MAINTENANCE)
        return {step.origin.op for step in (*found.undone, *found.lost)}

    def undo(
        self, count: int = 1, *, before_purge: bool = False, dry_run: bool = False, now: datetime | None = None
    ) -> Taken:
        """Take back the last changes, the newest first, each exactly; stop at the first that cannot be.

        Args:
            before_purge: step over purges, which cannot be taken back.
        """
        return undoing.take_back(self._engine, UNDO, count, before_purge, dry_run, now or times.utc_now())

    def redo(self, count: int = 1, *, dry_run: bool = False, now: datetime | None = None) -> Taken:
        """Take back the last undos, the newest first, each exactly; stop at the first that cannot be."""
        return undoing.take_back(self._engine, REDO, count, False, dry_run, now or times.utc_now())

    def query(self, query: Query, revision: str, *, now: datetime | None = None) -> QueryResult:
        """Ask the memories of a revision (an operation or a commit) the way the present ones are asked.

        The records alone are asked. There is no receipt: what was used then is not used now.
        """
        return as_of.query(self._engine, query, self.past(revision, now=now))

    def select(self, chosen: Selection, revision: str, *, now: datetime | None = None) -> tuple[list[Memory], Past]:
        """Records of a revision that fit, sorted."""
        then = self.past(revision, now=now)
        return as_of.select(self._engine, chosen, then), then

    def restore(self, given: str, revision: str, *, dry_run: bool = False, now: datetime | None = None) -> Restored:
        """Make one memory what it was in a revision: its exact record, and its reflection where the revision has it.

        Raises:
            NotFoundError: the revision does not hold it.
            RefusedError: it was purged; the log cannot tell what it was; or its place was taken by another memory.
        """
        now = now or times.utc_now()
        return restoring.restored(self._engine, given, self.past(revision, now=now), dry_run, now)

    def past(self, revision: str = "", *, now: datetime | None = None) -> Past:
        """The memories as they were.

        Args:
            revision: a time or a span back (`2026-03-01`, `3d`), the id of an operation (right after it), or a git
                revision (`HEAD~2`); empty: git's HEAD where the folder is in git, else right before the last change.

        Raises:
            UsageError: it is none of these.
            NotFoundError: nothing was changed yet.
        """
        now = now or times.utc_now()
        self._engine.refresh()
        if not revision:
            commit = self._head()
            return self._git_past(commit) if commit else self._before_the_last()
        if revision.startswith("op_"):
            return self._operation_past(revision)
        if (moment := _moment(revision, now)) is not None:
            return self._past_at(moment)
        if (commit := revisions.find(self._engine.folder.root, revision)) is None:
            if re.match(r"\d+[-/.]\d", revision):
                times.from_user(revision, now)  # it says what is wrong with a date
            hint = (
                "Give a date, a span such as 3d, an operation (`memctl log --ids`), or a git revision such as HEAD~1."
            )
            raise UsageError(f"{revision!r} is no time, no operation, and no revision that git knows here", hint=hint)
        return self._git_past(commit)

    def _head(self) -> revisions.Commit | None:
        """Git's HEAD; None where git may not be run here: the log answers without it."""
        try:
            return self._commit("HEAD")
        except RefusedError:
            return None

    def _commit(self, revision: str) -> revisions.Commit | None:
        """The commit, if it holds the user's memories."""
        commit = revisions.find(self._engine.folder.root, revision)
        holds = commit and revisions.tree(self._engine.folder.root, commit, [document.FILE_NAME])
        return commit if holds else None

    def _before_the_last(self) -> Past:
        operations = self._engine.operations()
        if not operations:
            raise NotFoundError("nothing was changed yet, so there is nothing to compare with")
        last = len(operations) - 1
        return self._log_past(operations, Point(last, beside=last), past.made(operations[last]))

    def _operation_past(self, given: str) -> Past:
        operations = self._engine.operations()
        found = [at for at, operation in enumerate(operations) if operation.op.startswith(given)]
        if len(found) != 1:
            what = "several operations begin with" if found else "the log holds no operation"
            raise NotFoundError(f"{what} {given!r}", hint="`memctl log --ids` lists what it holds.")
        return self._log_past(operations, Point(found[0] + 1, beside=found[0]), past.made(operations[found[0]]))

    def _past_at(self, moment: datetime) -> Past:
        """From the log as far back as it goes, else from git."""
        operations = self._engine.operations()
        count = max((number for number, op in enumerate(operations, 1) if past.made(op) <= moment), default=0)
        if count:
            return self._log_past(operations, Point(count), moment)
        if (commit := revisions.last_before(self._engine.folder.root, moment)) and self._commit(commit.name):
            return self._git_past(commit)
        if not operations:
            raise NotFoundError("nothing was changed yet, so there is nothing to compare with")
        then = self._log_past(operations, Point(0, beside=0), past.made(operations[0]))
        note = "the log begins there, and cannot tell what was changed before"
        return replace(then, notes=(note, *then.notes), clamped=True)

    def _log_past(self, operations: Sequence[Operation], point: Point, at: datetime) -> Past:
        self._need_readable()
        view = self._engine.view()
        known = {part.key for operation in operations for part in past.parts(operation)}
        values, unsure = past.back_to(operations, point, {key: present_value(view, key) for key in known})
        records = {found.ref: found.raw for found in self._engine.index.records()}
        records |= {key.name: raw for key, raw in values.items() if key.kind == RECORD and raw is not None}
        for key, raw in values.items():
            if key.kind == RECORD and raw is None:
                records.pop(key.name, None)
        purges = sum(bool(operation.erases) for operation in operations[point.count :])
        notes = ("what was purged since is not in it",) if purges else ()
        deleted = {
            key: raw is not None
            for key, raw in values.items()
            if key.kind == LINE and transcripts.is_transcript(key.name) and raw != present_value(view, key)
        }
        return Past(LOG, at, records, _files(view, values), _shown(unsure), deleted, notes)

    def _need_readable(self) -> None:
        """Refuse to compare with a state that cannot be read."""
        if self._engine.report and self._engine.report.blocked:
            raise self._engine.report.blocked

    def _git_past(self, commit: revisions.Commit) -> Past:
        root, source = self._engine.folder.root, f"git {commit.short}"
        data = revisions.read(root, commit, document.FILE_NAME)
        if data is None:
            hint = "By then it was not in git, or its folder had another name."
            raise NotFoundError(f"{source} holds no memory.json of {self._engine.user}", hint=hint)
        parsed = document.parse(data, f"{source}:{document.FILE_NAME}")
        buried = tombstones(self._engine.index.header())
        found = {r.memory.memory_id: r.raw for r in reversed(parsed.records) if r.memory}
        broken = sum(record.memory is None for record in parsed.records)
        notes = (f"{broken} records of it cannot be read",) if broken else ()
        kept = {memory_id: raw for memory_id, raw in found.items() if memory_id not in buried}
        return Past(source, commit.at, kept, self._git_files(commit), notes=notes)

    def _git_files(self, commit: revisions.Commit) -> dict[str, bytes | None]:
        """The other files that differ: those of the commit, and those that came since."""
        view = self._engine.view()
        named = revisions.tree(self._engine.folder.root, commit, SHARED)
        now = {path: view.read(path) for path in {*named, *self._shared_files()}}
        changed = {path: name for path, name in named.items() if _content_name(now[path], name) != name}
        then: dict[str, bytes | None] = {path: None for path in now if path not in named}
        return then | revisions.contents(self._engine.folder.root, changed)

    def _shared_files(self) -> list[str]:
        known = [path for path in self._engine.index.files() if path != document.FILE_NAME]
        return [*known, *([FEEDBACK] if self._engine.folder.feedback_log.exists() else ())]

    def differences(self, revision: str = "", *, now: datetime | None = None) -> Differences:
        """What became of the memories since a revision; see `past`."""
        then = self.past(revision, now=now)
        self._need_readable()
        records = {found.ref: found.raw for found in self._engine.index.records()}
        unsure = [
            differences.record(key.name, one.before, one.after)
            for key, one in then.unsure.items()
            if key.kind == RECORD
        ]  # fmt: skip
        files = {path: self._engine.view().read(path) for path in then.files}
        return Differences(
            then,
            tuple(differences.records(then.records, records)),
            tuple(differences.files(then.files, files)),
            tuple(filter(None, unsure)),
            tuple(self._messages(then.deleted)),
        )

    def _messages(self, deleted: Mapping[Key, bool]) -> Iterator[MessageChange]:
        """The messages that were deleted since, or brought back, with their text where it is there."""
        ids = {past.message_of(key.name, key.line): stood for key, stood in deleted.items()}
        said: dict[str, KeptMessage] = {}
        for place in transcript_scan.places(self._engine.folder, list(dict.fromkeys(key.name for key in deleted))):
            if place.read and place.read.message and place.read.message.message_id in ids:
                said[place.read.message.message_id] = place.read.message
        for message_id, stood in ids.items():
            message = said.get(message_id)
            outcome = differences.ADDED if stood else differences.REMOVED
            yield MessageChange(message_id, outcome, message.role if message else "", message.text if message else "")


def _files(view: View, values: Mapping[Key, bytes | None]) -> dict[str, bytes | None]:
    """The files among what the log tells, and the logs with the lines they had."""
    found = {key.name: data for key, data in values.items() if key.kind == FILE and key.name.startswith(SHARED)}
    for key, line in values.items():
        if key.kind == LINE and not transcripts.is_transcript(key.name) and line != present_value(view, key):
            data = found[key.name] if key.name in found else view.read(key.name)
            kept = [each for each in (data or b"").splitlines(keepends=True) if each.strip() != key.line]
            found[key.name] = b"".join([*kept, *([line + b"\n"] if line else ())]) or None
    return found


def _shown(unsure: Mapping[Key, Unsure]) -> dict[Key, Unsure]:
    """What concerns the user's own files; memctl's own (the trash) does not."""
    return {key: one for key, one in unsure.items() if key.kind == RECORD or key.name.startswith(SHARED)}


def _content_name(data: bytes | None, like: str) -> str:
    return "" if data is None else revisions.content_name(data, like)


def _moment(text: str, now: datetime) -> datetime | None:
    """The time a text means; None where it means none. A date alone is its end."""
    try:
        return times.end_of(text, now)
    except UsageError:
        return None

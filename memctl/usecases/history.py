"""What was: the memories as they were, from the log and from git, and what is different since."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memctl import times
from memctl.core.kept import KeptMessage
from memctl.engine import Engine
from memctl.errors import NotFoundError, RefusedError, UsageError
from memctl.files import document, knowledge, recovery, reflections, transcript_scan, transcripts
from memctl.files.document import tombstones
from memctl.files.journal import Operation
from memctl.git import revisions
from memctl.lifecycle import differences, past
from memctl.lifecycle.differences import FileChange, MessageChange, RecordChange
from memctl.lifecycle.past import FILE, HEADER, LINE, RECORD, Key, Point, Unsure
from memctl.models import LineEdit
from memctl.view import View

FEEDBACK = "feedback.jsonl"

SHARED = (reflections.FOLDER, knowledge.FOLDER, FEEDBACK)
"""Files beside `memory.json` that have a history: those that git may have."""

LOG = "the log"


@dataclass(frozen=True)
class Past:
    """The memories as they were.

    Args:
        source: where this is known from: `the log`, or `git abc1234`.
        at: the time it is of.
        records: exact JSON of each record, by id.
        files: each other file that may differ from now, by path; None where there was none.
        unsure: what somebody changed without memctl, so that the log cannot say when.
        deleted: deletions of messages that were made, or taken back, since: whether each stood then.
        notes: sentences on what is not known.
        clamped: it is the beginning of the log, because neither that nor git goes back as far as was asked for.
    """

    source: str
    at: datetime
    records: Mapping[str, bytes]
    files: Mapping[str, bytes | None]
    unsure: Mapping[Key, Unsure] = field(default_factory=dict)
    deleted: Mapping[Key, bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    clamped: bool = False

    def __str__(self) -> str:
        return f"{self.source} ({times.to_text(self.at)})"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes this worse than it should be, in sentences."""
        ids = sorted(key.name for key in self.unsure if key.kind == RECORD)
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        told = f"changed outside memctl, and the log does not know when: {', '.join(ids[:3])}{more}"
        return (*([told] if ids else ()), *self.notes)


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


class History(Engine):
    """What was."""

    # The past

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
        self.refresh()
        if not revision:
            commit = self._head()
            return self._git_past(commit) if commit else self._before_the_last()
        if revision.startswith("op_"):
            return self._operation_past(revision)
        if (moment := _moment(revision, now)) is not None:
            return self._past_at(moment)
        if (commit := revisions.find(self.folder.root, revision)) is None:
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
        commit = revisions.find(self.folder.root, revision)
        holds = commit and revisions.tree(self.folder.root, commit, [document.FILE_NAME])
        return commit if holds else None

    def _before_the_last(self) -> Past:
        operations = self.history()
        if not operations:
            raise NotFoundError("nothing was changed yet, so there is nothing to compare with")
        last = len(operations) - 1
        return self._log_past(operations, Point(last, beside=last), past.made(operations[last]))

    def _operation_past(self, given: str) -> Past:
        operations = self.history()
        found = [at for at, operation in enumerate(operations) if operation.op.startswith(given)]
        if len(found) != 1:
            what = "several operations begin with" if found else "the log holds no operation"
            raise NotFoundError(f"{what} {given!r}", hint="`memctl log --ids` lists what it holds.")
        return self._log_past(operations, Point(found[0] + 1, beside=found[0]), past.made(operations[found[0]]))

    def _past_at(self, moment: datetime) -> Past:
        """From the log as far back as it goes, else from git."""
        operations = self.history()
        count = max((number for number, op in enumerate(operations, 1) if past.made(op) <= moment), default=0)
        if count:
            return self._log_past(operations, Point(count), moment)
        if (commit := revisions.last_before(self.folder.root, moment)) and self._commit(commit.name):
            return self._git_past(commit)
        if not operations:
            raise NotFoundError("nothing was changed yet, so there is nothing to compare with")
        then = self._log_past(operations, Point(0, beside=0), past.made(operations[0]))
        note = "the log begins there, and cannot tell what was changed before"
        return replace(then, notes=(note, *then.notes), clamped=True)

    def _log_past(self, operations: Sequence[Operation], point: Point, at: datetime) -> Past:
        self._need_readable()
        view = self.view()
        known = {part.key for operation in operations for part in past.parts(operation)}
        values, unsure = past.back_to(operations, point, {key: present_value(view, key) for key in known})
        records = {found.ref: found.raw for found in self.index.records()}
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
        if self.report and self.report.blocked:
            raise self.report.blocked

    def _git_past(self, commit: revisions.Commit) -> Past:
        root, source = self.folder.root, f"git {commit.short}"
        data = revisions.read(root, commit, document.FILE_NAME)
        if data is None:
            hint = "By then it was not in git, or its folder had another name."
            raise NotFoundError(f"{source} holds no memory.json of {self.user}", hint=hint)
        parsed = document.parse(data, f"{source}:{document.FILE_NAME}")
        buried = tombstones(self.index.header())
        found = {r.memory.memory_id: r.raw for r in reversed(parsed.records) if r.memory}
        broken = sum(record.memory is None for record in parsed.records)
        notes = (f"{broken} records of it cannot be read",) if broken else ()
        kept = {memory_id: raw for memory_id, raw in found.items() if memory_id not in buried}
        return Past(source, commit.at, kept, self._git_files(commit), notes=notes)

    def _git_files(self, commit: revisions.Commit) -> dict[str, bytes | None]:
        """The other files that differ: those of the commit, and those that came since."""
        view = self.view()
        named = revisions.tree(self.folder.root, commit, SHARED)
        now = {path: view.read(path) for path in {*named, *self._shared_files()}}
        changed = {path: name for path, name in named.items() if _content_name(now[path], name) != name}
        then: dict[str, bytes | None] = {path: None for path in now if path not in named}
        return then | revisions.contents(self.folder.root, changed)

    def _shared_files(self) -> list[str]:
        known = [path for path in self.index.files() if path != document.FILE_NAME]
        return [*known, *([FEEDBACK] if self.folder.feedback_log.exists() else ())]

    # Differences

    def differences(self, revision: str = "", *, now: datetime | None = None) -> Differences:
        """What became of the memories since a revision; see `past`."""
        then = self.past(revision, now=now)
        self._need_readable()
        records = {found.ref: found.raw for found in self.index.records()}
        unsure = [
            differences.record(key.name, one.before, one.after)
            for key, one in then.unsure.items()
            if key.kind == RECORD
        ]  # fmt: skip
        files = {path: self.view().read(path) for path in then.files}
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
        for place in transcript_scan.places(self.folder, list(dict.fromkeys(key.name for key in deleted))):
            if place.read and place.read.message and place.read.message.message_id in ids:
                said[place.read.message.message_id] = place.read.message
        for message_id, stood in ids.items():
            message = said.get(message_id)
            outcome = differences.ADDED if stood else differences.REMOVED
            yield MessageChange(message_id, outcome, message.role if message else "", message.text if message else "")


def present_value(view: View, key: Key) -> bytes | None:
    """What a part of an operation is now."""
    if key.kind == RECORD:
        return view.index.raws(document.FILE_NAME, [key.name]).get(key.name)
    if key.kind == HEADER:
        return past.header_bytes(view.header.get(key.name))
    if key.kind == LINE:
        return key.line if recovery.has_line(view.folder, LineEdit(key.name, key.line)) else None
    return view.read(key.name)


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

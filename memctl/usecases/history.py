"""History: taking back, what is different since, what was believed in another revision, bringing one memory back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from memctl import sync, times
from memctl.engine import INLINE_EMBEDDINGS
from memctl.entries import memory_of, record_entry
from memctl.errors import MemctlError, NotFoundError, RefusedError, UsageError
from memctl.files import codec, document, knowledge, recovery, reflections, revisions
from memctl.files.document import tombstones
from memctl.files.journal import Operation
from memctl.gateway import View
from memctl.housekeeping import MAINTENANCE
from memctl.index.protocol import Entry, FileState, FileUpdate
from memctl.index.sqlite import SqliteIndex
from memctl.lifecycle import differences, forgetting, past, undoing
from memctl.lifecycle.differences import FileChange, RecordChange
from memctl.lifecycle.past import FILE, HEADER, LINE, RECORD, Key, Point, Unsure
from memctl.lifecycle.undoing import REDO, UNDO, Step
from memctl.models import ACTIVE, Change, FileEdit, IndexState, LineEdit, Memory, Query, QueryResult
from memctl.secrets import ALLOW
from memctl.selection import Selection
from memctl.selection import select as selected
from memctl.usecases.asking import Asking

FEEDBACK = "feedback.jsonl"

_SHARED = (reflections.FOLDER, knowledge.FOLDER, FEEDBACK)
"""Files beside `memory.json` that have a history: those that git may have."""

LOG = "the log"


@dataclass(frozen=True)
class Taken:
    """What was taken back, the newest first, and why no more was; None where all was that was asked for."""

    done: tuple[Operation, ...]
    stopped: MemctlError | None = None


@dataclass(frozen=True)
class Past:
    """The memories as they were.

    Args:
        source: where this is known from: `the log`, or `git abc1234`.
        at: the time it is of.
        records: exact JSON of each record, by id.
        files: each other file that may differ from now, by path; None where there was none.
        unsure: what somebody changed without memctl, so that the log cannot say when.
        notes: sentences on what is not known.
        clamped: it is the beginning of the log, because neither that nor git goes back as far as was asked for.
    """

    source: str
    at: datetime
    records: Mapping[str, bytes]
    files: Mapping[str, bytes | None]
    unsure: Mapping[Key, Unsure] = field(default_factory=dict)
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

    @property
    def empty(self) -> bool:
        return not (self.records or self.files or self.unsure)


@dataclass(frozen=True)
class Restored:
    """A memory that is again what it was `then`: what that changes in its record (None: nothing) and in other files."""

    memory: Memory
    then: Past
    record: RecordChange | None
    files: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()


class History(Asking):
    """What was, and the way back to it."""

    # Undo and redo

    def undo(self, *, before_purge: bool = False, dry_run: bool = False, now: datetime | None = None) -> Operation:
        """Take back the last change.

        Args:
            before_purge: step over purges, which cannot be taken back.

        Raises:
            NotFoundError: there is nothing to undo.
            ConflictError: something it touched has changed since.
            RefusedError: the last change was a purge.
        """
        return _one(self.undo_many(1, before_purge=before_purge, dry_run=dry_run, now=now))

    def redo(self, *, dry_run: bool = False, now: datetime | None = None) -> Operation:
        """Take back the last undo, if nothing was changed since.

        Raises:
            NotFoundError: there is nothing to redo.
            ConflictError: something it touched has changed since.
        """
        return _one(self.redo_many(1, dry_run=dry_run, now=now))

    def undo_many(
        self, count: int, *, before_purge: bool = False, dry_run: bool = False, now: datetime | None = None
    ) -> Taken:
        """Take back the last changes, the newest first, each exactly; stop at the first that cannot be."""
        return self._take_back(UNDO, count, before_purge, dry_run, now or times.utc_now())

    def redo_many(self, count: int, *, dry_run: bool = False, now: datetime | None = None) -> Taken:
        """Take back the last undos, the newest first, each exactly; stop at the first that cannot be."""
        return self._take_back(REDO, count, False, dry_run, now or times.utc_now())

    def _take_back(self, what: str, count: int, before_purge: bool, dry_run: bool, now: datetime) -> Taken:
        walk = _Walk(what, before_purge)
        taken: list[Operation] = []

        def decide(view: View) -> Change:
            return walk.decide(view, self.history())

        try:
            if dry_run:
                self.refresh()
            while len(taken) < count:
                decide(self.view()) if dry_run else self._healed(lambda: self.gateway.apply(decide, now))
                taken.append(walk.taken(pretend=dry_run))
        except MemctlError as problem:
            return Taken(tuple(taken), problem)
        return Taken(tuple(taken))

    def undone(self) -> set[str]:
        """Ids of the operations that a person made and `undo` has taken back."""
        found = undoing.stacks(self.history(), MAINTENANCE)
        return {step.origin.op for step in (*found.undone, *found.lost)}

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
            commit = self._commit("HEAD")
            return self._git_past(commit) if commit else self._before_the_last()
        if revision.startswith("op_"):
            return self._operation_past(revision)
        if (moment := _moment(revision, now)) is not None:
            return self._past_at(moment)
        if (commit := revisions.find(self.folder.root, revision)) is None:
            hint = (
                "Give a date, a span such as 3d, an operation (`memctl log --ids`), or a git revision such as HEAD~1."
            )
            raise UsageError(f"{revision!r} is no time, no operation, and no revision that git knows here", hint=hint)
        return self._git_past(commit)

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
        values, unsure = past.back_to(operations, point, {key: _value(view, key) for key in known})
        records = {found.ref: found.raw for found in self.index.records()}
        records |= {key.name: raw for key, raw in values.items() if key.kind == RECORD and raw is not None}
        for key, raw in values.items():
            if key.kind == RECORD and raw is None:
                records.pop(key.name, None)
        purges = sum(bool(operation.erases) for operation in operations[point.count :])
        notes = ("what was purged since is not in it",) if purges else ()
        return Past(LOG, at, records, _files(view, values), _shown(unsure), notes)

    def _need_readable(self) -> None:
        """Refuse to compare with a state that cannot be read."""
        if self.report and self.report.blocked:
            raise self.report.blocked

    def _git_past(self, commit: revisions.Commit) -> Past:
        root, source = self.folder.root, f"git {commit.short}"
        data = revisions.read(root, commit, document.FILE_NAME)
        if data is None:
            raise NotFoundError(f"{source} holds no memory.json of {self.user}")
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
        named = revisions.tree(self.folder.root, commit, _SHARED)
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
        )

    # Asking another revision

    def query_as_of(self, query: Query, revision: str, *, now: datetime | None = None) -> QueryResult:
        """Ask the memories of a revision (an operation or a commit) the way the present ones are asked.

        The records alone are asked. There is no receipt: what was used then is not used now.
        """
        then = self.past(revision, now=now)
        with self._index_of(then) as (index, pending):
            embedder = None if pending else self.embedder
            found, reranked, problem = self._found(query, index, embedder, then.at)
        missing = f"full text only: {pending}" if pending else ""
        notes = (self.embedder_problem, missing, found.degraded, problem, *then.warnings)
        degraded = tuple(note for note in notes if note)
        return QueryResult(query, found.hits, found.route, IndexState(), "", degraded, str(then), reranked)

    def select_as_of(
        self, chosen: Selection, revision: str, *, now: datetime | None = None
    ) -> tuple[list[Memory], Past]:
        """Records of a revision that fit, sorted."""
        then = self.past(revision, now=now)
        with self._index_of(then, vectors=False) as (index, _):
            found = index.matching(chosen.filters, then.at)
            return selected((memory_of(entry) for entry in found), chosen), then

    @contextmanager
    def _index_of(self, then: Past, *, vectors: bool = True) -> Iterator[tuple[SqliteIndex, str]]:
        """An index of a past state, and why it lacks vectors; empty where it has them.

        It is a copy of the present one with what is different changed: nearly all is the same.
        """
        index = self.index.copied()
        try:
            made = sync.embed_entries(_entries(then, index), self.embedder, index) if vectors else {}
            index.update([*_without_files(index), _records_update(then, index)], made)
            missing = sync.embed_pending(index, self.embedder, at_most=INLINE_EMBEDDINGS)[1] if vectors else ""
            yield index, missing
        finally:
            index.close()

    # Bringing one memory back

    def restore_from(
        self, given: str, revision: str, *, dry_run: bool = False, now: datetime | None = None
    ) -> Restored:
        """Make one memory what it was in a revision: its exact record, and its reflection where the revision has it.

        Raises:
            NotFoundError: the revision does not hold it.
            RefusedError: it was purged; the log cannot tell what it was; or its place was taken by another memory.
        """
        now = now or times.utc_now()
        then = self.past(revision, now=now)
        if then.clamped:
            reason = f"the log goes back to {times.to_text(then.at)} only, and git has nothing of that time"
            raise NotFoundError(reason, hint="`memctl log --ids` lists what it holds.")
        memory_id = _full_id(given, then, self.index.header())
        raw = then.records[memory_id]
        memory = document.decode_raw(raw)
        records: list[RecordChange | None] = []

        def decide(view: View) -> Change:
            records[:] = [differences.record(memory_id, _value(view, Key(RECORD, memory_id)), raw)]
            return _restored(view, then, memory, raw, records[0])

        change = self._apply(decide, now, dry_run=dry_run, on_secret=ALLOW)
        edits = [file for file in change.files if file.path.startswith(_SHARED)]
        files = differences.files({f.path: f.before for f in edits}, {f.path: f.after for f in edits})
        over = memory.expires_at and memory.expires_at <= now and not memory.pinned
        note = f"it has expired on {memory.expires_at:%Y-%m-%d}; the next change moves it to the trash" if over else ""
        return Restored(memory, then, records[0], tuple(files), (note,) if note else ())


def _entries(then: Past, index: SqliteIndex) -> list[Entry]:
    """The records that are not in the index as they were then."""
    now = index.hashes(document.FILE_NAME)
    new = {ref: raw for ref, raw in then.records.items() if now.get(ref) != codec.digest(raw)}
    return [record_entry(document.decode_raw(raw), raw) for raw in new.values()]


def _records_update(then: Past, index: SqliteIndex) -> FileUpdate:
    """What makes the records of an index those of a past state."""
    base = index.files().get(document.FILE_NAME)
    gone = sorted(index.hashes(document.FILE_NAME).keys() - then.records.keys())
    state = base or FileState(document.FILE_NAME, 0, 0, 0, 0)
    return FileUpdate(document.FILE_NAME, base, state, _entries(then, index), gone)


def _without_files(index: SqliteIndex) -> list[FileUpdate]:
    """What takes everything but the records out of an index: reflections and documents say what is known today."""
    others = {path: state for path, state in index.files().items() if path != document.FILE_NAME}
    return [FileUpdate(path, state, None, removed=tuple(index.hashes(path))) for path, state in others.items()]


def _one(taken: Taken) -> Operation:
    if taken.stopped:
        raise taken.stopped
    return taken.done[0]


class _Walk:
    """One way back, step by step. What others do meanwhile is not taken back with it.

    A dry run pretends: what it has taken back so far is in `values`, and these operations count as `gone`.
    """

    def __init__(self, what: str, before_purge: bool) -> None:
        self.what, self.before_purge = what, before_purge
        self.values: dict[Key, bytes | None] = {}
        self.gone: set[str] = set()
        self._expected: str | None = None
        self._step: Step | None = None
        self._coming = ""

    def decide(self, view: View, operations: Sequence[Operation]) -> Change:
        """The change that takes the next step back; may be asked again before it is `taken`.

        Raises:
            RefusedError: somebody else changed something since the last step.
        """
        found = undoing.stacks(operations, MAINTENANCE).without(self.gone)
        step = undoing.next_step(found, self.what, self.before_purge)
        if self._expected not in (None, step.operation.op):
            reason = f"somebody else changed something meanwhile (`{step.origin.command}`)"
            raise RefusedError(reason, hint="Look at `memctl log`, then try again.")
        self._step, self._coming = step, undoing.following(found, self.what, step)
        now = {key: self.values.get(key, value) for key, value in present(view, step.operation).items()}
        return undoing.inverse(self.what, step, now, _later(operations, step))

    def taken(self, *, pretend: bool) -> Operation:
        """Note that the step was taken; returns what a person had made."""
        assert self._step
        if pretend:
            self.values |= {part.key: part.before for part in past.parts(self._step.operation)}
            self.gone.add(self._step.operation.op)
        self._expected = self._coming
        return self._step.origin


def _later(operations: Sequence[Operation], step: Step) -> Sequence[Operation]:
    place = next((at for at, operation in enumerate(operations) if operation.op == step.operation.op), -1)
    return operations[place + 1 :]


def present(view: View, operation: Operation) -> dict[Key, bytes | None]:
    """What everything an operation touched is now."""
    return {part.key: _value(view, part.key) for part in past.parts(operation)}


def _value(view: View, key: Key) -> bytes | None:
    if key.kind == RECORD:
        return view.index.raws(document.FILE_NAME, [key.name]).get(key.name)
    if key.kind == HEADER:
        return past.header_bytes(view.header.get(key.name))
    if key.kind == LINE:
        return key.line if recovery.has_line(view.folder, LineEdit(key.name, key.line)) else None
    return view.read(key.name)


def _files(view: View, values: Mapping[Key, bytes | None]) -> dict[str, bytes | None]:
    """The files among what the log tells, and the logs with the lines they had."""
    found = {key.name: data for key, data in values.items() if key.kind == FILE and key.name.startswith(_SHARED)}
    for key, line in values.items():
        if key.kind == LINE and line != _value(view, key):
            data = found[key.name] if key.name in found else view.read(key.name)
            kept = [each for each in (data or b"").splitlines(keepends=True) if each.strip() != key.line]
            found[key.name] = b"".join([*kept, *([line + b"\n"] if line else ())]) or None
    return found


def _shown(unsure: Mapping[Key, Unsure]) -> dict[Key, Unsure]:
    """What concerns the user's own files; memctl's own (the trash) does not."""
    return {key: one for key, one in unsure.items() if key.kind == RECORD or key.name.startswith(_SHARED)}


def _content_name(data: bytes | None, like: str) -> str:
    return "" if data is None else revisions.content_name(data, like)


def _moment(text: str, now: datetime) -> datetime | None:
    """The time a text means; None where it means none. A date alone is its end."""
    try:
        return times.end_of(text, now)
    except UsageError:
        return None


def _full_id(given: str, then: Past, header: Mapping[str, object]) -> str:
    found = [given] if given in then.records else [each for each in then.records if given and each.startswith(given)]
    if len(found) == 1:
        return found[0]
    if given in tombstones(header):
        raise RefusedError(f"{given} was purged: nothing brings it back")
    what = f"{given!r} is the beginning of several memories" if found else f"no memory {given!r}"
    hint = f"Did you mean {' or '.join(sorted(found)[:4])}?" if found else "`memctl log ID` tells when it was there."
    raise NotFoundError(f"{what} in {then}", hint=hint)


def _restored(view: View, then: Past, memory: Memory, raw: bytes, change: RecordChange | None) -> Change:
    """The change that makes a record and its reflection what they were."""
    _check_restore(view, then, memory)
    puts = (memory,) if change else ()
    edits = [*_reflection_back(view, then, memory), *_out_of_trash(view, memory)]
    return Change("restore --from", puts, files=tuple(edits), raws={memory.memory_id: raw} if change else {})


def _check_restore(view: View, then: Past, memory: Memory) -> None:
    keys = [Key(RECORD, memory.memory_id), Key(FILE, memory.summary_md_ref)]
    if unsure := next((key for key in keys if key in then.unsure), None):
        hint = "Name an operation (`memctl log ID --ids`) or a git revision instead."
        raise RefusedError(f"{unsure} was changed outside memctl, and the log does not know when", hint=hint)
    if memory.memory_id in tombstones(view.header):
        raise RefusedError(f"{memory.memory_id} was purged: nothing brings it back")
    rivals = view.with_key(memory.category, memory.key) if memory.key and memory.status == ACTIVE else []
    for rival in rivals:
        if rival.status == ACTIVE and rival.memory_id != memory.memory_id:
            hint = f"State the old one again (`memctl add --key {memory.key} --value …`), or forget the new one first."
            raise RefusedError(f"{memory.key} has another value by now: {rival.memory_id}", hint=hint)


def _reflection_back(view: View, then: Past, memory: Memory) -> list[FileEdit]:
    path = memory.summary_md_ref
    if not reflections.is_reference(path) or path not in then.files or then.files[path] is None:
        return []
    now = view.read(path)
    owners = view.referring(path) - {memory.memory_id}
    if now is not None and now != then.files[path] and owners:
        raise RefusedError(f"{path} belongs to {', '.join(sorted(owners))} by now")
    return [] if now == then.files[path] else [FileEdit(path, now, then.files[path])]


def _out_of_trash(view: View, memory: Memory) -> list[FileEdit]:
    path = forgetting.trash_path(memory.memory_id)
    data = view.read(path)
    return [] if data is None else [FileEdit(path, data, None)]

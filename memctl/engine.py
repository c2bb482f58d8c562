"""What every use case stands on: an index kept in step with the files, and changes that are carried out whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from memctl.config import Settings
from memctl.core import ids, records, times
from memctl.core.formats import document, knowledge
from memctl.core.formats.document import tombstones
from memctl.core.models import TRASH, Change, Memory
from memctl.core.sensitive import ALLOW
from memctl.errors import InvalidDataError, MemctlError, NotFoundError, ProviderError, StorageError, argument
from memctl.providers import waiting
from memctl.providers.base import LLM, Embedder, Reranker
from memctl.storage.files import journal, local_state, trash
from memctl.storage.files.layout import UserFolder
from memctl.storage.folder import housekeeping
from memctl.storage.folder import sync as syncing
from memctl.storage.folder.gateway import Decision, Gateway, recover_if_free
from memctl.storage.folder.view import View
from memctl.storage.index.database import DAMAGE, HINDRANCE
from memctl.storage.index.sqlite import SqliteIndex

if TYPE_CHECKING:
    from memctl.conversations.service import Conversations
    from memctl.providers.asking import Answer
    from memctl.storage.ports import SessionStorage

T = TypeVar("T")
P = ParamSpec("P")
E = TypeVar("E", bound="Healing")


class Healing(Protocol):
    """What can make its index again and do something once more."""

    def healed(self, action: Callable[[], T]) -> T: ...


MEGABYTE = 1024 * 1024
INLINE_EMBEDDINGS = 64
"""How many waiting vectors of a slow model a question makes before it is answered; with more, it goes without them."""


def healing(question: Callable[Concatenate[E, P], T]) -> Callable[Concatenate[E, P], T]:
    """A question that is asked once more where the index turns out to be damaged: it is made anew in between."""

    @wraps(question)
    def asked(self: E, /, *args: P.args, **options: P.kwargs) -> T:
        return self.healed(lambda: question(self, *args, **options))

    return asked


class Engine:
    """One user's files and their index: what every feature stands on.

    Attributes:
        reranker: gives the reranker of a name, None for `none`; ProviderError where it cannot be used.
        spare_indexes: where an index of this folder may lie from another time (when it could not be written).
        untrusted: sentences on settings that are not in force, because this machine's user does not trust them.
        report: what the last look at the files found; None before the first.
    """

    def __init__(
        self,
        folder: UserFolder,
        index: SqliteIndex,
        embedder: Embedder | None,
        settings: Settings | None = None,
        *,
        embedder_problem: str = "",
        untrusted: Sequence[str] = (),
        spare_indexes: Sequence[Path] = (),
        llm: Callable[[], LLM | None] = lambda: None,
        rerankers: Callable[[str], Reranker | None] = lambda name: None,
    ) -> None:
        self.folder, self.index, self.embedder = folder, index, embedder
        self.settings = settings or Settings()
        self.embedder_problem = embedder_problem
        self.untrusted = tuple(untrusted)
        self.spare_indexes = spare_indexes
        self._load_llm = llm
        self.reranker = lru_cache(maxsize=4)(rerankers)
        limit = int(self.settings.log_limit_mb * MEGABYTE)
        self.gateway = Gateway(folder, index, embedder, lock_timeout=self.settings.lock_timeout, log_limit=limit)
        self.report: syncing.SyncReport | None = None

    @cached_property
    def llm(self) -> LLM | None:
        """The language model, None where none is configured.

        It is asked outside the lock, never inside a decision.

        Raises:
            ProviderError: it is configured and cannot be loaded.
        """
        return self._load_llm()

    @property
    def has_llm(self) -> bool:
        """Whether a language model is configured and can be loaded."""
        try:
            return self.llm is not None
        except ProviderError:
            return False  # what is done by rules instead says so

    def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        check: Callable[[Any], T],
        schema: Mapping[str, Any] | None = None,
        attempts: int = 3,
    ) -> Answer[T]:
        """What the language model answers, as `asking.ask` gives it; without one, or where it fails, rules stand in."""
        from memctl.providers.asking import Answer, ask

        try:
            return ask(self.llm, messages, check, schema, attempts) if self.llm is not None else Answer()
        except ProviderError as problem:
            return Answer(problem=problem.message, answered=False)

    @cached_property
    def conversations(self) -> Conversations:
        """What was said to agents, word for word."""
        from memctl.conversations.service import Conversations
        from memctl.storage.folder.messages import FileMessages

        return Conversations(FileMessages(self), lambda: self.settings, lambda: self.view().all())

    @cached_property
    def session_storage(self) -> SessionStorage:
        """The windows of agents' sessions, and what waits of them."""
        from memctl.storage.folder.sessions import SessionFiles

        return SessionFiles(self.gateway, self.settings.lock_timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.index.close()

    def another(self) -> Self:
        """The same memories once more, for another thread: with a connection of its own, and the same models.

        A connection is for one thread at a time. Whoever opens it closes it.

        Raises:
            StorageError: the index cannot be opened again.
        """
        return type(self)(
            self.folder, SqliteIndex(self.index.path, self.index.owner), self.embedder, self.settings,
            embedder_problem=self.embedder_problem, untrusted=self.untrusted, spare_indexes=self.spare_indexes,
            llm=lambda: self.llm, rerankers=self.reranker,
        )  # fmt: skip

    @contextmanager
    def all_locked(self) -> Iterator[None]:
        """With nobody else writing to any file of the user's, sessions included."""
        from memctl.storage.files import sessions

        with self.gateway.locked(), sessions.all_locked(self.folder, timeout=self.settings.lock_timeout):
            yield

    @property
    def user(self) -> str:
        return self.folder.name

    def unready(self) -> str:
        """Why the embedder's vectors cannot be searched yet, empty where they can."""
        if self.embedder is None or self.ready_embedder() is not None:
            return ""
        return f"full text only: the index has no vectors of {self.embedder.name} yet; `memctl sync` makes them"

    def ready_embedder(self) -> Embedder | None:
        """The embedder, if the vectors in the index are its own."""
        ready = self.embedder and self.index.meta("model") == self.embedder.identity
        return self.embedder if ready else None

    def healed(self, action: Callable[[], T]) -> T:
        """Do something with the index; if that turns out to be damaged, make it anew and do it again."""
        try:
            try:
                return action()
            except DAMAGE:
                self.index.rebuild()
                self._synced()
                return action()
        except HINDRANCE as problem:
            raise StorageError(
                f"the index cannot be used: {problem}", hint="Free some space, then try again."
            ) from None

    def refresh(self, *, vectors: bool = False) -> syncing.SyncReport:
        """See `MemoryStore.refresh`."""
        recover_if_free(self.gateway)

        def look() -> syncing.SyncReport:
            report = syncing.sync(self.folder, self.index, self.embedder)
            if self.embedder is not None and self.embedder.slow and not vectors:
                self.report = report
                return report
            return self._with_vectors(report, False, None)

        try:
            return self.healed(look)
        except StorageError as problem:
            self.report = syncing.SyncReport(notes=(problem.message,), blocked=problem)
            return self.report

    def sync(
        self, *, deep: bool = False, allow_mass_change: bool = False, progress: syncing.Progress | None = None
    ) -> syncing.SyncReport:
        """See `MemoryStore.sync`."""
        recover_if_free(self.gateway)
        with waiting.at_most(math.inf):
            return self.healed(lambda: self._synced(deep, allow_mass_change, progress))

    def embed(self) -> syncing.SyncReport:
        """See `MemoryStore.embed`."""
        self.refresh()
        return self.healed(self._synced)

    def _synced(
        self, deep: bool = False, allow_mass_change: bool = False, progress: syncing.Progress | None = None
    ) -> syncing.SyncReport:
        report = syncing.sync(
            self.folder, self.index, self.embedder, deep=deep, allow_mass_change=allow_mass_change, progress=progress
        )
        return self._with_vectors(report, True, progress)

    def _with_vectors(
        self, report: syncing.SyncReport, everything: bool, progress: syncing.Progress | None
    ) -> syncing.SyncReport:
        inline = 0 if waiting.in_a_hurry() else INLINE_EMBEDDINGS
        pending, reason = syncing.embed_pending(
            self.index, self.embedder, progress, at_most=None if everything else inline
        )
        self.report = replace(report, pending=pending, pending_reason=reason)
        return self.report

    def reindex(self, progress: syncing.Progress | None = None) -> syncing.SyncReport:
        """See `MemoryStore.reindex`."""
        if blocked := self.refresh().blocked:
            raise blocked
        self.index.rebuild()
        return self.sync(progress=progress)

    def change(self, decide: Callable[[View], Change], now: datetime | None = None) -> Change:
        """See `MemoryStore.change`."""
        self.refresh()

        def same(view: View) -> tuple[Change, Change]:
            change = decide(view)
            return change, change

        return self.apply(same, now or times.utc_now())

    def view(self) -> View:
        """The records and files as they are in the index now; without the lock, others may change them right after."""
        return View(self.index, self.folder, self.gateway.ids)

    def completed(
        self, memory: Memory, now: datetime, given: Collection[str] = ("kind", "category", "importance")
    ) -> Memory:
        """A record made by rules, complete and checked; in the store's first category where it has not that one.

        Args:
            given: names of the fields that are not to be completed.
        """
        categories = self.settings.categories
        category = memory.category if memory.category in categories else categories[0]
        whole = replace(memory, category=category)
        made = records.completed(whole, now, self.gateway.ids(now, datetime.now(UTC)), frozenset(given))
        return records.check(made, categories)

    def secret_policy(self, allow_secret: bool = False) -> str:
        """What becomes of likely secrets: the setting, unless somebody insists."""
        return ALLOW if allow_secret else self.settings.secrets

    def apply(self, decide: Decision[T], now: datetime, *, dry_run: bool = False, on_secret: str = "") -> T:
        """Apply a change, after moving what has expired to the trash and giving new reflections records.

        Returns:
            the value that was decided on with the change.

        Args:
            dry_run: only decide on it.
            on_secret: instead of the setting `secrets`: `allow` for what was looked at, or stored, before; `mask` where
                nobody can be asked.

        Raises:
            RefusedError: it would store a likely secret, and the setting `secrets` is `refuse`.
        """
        decide = self._looked_through(decide, on_secret)
        if dry_run:
            self.refresh()
            return decide(self.view())[1]

        def tidy(view: View) -> tuple[Change, None]:
            return housekeeping.housekeeping(view, now), None

        return self.healed(lambda: self.gateway.apply(decide, now, before=tidy))

    def _looked_through(self, decide: Decision[T], on_secret: str) -> Decision[T]:
        policy = on_secret or self.settings.secrets
        if ALLOW in (policy, self.settings.secrets):
            return decide

        def looked_through(view: View) -> tuple[Change, T]:
            from memctl.core import guarding

            change, value = decide(view)
            return guarding.guarded_change(change, policy, lambda: _text(view.read(document.FILE_NAME))), value

        return looked_through

    # Finding records

    def full_id(self, given: str) -> str:
        """The whole id for an id, for its beginning, or for its last four or more characters.

        Raises:
            NotFoundError: none or several fit.
            InvalidDataError: the one that fits cannot be read.
        """
        given = given.encode("utf-8", "replace").decode()
        if given and self.index.raws(document.FILE_NAME, [given]):
            return given
        unreadable = self._unreadable() if given else {}
        fitting = sorted(self._fitting(given, unreadable)) if given else []
        if len(fitting) == 1 or given in unreadable:
            return _readable(given if given in unreadable else fitting[0], unreadable)
        if not fitting and self.report and self.report.blocked:
            raise self.report.blocked
        if not fitting and given.startswith(knowledge.FOLDER):
            hint = f"`memctl knowledge show {argument(given)}` prints it; change it in an editor."
            raise NotFoundError(f"{given} is in a document: it is no memory and cannot be judged or changed", hint=hint)
        message = f"{given!r} fits several memories" if fitting else f"no memory {given!r}"
        raise NotFoundError(message, hint=self._near_ids(given, fitting))

    def _fitting(self, given: str, unreadable: Mapping[str, document.RawRecord]) -> set[str]:
        """The ids that begin so; where none does, those that end so, unless it is the whole id of what is gone."""
        starting = {*self.index.ids_starting(given, 10_000), *(name for name in unreadable if name.startswith(given))}
        if starting or len(given) < ids.SHORTEST_ENDING or self._is_gone(given):
            return starting
        return {*self.index.ids_ending(given, 10_000), *(name for name in unreadable if name.endswith(given))}

    def _is_gone(self, memory_id: str) -> bool:
        """Whether a memory was purged, or lies in the trash."""
        return memory_id in tombstones(self.index.header()) or any(
            trashed.memory.memory_id == memory_id for trashed in self.trashed()
        )

    def _unreadable(self) -> dict[str, document.RawRecord]:
        """The records of `memory.json` that cannot be read, by their ids."""
        state = self.index.files().get(document.FILE_NAME)
        if not (state and state.problem):
            return {}
        try:
            listed = document.parse(self.view().read(document.FILE_NAME) or b"").records
        except MemctlError:
            return {}  # as a whole: the look at the files says so
        return {document.id_of(record): record for record in listed if record.memory is None}

    def _near_ids(self, given: str, starting: Sequence[str]) -> str:
        from difflib import get_close_matches

        if given in tombstones(self.index.header()):
            return "It was purged: only its id is left, and nothing brings it back."
        if not starting and any(t.memory.memory_id == given for t in self.trashed()):
            return f"It is in the trash: `memctl restore {argument(given)}`."
        if not starting and given and self.operations(given):
            name = argument(given)
            return f"It is gone; `memctl log --ids {name}` tells how, `memctl restore --from OP {name}` brings it back."
        near = list(starting[:4]) or get_close_matches(given, self.index.ids_starting("", 20_000), 3, 0.7)
        more = f", or one of {len(starting) - 4} more" if len(starting) > 4 else ""
        return f"Did you mean {' or '.join(near)}{more}?" if near else "`memctl list` shows the ids."

    def trashed(self) -> list[trash.Trashed]:
        """What lies in the trash, the newest first."""
        found = []
        for path in self.folder.trash.glob("*.json") if self.folder.trash.is_dir() else ():
            try:
                data = self.view().read(TRASH + path.stem)
                found += [trash.read_trashed(data, path.name)] if data is not None else []
            except MemctlError:
                continue
        return sorted(found, key=lambda t: (t.trashed_at, t.memory.memory_id), reverse=True)

    def trashed_id(self, given: str) -> str:
        """The whole id of something in the trash for an unambiguous beginning or ending; else what was given."""
        found = ids.fitting(given, [trashed.memory.memory_id for trashed in self.trashed()])
        return found[0] if len(found) == 1 else given

    def findable(self, given: str) -> str:
        """As `full_id`, also for what is in the trash or known to the log alone.

        A whole id is never taken for the beginning of another, whatever has become of its memory.
        """
        self.refresh()
        given = given.encode("utf-8", "replace").decode()
        if given and given in tombstones(self.index.header()):
            raise NotFoundError(f"no memory {given!r}", hint=self._near_ids(given, ()))
        if self.index.raws(document.FILE_NAME, [given]):
            return given
        gone = {t.memory.memory_id for t in self.trashed()}
        gone |= {step.memory_id for operation in self.operations() for step in operation.records}
        if given in gone:
            return given
        try:
            return self.full_id(given)
        except NotFoundError:
            fitting = ids.fitting(given, gone)
            if len(fitting) == 1:
                return fitting[0]
            raise

    def operations(self, memory_id: str = "") -> list[journal.Operation]:
        """What was done, oldest first; to one memory, or to all."""
        found = journal.read(self.folder)
        return [op for op in found if not memory_id or any(step.memory_id == memory_id for step in op.records)]

    def unbelieved(self) -> str:
        """A sentence on what somebody else wrote below `.memctl/`, and is ignored; empty where there is none."""
        if moved := self.gateway.moved_aside:
            return (
                f"this user did not write {moved} entries below .memctl on this machine: they were moved aside, "
                "and are ignored (`memctl state` shows them)"
            )
        return local_state.check(self.folder)

    @property
    def log_trimmed(self) -> bool:
        """Whether the log once held older operations than it does."""
        return journal.trimmed(self.folder)


def _readable(memory_id: str, unreadable: Mapping[str, document.RawRecord]) -> str:
    """The id, if its record can be read.

    Raises:
        InvalidDataError: it cannot, with the line and the reason.
    """
    if record := unreadable.get(memory_id):
        message = f"{memory_id} cannot be read: {record.problem}"
        hint = "Correct it there; until then it is left as it is. `memctl doctor` lists all such records."
        raise InvalidDataError(message, path=document.FILE_NAME, line=record.line, hint=hint)
    return memory_id


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")

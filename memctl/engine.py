"""What every feature stands on: one user's storage kept in step with its truth, the models, and the settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from memctl.config import Settings
from memctl.core import ids, records, times
from memctl.core.formats import document, knowledge
from memctl.core.formats.document import RawRecord
from memctl.core.models import Change, Memory
from memctl.core.sensitive import ALLOW
from memctl.errors import InvalidDataError, NotFoundError, ProviderError, argument
from memctl.providers.base import LLM, Embedder, Reranker
from memctl.storage.folder.storage import FolderStorage, of_folder
from memctl.storage.ports.search import Search
from memctl.storage.ports.storage import Storage, SyncReport
from memctl.storage.ports.view import Decision, View

if TYPE_CHECKING:
    from memctl.conversations.service import Conversations
    from memctl.providers.answers import Answer

T = TypeVar("T")
P = ParamSpec("P")
E = TypeVar("E", bound="Healing")


class Healing(Protocol):
    """What can make its index again and do something once more."""

    def healed(self, action: Callable[[], T]) -> T: ...


def healing(question: Callable[Concatenate[E, P], T]) -> Callable[Concatenate[E, P], T]:
    """A question that is asked once more where the index turns out to be damaged: it is rebuilt in between."""

    @wraps(question)
    def asked(self: E, /, *args: P.args, **options: P.kwargs) -> T:
        return self.healed(lambda: question(self, *args, **options))

    return asked


class Engine:
    """One user's storage, models and settings: what every feature stands on.

    Attributes:
        reranker: gives the reranker of a name, None for `none`; ProviderError where it cannot be used.
        untrusted: sentences on settings that are not in force, because this machine's user does not trust them.
    """

    def __init__(
        self,
        storage: Storage,
        embedder: Embedder | None,
        settings: Settings | None = None,
        *,
        embedder_problem: str = "",
        untrusted: Sequence[str] = (),
        llm: Callable[[], LLM | None] = lambda: None,
        rerankers: Callable[[str], Reranker | None] = lambda name: None,
    ) -> None:
        self.storage, self.embedder = storage, embedder
        self.settings = settings or Settings()
        self.embedder_problem = embedder_problem
        self.untrusted = tuple(untrusted)
        self.load_llm = llm
        self.reranker = lru_cache(maxsize=4)(rerankers)

    @property
    def files(self) -> FolderStorage:
        """The storage as a folder, for what is about files.

        Raises:
            UsageError: it is not a folder.
        """
        return of_folder(self.storage)

    @property
    def search(self) -> Search:
        return self.storage.search

    @property
    def report(self) -> SyncReport | None:
        """What the last look at the truth found; None before the first."""
        return self.storage.report

    @cached_property
    def llm(self) -> LLM | None:
        """The language model, None where none is configured.

        It is asked outside the lock, never inside a decision.

        Raises:
            ProviderError: it is configured and cannot be loaded.
        """
        return self.load_llm()

    @property
    def has_llm(self) -> bool:
        """Whether a language model is configured and can be loaded."""
        return not self.llm_problem and self.llm is not None

    @property
    def llm_problem(self) -> str:
        """Why the configured language model cannot be loaded; empty where it can, or none is configured."""
        try:
            _ = self.llm
        except ProviderError as problem:
            return problem.message
        return ""

    def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        check: Callable[[Any], T],
        schema: Mapping[str, Any] | None = None,
        attempts: int = 3,
    ) -> Answer[T]:
        """What the language model answers, as `asking.ask` gives it; without one, or where it fails, rules answer."""
        from memctl.providers.answers import Answer, ask

        try:
            return ask(self.llm, messages, check, schema, attempts) if self.llm is not None else Answer()
        except ProviderError as problem:
            return Answer(problem=problem.message, answered=False)

    @cached_property
    def conversations(self) -> Conversations:
        """What was said to agents, word for word."""
        from memctl.conversations.service import Conversations

        return Conversations(self.storage.messages, lambda: self.settings, lambda: self.view().all())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.storage.close()

    def another(self) -> Self:
        """The same memories once more, for another thread, with the same models; whoever opens it closes it.

        Raises:
            StorageError: the storage cannot be opened again.
        """
        return type(self)(
            self.storage.another(), self.embedder, self.settings, embedder_problem=self.embedder_problem,
            untrusted=self.untrusted, llm=lambda: self.llm, rerankers=self.reranker,
        )  # fmt: skip

    @property
    def user(self) -> str:
        return self.storage.user

    def unready(self) -> str:
        """Why the embedder's vectors cannot be searched yet, empty where they can."""
        if self.embedder is None or self.ready_embedder() is not None:
            return ""
        return f"full text only: the index has no vectors of {self.embedder.name} yet; `memctl sync` makes them"

    def ready_embedder(self) -> Embedder | None:
        """The embedder, if the vectors that are searched are its own."""
        ready = self.embedder and self.storage.model() == self.embedder.identity
        return self.embedder if ready else None

    def healed(self, action: Callable[[], T]) -> T:
        """See `Storage.healed`."""
        return self.storage.healed(action)

    def refresh(self, *, vectors: bool = False) -> SyncReport:
        """See `Storage.refresh`."""
        return self.storage.refresh(vectors=vectors)

    def new_id(self, created: datetime) -> str:
        """An id for a memory of that time, drawn now."""
        return self.storage.ids(created, datetime.now(UTC))

    def change(self, decide: Callable[[View], Change], now: datetime | None = None) -> Change:
        """See `MemoryStore.change`."""
        self.refresh()

        def same(view: View) -> tuple[Change, Change]:
            change = decide(view)
            return change, change

        return self.apply(same, now or times.utc_now())

    def view(self) -> View:
        """The memories as they are now; without the lock, others may change them right after."""
        return self.storage.view()

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
        made = records.completed(whole, now, self.new_id(now), frozenset(given))
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

        return self.storage.apply(decide, now)

    def _looked_through(self, decide: Decision[T], on_secret: str) -> Decision[T]:
        policy = on_secret or self.settings.secrets
        if ALLOW in (policy, self.settings.secrets):
            return decide

        def looked_through(view: View) -> tuple[Change, T]:
            from memctl.core import guarding

            change, value = decide(view)
            return guarding.guarded_change(change, policy, lambda: _stored_text(view)), value

        return looked_through

    # Finding records

    def full_id(self, given: str) -> str:
        """The whole id for an id, for its beginning, or for its last four or more characters.

        Raises:
            NotFoundError: none or several fit.
            InvalidDataError: the one that fits cannot be read.
        """
        given = given.encode("utf-8", "replace").decode()
        view = self.view()
        if given and view.raws([given]):
            return given
        unreadable = self.storage.unreadable() if given else {}
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

    def _fitting(self, given: str, unreadable: Mapping[str, RawRecord]) -> set[str]:
        """The ids that begin so; where none does, those that end so, unless it is the whole id of what is gone."""
        starting = {*self.view().ids_starting(given, 10_000), *(name for name in unreadable if name.startswith(given))}
        if starting or len(given) < ids.SHORTEST_ENDING or self._is_gone(given):
            return starting
        return {*self.view().ids_ending(given, 10_000), *(name for name in unreadable if name.endswith(given))}

    def _is_gone(self, memory_id: str) -> bool:
        """Whether a memory was purged, or lies in the trash."""
        return memory_id in self.view().tombstones or any(
            trashed.memory.memory_id == memory_id for trashed in self.storage.trashed()
        )

    def _near_ids(self, given: str, starting: Sequence[str]) -> str:
        from difflib import get_close_matches

        if given in self.view().tombstones:
            return "It was purged: only its id is left, and nothing brings it back."
        if not starting and any(t.memory.memory_id == given for t in self.storage.trashed()):
            return f"It is in the trash: `memctl restore {argument(given)}`."
        if not starting and given and self.storage.operations(given):
            name = argument(given)
            return f"It is gone; `memctl log --ids {name}` tells how, `memctl restore --from OP {name}` brings it back."
        near = list(starting[:4]) or get_close_matches(given, self.view().ids_starting("", 20_000), 3, 0.7)
        more = f", or one of {len(starting) - 4} more" if len(starting) > 4 else ""
        return f"Did you mean {' or '.join(near)}{more}?" if near else "`memctl list` shows the ids."

    def trashed_id(self, given: str) -> str:
        """The whole id of something in the trash for an unambiguous beginning or ending; else what was given."""
        fitting = ids.fitting(given, [trashed.memory.memory_id for trashed in self.storage.trashed()])
        return fitting[0] if len(fitting) == 1 else given

    def findable(self, given: str) -> str:
        """As `full_id`, also for what is in the trash or known to the log alone.

        A whole id is never taken for the beginning of another, whatever has become of its memory.
        """
        self.refresh()
        given = given.encode("utf-8", "replace").decode()
        if given and given in self.view().tombstones:
            raise NotFoundError(f"no memory {given!r}", hint=self._near_ids(given, ()))
        if self.view().raws([given]):
            return given
        gone = {t.memory.memory_id for t in self.storage.trashed()}
        gone |= {step.memory_id for operation in self.storage.operations() for step in operation.records}
        if given in gone:
            return given
        try:
            return self.full_id(given)
        except NotFoundError:
            fitting = ids.fitting(given, gone)
            if len(fitting) == 1:
                return fitting[0]
            raise


def _readable(memory_id: str, unreadable: Mapping[str, RawRecord]) -> str:
    """The id, if its record can be read.

    Raises:
        InvalidDataError: it cannot, with the line and the reason.
    """
    if record := unreadable.get(memory_id):
        message = f"{memory_id} cannot be read: {record.problem}"
        hint = "Correct it there; until then it is left as it is. `memctl doctor` lists all such records."
        raise InvalidDataError(message, path=document.FILE_NAME, line=record.line, hint=hint)
    return memory_id


def _stored_text(view: View) -> str:
    """All that is stored of the memories, as one text."""
    parts = [json.dumps(view.header, ensure_ascii=False).encode(), *view.raws().values()]
    return b"\n".join(parts).decode("utf-8", "replace")

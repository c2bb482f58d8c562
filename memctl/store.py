"""One user's memories: the public Python API.

The everyday verbs are methods; everything else has a part of its own (`store.tasks`, `store.history`, …), which is
imported when it is first used: to import them all takes longer than to answer a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from memctl.memories.asking import Asking

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from memctl.config import Settings
    from memctl.conflicts.service import Conflicts
    from memctl.consolidation.service import Consolidation
    from memctl.context.service import ContextPack, Contexts
    from memctl.conversations.service import Conversations
    from memctl.core.models import Change, Memory, Query, QueryResult, Reflection
    from memctl.core.operations import Operation
    from memctl.core.records import Added
    from memctl.core.selection import Page, Selection
    from memctl.decay.service import Decay
    from memctl.documents.service import Documents
    from memctl.evaluation.service import Evaluations
    from memctl.extraction.service import Extraction
    from memctl.facts.candidates import Candidates
    from memctl.feedback.service import Judged, Judgements
    from memctl.history.service import History
    from memctl.local_state import LocalState
    from memctl.maintenance import Step
    from memctl.memories.adding import Adding
    from memctl.memories.assistant import Assistant
    from memctl.memories.changing import Changing
    from memctl.purge.planning import PurgeReport
    from memctl.reflections.service import Reflections
    from memctl.sessions.service import Ended, Sessions
    from memctl.storage.files.layout import UserFolder
    from memctl.storage.ports.storage import Progress, SyncReport
    from memctl.storage.ports.view import View
    from memctl.strategies.service import Strategies
    from memctl.tasks.service import Tasks
    from memctl.transfer.archive import Archive


class MemoryStore:
    """The memories of one user.

    Made by `memctl.open_store`. Times are UTC; every method that depends on the present takes `now`. Methods that
    change something raise `LockedError`, `StorageError`, `InvalidDataError` (the files cannot be read) or
    `RefusedError`, and have then changed nothing.

    Attributes:
        engine: the files and their index, and what reads and changes them.
    """

    def __init__(self, engine: Asking) -> None:
        self.engine = engine

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.engine.close()

    def another(self) -> Self:
        """The same memories once more, for another thread: with a connection of its own, and the same models.

        A connection is for one thread at a time. Whoever opens it closes it.

        Raises:
            StorageError: the index cannot be opened again.
        """
        return type(self)(self.engine.another())

    @property
    def user(self) -> str:
        return self.engine.user

    @property
    def folder(self) -> UserFolder:
        return self.engine.files.folder

    @property
    def settings(self) -> Settings:
        return self.engine.settings

    def add(
        self,
        content: str,
        *,
        detail: str | None = None,
        allow_duplicate: bool = False,
        allow_secret: bool = False,
        mode: str = "overwrite",
        now: datetime | None = None,
        **given: Any,
    ) -> Added:
        """Remember one thing.

        Args:
            content: the text; any Unicode.
            detail: Markdown to keep with it as its own reflection.
            allow_duplicate: store it even if the same text is there.
            allow_secret: store it even if a part of it looks like a secret.
            mode: what a new value of a fact with a key does to the old one: `overwrite`, `append` or `merge`.
            given: fields of `Memory` (category, kind, tags, key, value, importance, occurred_at, …).

        Returns:
            what became of it: added, counted as a mention of the same text, or an update of the fact with its key.

        Raises:
            RefusedError: a part looks like a secret, and the setting `secrets` is `refuse`.
        """
        return self._adding.add(
            content,
            detail=detail,
            allow_duplicate=allow_duplicate,
            allow_secret=allow_secret,
            mode=mode,
            now=now,
            **given,
        )

    def add_many(
        self,
        memories: Iterable[Memory],
        *,
        details: Mapping[int, str] | None = None,
        fronts: Mapping[int, str] | None = None,
        fields: Mapping[int, frozenset[str]] | None = None,
        command: str = "import",
        allow_duplicate: bool = False,
        allow_secret: bool = False,
        now: datetime | None = None,
        progress: Progress | None = None,
    ) -> list[Added]:
        """Remember many things at once; only exactly the same text is looked for.

        A memory with an `external_id` is always kept, once: a second import of it is skipped.

        Args:
            memories: with `memory_id` empty where a new one is wanted. Kind and importance are completed as `add` does,
                where nobody gave them; every other field is taken as it is.
            details: Markdown to keep with a memory, by its position.
            fronts: front matter of that Markdown whose fields are kept, but for those memctl writes itself.
            fields: names of the fields that somebody gave to a memory, by its position; else all of one with an id, and
                of another those that differ from the defaults of `Memory`.
            allow_secret: as for `add`; else nothing is stored if one of them holds a secret.
        """
        return self._adding.add_many(
            memories,
            details=details,
            fronts=fronts,
            fields=fields,
            command=command,
            allow_duplicate=allow_duplicate,
            allow_secret=allow_secret,
            now=now,
            progress=progress,
        )

    def query(
        self,
        question: str | Query,
        *,
        now: datetime | None = None,
        strict: bool = False,
        receipt: bool = True,
        **options: Any,
    ) -> QueryResult:
        """Ask what is known about something.

        Args:
            question: the words, or a whole `Query`; `options` are fields of `Query` (top, filters, min_score, route).
            strict: raise instead of giving an answer that is worse than it should be.
            receipt: note the answer, so that feedback can name it and its memories count as used.

        Raises:
            DegradedError: with `strict`, when there are no vectors or the files cannot be read.
        """
        return self.engine.query(question, now=now, strict=strict, receipt=receipt, **options)

    def get(self, memory_id: str) -> Memory:
        """One record by its id, or by an unambiguous beginning of it.

        Raises:
            NotFoundError: there is none; near ids are suggested.
        """
        return self.engine.get(memory_id)

    def select(self, selection: Selection | None = None, *, now: datetime | None = None) -> list[Memory]:
        """Records that fit, sorted; see `Selection`."""
        return self.engine.select(selection, now=now)

    def page(self, selection: Selection, *, now: datetime | None = None) -> Page:
        """As `select`, with how many there are beside those of `limit` and `offset`."""
        return self.engine.page(selection, now=now)

    def all(self) -> list[Memory]:
        """Every record, whatever its status, in time order."""
        return self.engine.all()

    def put(
        self,
        memory: Memory,
        *,
        expected: Memory | None = None,
        allow_secret: bool = False,
        command: str = "edit",
        now: datetime | None = None,
    ) -> Memory:
        """Replace a record by a changed one of the same id.

        Args:
            expected: the record as it was when the change was made up; where it is not given, `memory.updated_at` must
                still be that of the record.
            allow_secret: store it even if a part that was not there before looks like a secret.

        Raises:
            ConflictError: the record was changed by another.
            RefusedError: a part looks like a secret, and the setting `secrets` is `refuse`.
        """
        return self._changing.put(memory, expected=expected, allow_secret=allow_secret, command=command, now=now)

    def write_reflection(
        self,
        memory: Memory,
        text: str,
        *,
        expected: str | None = None,
        allow_secret: bool = False,
        now: datetime | None = None,
    ) -> Reflection:
        """Set the Markdown body of a record's reflection, as a person would.

        Args:
            expected: the body the text was made from.
            allow_secret: write it even if a part that is not in `expected` looks like a secret.

        Raises:
            ConflictError: the body is no longer as `expected`.
            RefusedError: a part looks like a secret, and the setting `secrets` is `refuse`.
        """
        return self._changing.write_reflection(memory, text, expected=expected, allow_secret=allow_secret, now=now)

    def forget(
        self,
        ids: Sequence[str],
        *,
        reason: str = "forgotten",
        messages: bool = True,
        about: str = "",
        now: datetime | None = None,
    ) -> list[Memory]:
        """Move memories to the trash, and delete the messages that say them, with what else was made from these and
        says the same; `undo` brings all of it back, `restore` the memories. The messages leave their windows and the
        queue too, so that nothing is learned from them once more. What is forgotten by the id of a message takes along
        all that was made from it alone.

        A likely secret in the reason is masked: to refuse would keep what is to be forgotten.

        Args:
            ids: of memories, or of messages.
            messages: whether the messages go; else only the memories.
            about: by which words a message was found; what was made from it and holds none of them stays.

        Returns:
            the memories that went.
        """
        return self._changing.forget(ids, reason=reason, messages=messages, about=about, now=now)

    def messages_saying(self, ids: Sequence[str], *, now: datetime | None = None) -> list[str]:
        """The ids of the messages that say some memories, and go when these are forgotten; and of answers that repeat
        one of the messages among them."""
        return self._changing.messages_saying(ids, now=now)

    def restore(self, ids: Sequence[str], *, dry_run: bool = False, now: datetime | None = None) -> list[Memory]:
        """Bring back what was archived or forgotten.

        Raises:
            NotFoundError: it is neither archived nor in the trash.
        """
        return self._changing.restore(ids, dry_run=dry_run, now=now)

    def purge(
        self,
        ids: Sequence[str],
        *,
        dry_run: bool = False,
        look: bool = True,
        expected: PurgeReport | None = None,
        now: datetime | None = None,
    ) -> PurgeReport:
        """Really forget: remove memories, what was made from them, and every trace in the user's files. No way back.

        Args:
            ids: of memories, or of messages, which take along what was made from them alone.
            look: whether a dry run also looks for what will be left, in all files and in git; that takes longest.
            expected: what a dry run has shown.

        Raises:
            ConflictError: more would go than `expected` says.
        """
        from memctl.purge.service import Purging

        return Purging(self.engine).run(ids, dry_run=dry_run, look=look, expected=expected, now=now)

    def refresh(self, *, vectors: bool = False) -> SyncReport:
        """Make the index say what the files say; part of every command.

        Args:
            vectors: whether a few missing vectors of a slow model are made as well, which only questions wait for.
        """
        return self.engine.refresh(vectors=vectors)

    def sync(
        self, *, deep: bool = False, allow_mass_change: bool = False, progress: Progress | None = None
    ) -> SyncReport:
        """As `refresh`, and make every vector that is missing, also by a server that did not answer lately."""
        return self.engine.storage.sync(deep=deep, allow_mass_change=allow_mass_change, progress=progress)

    def embed(self) -> SyncReport:
        """As `refresh`, and make every vector that is missing, unless the model's server did not answer lately."""
        return self.engine.storage.embed()

    def reindex(self, progress: Progress | None = None) -> SyncReport:
        """Delete the index and rebuild it from the files.

        Raises:
            InvalidDataError, RefusedError: `memory.json` cannot be read, and the index is all that still answers.
        """
        return self.engine.storage.reindex(progress)

    def change(self, decide: Callable[[View], Change], now: datetime | None = None) -> Change:
        """Apply any change, decided on under the lock; what every other method does."""
        return self.engine.change(decide, now)

    def feedback(self, memory_id: str, judgement: str, **options: Any) -> Judged:
        """Judge one memory or message; see `Judgements.give`."""
        return self.judgements.give(memory_id, judgement, **options)

    def undo(self, *, before_purge: bool = False, dry_run: bool = False, now: datetime | None = None) -> Operation:
        """Take back the last change.

        Args:
            before_purge: step over purges, which cannot be taken back.

        Raises:
            NotFoundError: there is nothing to undo.
            ConflictError: something it touched has changed since.
            RefusedError: the last change was a purge.
        """
        return self.history.undo(before_purge=before_purge, dry_run=dry_run, now=now).one()

    def redo(self, *, dry_run: bool = False, now: datetime | None = None) -> Operation:
        """Take back the last undo, if nothing was changed since.

        Raises:
            NotFoundError: there is nothing to redo.
            ConflictError: something it touched has changed since.
        """
        return self.history.redo(dry_run=dry_run, now=now).one()

    def end_session(
        self, session_id: str = "main", *, use_model: bool = True, wait: bool = True, now: datetime | None = None
    ) -> Ended:
        """End a session and the task at hand in it: learn from what is left, then remove it.

        Args:
            wait: False: all that is left waits in the queue, for `sessions.learn_pending` and `maintain`.

        Raises:
            NotFoundError: there is no such session.
            RefusedError: somebody else wrote it.
        """
        self.tasks.end(session_id, use_model=use_model, wait=wait, now=now)
        return self.sessions.end(session_id, use_model=use_model, wait=wait, now=now)

    def maintain(self, **options: Any) -> tuple[Step, ...]:
        """Everything that a timer should do; see `Maintenance.run`."""
        from memctl.maintenance import Maintenance

        return Maintenance(self.engine).run(**options)

    def build_context(self, question: str, **options: Any) -> ContextPack:
        """The context of a model's call, within a budget of tokens; see `Contexts.build`."""
        return self.context.build(question, **options)

    def export_archive(self, path: str | Path, *, with_log: bool = False) -> Archive:
        """Write every file of the user's, byte for byte, into one; `memctl.transfer.restoring.restore` brings it back.

        Args:
            with_log: also the operation log (undo, history), which holds what was changed and forgotten.

        Raises:
            LockedError, StorageError, InvalidDataError: no archive was written.
        """
        from pathlib import Path

        from memctl.transfer import archive

        with self.engine.files.all_locked():
            return archive.write(self.folder, Path(path).expanduser(), with_log=with_log)

    @cached_property
    def _adding(self) -> Adding:
        from memctl.memories.adding import Adding

        return Adding(self.engine)

    @cached_property
    def _changing(self) -> Changing:
        from memctl.memories.changing import Changing

        return Changing(self.engine)

    @cached_property
    def assistant(self) -> Assistant:
        """What an assistant asks for: saving what it is told, correcting it, and finding what words mean."""
        from memctl.memories.assistant import Assistant

        return Assistant(self.engine)

    @property
    def conversations(self) -> Conversations:
        """What was said to agents, word for word."""
        return self.engine.conversations

    @cached_property
    def context(self) -> Contexts:
        """What is known that matters, packed for a model's call."""
        from memctl.context.service import Contexts

        return Contexts(self.engine)

    @cached_property
    def sessions(self) -> Sessions:
        """The windows of conversations: their messages, making room, and learning from what leaves."""
        from memctl.sessions.service import Sessions

        return Sessions(self.engine)

    @cached_property
    def tasks(self) -> Tasks:
        """What agents are at."""
        from memctl.tasks.service import Tasks

        return Tasks(self.engine)

    @cached_property
    def extraction(self) -> Extraction:
        """Learning what a conversation says about the user."""
        from memctl.extraction.service import Extraction

        return Extraction(self.engine)

    @cached_property
    def documents(self) -> Documents:
        """Documents that are asked together with memories."""
        from memctl.documents.service import Documents

        return Documents(self.engine)

    @cached_property
    def reflections(self) -> Reflections:
        """Reflections, written from memories and refreshed when those change."""
        from memctl.reflections.service import Reflections

        return Reflections(self.engine)

    @cached_property
    def judgements(self) -> Judgements:
        """What was judged: feedback on memories and answers, and what training can take from it."""
        from memctl.feedback.service import Judgements

        return Judgements(self.engine)

    @cached_property
    def candidates(self) -> Candidates:
        """What was learned and is not believed yet, for a person to confirm or reject."""
        from memctl.facts.candidates import Candidates

        return Candidates(self.engine)

    @cached_property
    def conflicts(self) -> Conflicts:
        """Contradictions among memories, found when asked for and settled as a person says."""
        from memctl.conflicts.service import Conflicts

        return Conflicts(self.engine)

    @cached_property
    def consolidation(self) -> Consolidation:
        """Merging near-duplicates, and making knowledge and strategies of experience."""
        from memctl.consolidation.service import Consolidation

        return Consolidation(self.engine)

    @cached_property
    def decay(self) -> Decay:
        """Archiving what no longer matters."""
        from memctl.decay.service import Decay

        return Decay(self.engine)

    @cached_property
    def strategies(self) -> Strategies:
        """Error-recovery strategies: learned from calls that were fixed, asked when one fails."""
        from memctl.strategies.service import Strategies

        return Strategies(self.engine)

    @cached_property
    def history(self) -> History:
        """What was done and what was: the log, the memories of another time, and taking changes back."""
        from memctl.history.service import History

        return History(self.engine)

    @cached_property
    def evaluation(self) -> Evaluations:
        """How well one's own memories are found."""
        from memctl.evaluation.service import Evaluations

        return Evaluations(self.engine, self.judgements)

    @cached_property
    def local_state(self) -> LocalState:
        """What lies below `.memctl/` and this machine's user did not write."""
        from memctl.local_state import LocalState

        return LocalState(self.engine)

"""One user's memories: the public Python API. One short method a use case; truth first, index second.

Asking is there at once. Every other subject joins `MemoryStore` when one of its names is first used: to import them
all takes longer than to answer a question.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any

from memctl.memories.asking import Asking

if TYPE_CHECKING:
    from datetime import datetime

    from memctl.conflicts.service import Conflicts
    from memctl.consolidation.service import Consolidation
    from memctl.context.service import ContextPack, Contexts
    from memctl.decay.service import Decay
    from memctl.documents.service import Documents
    from memctl.evaluation.service import Evaluations
    from memctl.extraction.service import Extraction
    from memctl.facts.candidates import Candidates
    from memctl.feedback.service import Judged, Judgements
    from memctl.files.journal import Operation
    from memctl.history.service import History
    from memctl.local_state import LocalState
    from memctl.maintenance import Step
    from memctl.memories.adding import Adding
    from memctl.memories.assistant import Saving
    from memctl.memories.changing import Changing
    from memctl.reflections.service import Reflections
    from memctl.sessions.service import Ended, Sessions
    from memctl.strategies.service import Strategies
    from memctl.tasks.service import Tasks
    from memctl.usecases.archiving import Archiving

    class Subjects(
        Saving, Adding, Changing, Archiving,
    ):  # fmt: skip
        """Every subject, for type checkers."""

else:

    class Subjects(Asking):
        """The subjects in use so far."""


SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "saving.Saving": ("save", "amend", "meant_by"),
    "adding.Adding": ("add", "add_many"),
    "changing.Changing": ("put", "write_reflection", "forget", "messages_saying", "restore", "purge"),
    "archiving.Archiving": ("export_archive",),
}
"""Module and class of each subject, in the order in which Python looks through them, and what it adds to the store."""


class MemoryStore(Subjects):
    """The memories of one user.

    Made by `memctl.open_store`. Times are UTC; every method that depends on the present takes `now`. Methods that
    change something raise `LockedError`, `StorageError`, `InvalidDataError` (the files cannot be read) or
    `RefusedError`, and have then changed nothing.
    """

    @cached_property
    def context(self) -> Contexts:
        """What is known that matters, packed for a model's call."""
        from memctl.context.service import Contexts

        return Contexts(self)

    @cached_property
    def strategies(self) -> Strategies:
        """Error-recovery strategies: learned from calls that were fixed, asked when one fails."""
        from memctl.strategies.service import Strategies

        return Strategies(self)

    @cached_property
    def conflicts(self) -> Conflicts:
        """Contradictions among memories, found when asked for and settled as a person says."""
        from memctl.conflicts.service import Conflicts

        return Conflicts(self)

    @cached_property
    def documents(self) -> Documents:
        """Documents that are asked together with memories."""
        from memctl.documents.service import Documents

        return Documents(self)

    @cached_property
    def decay(self) -> Decay:
        """Archiving what no longer matters."""
        from memctl.decay.service import Decay

        return Decay(self)

    @cached_property
    def consolidation(self) -> Consolidation:
        """Merging near-duplicates, and making knowledge and strategies of experience."""
        from memctl.consolidation.service import Consolidation

        return Consolidation(self)

    @cached_property
    def evaluation(self) -> Evaluations:
        """How well one's own memories are found."""
        from memctl.evaluation.service import Evaluations

        return Evaluations(self, self.judgements)

    @cached_property
    def reflections(self) -> Reflections:
        """Reflections, written from memories and refreshed when those change."""
        from memctl.reflections.service import Reflections

        return Reflections(self)

    @cached_property
    def extraction(self) -> Extraction:
        """Learning what a conversation says about the user."""
        from memctl.extraction.service import Extraction

        return Extraction(self)

    @cached_property
    def sessions(self) -> Sessions:
        """The windows of conversations: their messages, making room, and learning from what leaves."""
        from memctl.sessions.service import Sessions

        return Sessions(self)

    @cached_property
    def tasks(self) -> Tasks:
        """What agents are at."""
        from memctl.tasks.service import Tasks

        return Tasks(self)

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

    @cached_property
    def local_state(self) -> LocalState:
        """What lies below `.memctl/` and this machine's user did not write."""
        from memctl.local_state import LocalState

        return LocalState(self)

    def maintain(self, **options: Any) -> tuple[Step, ...]:
        """Everything that a timer should do; see `Maintenance.run`."""
        from memctl.maintenance import Maintenance

        return Maintenance(self).run(**options)

    @cached_property
    def judgements(self) -> Judgements:
        """What was judged: feedback on memories and answers, and what training can take from it."""
        from memctl.feedback.service import Judgements

        return Judgements(self)

    @cached_property
    def candidates(self) -> Candidates:
        """What was learned and is not believed yet, for a person to confirm or reject."""
        from memctl.facts.candidates import Candidates

        return Candidates(self)

    def feedback(self, memory_id: str, judgement: str, **options: Any) -> Judged:
        """Judge one memory or message; see `Judgements.give`."""
        return self.judgements.give(memory_id, judgement, **options)

    @cached_property
    def history(self) -> History:
        """What was done and what was: the log, the memories of another time, and taking changes back."""
        from memctl.history.service import History

        return History(self)

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

    def build_context(self, question: str, **options: Any) -> ContextPack:
        """The context of a model's call, within a budget of tokens; see `Contexts.build`."""
        return self.context.build(question, **options)


class _Later:
    """A name of a subject that has not joined yet: to ask for it makes the subject join."""

    def __init__(self, subject: str, name: str) -> None:
        self.subject, self.name = subject, name

    def __get__(self, store: MemoryStore | None, owner: type[MemoryStore]) -> Any:
        _join(self.subject)
        return vars(Subjects)[self.name].__get__(store, owner)


_joining = RLock()
_joined: dict[str, type] = {}


def _join(subject: str) -> None:
    """Make a subject one of the bases, and put what its names stand for in their place, where `help` finds it too."""
    with _joining:
        module, _, name = subject.partition(".")
        _joined[subject] = joining = getattr(import_module(f"memctl.usecases.{module}"), name)
        Subjects.__bases__ = (*(_joined[known] for known in SUBJECTS if known in _joined), Asking)
        for each in SUBJECTS[subject]:
            setattr(Subjects, each, vars(joining)[each])


if not TYPE_CHECKING:
    for _subject, _names in SUBJECTS.items():
        for _name in _names:
            setattr(Subjects, _name, _Later(_subject, _name))

"""Work of an agent's memory that is done after a call has returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memctl.background import Worker
from memctl.core.turns import Turn
from memctl.errors import MemctlError
from memctl.store import MemoryStore


class Deferred:
    """Runs work in a thread with a store of its own; at once, within the call, without a thread.

    Args:
        turn: held while work runs within the call.
    """

    def __init__(self, store: MemoryStore, turn: Turn, *, background: bool) -> None:
        self.problems: list[str] = []
        self._store, self._turn = store, turn
        self._worker = Worker(store, self.problems.append) if background else None

    @property
    def has_thread(self) -> bool:
        return self._worker is not None

    def submit(self, act: Callable[[MemoryStore], Any], name: str = "") -> None:
        """Do something later."""
        if self._worker:
            self._worker.submit(act, name)
            return
        try:
            with self._turn:
                act(self._store)
        except MemctlError as problem:
            self.problems.append(problem.message)

    def learn(self) -> None:
        """Learn later from ended tasks and from the queues of sessions."""
        self.submit(self._learn, "learning")

    def learn_by_model(self) -> None:
        """As `learn`, if there is a thread and a language model; else the next `maintain` does it."""
        if self._worker and self._store.engine.has_llm:
            self.learn()

    def _learn(self, store: MemoryStore) -> None:
        for taught in store.tasks.teach():
            self.problems.extend(taught.notes)
        for learned in store.sessions.learn_pending():
            self.problems.extend(learned.notes)

    def settle(self, seconds: float | None) -> list[str]:
        """Wait for the work; the problems since the last call."""
        if self._worker:
            self._note_left(self._worker.wait(self._store.settings.llm_timeout if seconds is None else seconds))
        problems = list(self.problems)
        del self.problems[: len(problems)]
        return problems

    def close(self, seconds: float | None) -> None:
        """Wait for the work, and end the thread."""
        worker, self._worker = self._worker, None
        if worker:
            self._note_left(worker.close(seconds))

    def _note_left(self, left: int) -> None:
        if left:
            many = "1 piece" if left == 1 else f"{left} pieces"
            self.problems.append(f"{many} of background work not done yet: nothing is lost, `maintain` does the rest")

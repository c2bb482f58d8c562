"""What a language model says about tasks that are over: how they were done, what is to be learned.

Rules answer at once, when the task ends. Its episode is marked as waiting for the model, so that a slow or absent model
delays nobody: `maintain` or an agent's thread asks it later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memctl.core import times
from memctl.core.models import Change, Memory
from memctl.core.sensitive import MASK
from memctl.storage.ports.view import View
from memctl.tasks.closing import Closing

if TYPE_CHECKING:  # imported here, the rules of tasks would slow down the start of every command
    from memctl.providers.answers import Answer
    from memctl.tasks.episodes import Explanation


@dataclass(frozen=True)
class Taught:
    """A task's episode after the model was asked; `notes` say why it is still as rules wrote it."""

    episode: Memory
    notes: tuple[str, ...] = ()


class Teaching(Closing):
    """Asks a language model about tasks that are over."""

    def teach(self, *, now: datetime | None = None) -> list[Taught]:
        """Ask the language model about the tasks that wait for it; empty where none is configured.

        Its answer goes into their episodes and strategies, except where a person wrote or changed something. Tasks go
        on waiting where it does not answer.
        """
        from memctl.tasks.episodes import is_waiting

        if not self._engine.has_llm:
            return []
        self._engine.refresh()
        waiting = [memory for memory in self._engine.view().all() if is_waiting(memory)]
        return [self._teach(episode, now or times.utc_now()) for episode in waiting]

    def _teach(self, episode: Memory, now: datetime) -> Taught:
        from memctl.tasks import episodes, strategies

        answer = self._explanation(episode.metadata)
        notes = answer.notes("lessons by rules")
        if not answer.answered:
            return Taught(episode, notes)

        def decide(view: View) -> tuple[Change, Memory]:
            before = view.get(episode.memory_id)
            if before is None or before.metadata != episode.metadata:
                return Change("task"), episode
            after = replace(episodes.explained(before, answer.value), updated_at=now)
            changed = strategies.retaught(view, before, after, now) if answer.value else []
            edits = tuple(edit for _, file in changed for edit in file.edits)
            return Change("task", (after, *(record for record, _ in changed)), texts=edits), after

        return Taught(self._engine.apply(decide, now, on_secret=MASK), notes)

    def _explanation(self, about: Mapping[str, Any]) -> Answer[Explanation]:
        """The model's explanation of a task."""
        from memctl.core.tagged import as_json
        from memctl.providers.answers import conversation
        from memctl.tasks import episodes

        shown = {name: value for name, value in about.items() if name != episodes.UNEXPLAINED}
        source = "\n".join(_texts(shown))
        return self._engine.ask(
            conversation(episodes.LESSONS_TASK, as_json("task", shown)),
            lambda answer: episodes.explanation(answer, source),
            episodes.LESSONS,
            attempts=1,
        )


def _texts(value: object) -> list[str]:
    """All texts in a JSON value."""
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in _texts(part)]
    return [str(value)]

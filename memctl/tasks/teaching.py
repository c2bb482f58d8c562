"""What a language model says on tasks that are over: how they were done, what is to be learned.

Rules say it at once, when the task ends. An episode that waits for a model is marked, so that a slow model, or one that
is away, keeps nobody waiting: whoever is next with time (`maintain`, an agent's thread) asks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memctl.core import times
from memctl.core.formats import reflections
from memctl.core.models import ACTIVE, Change, Filters, Memory, TextEdit
from memctl.core.sensitive import MASK
from memctl.reflections.writing import Written, written
from memctl.storage.ports.view import View
from memctl.tasks.closing import Closing

if TYPE_CHECKING:  # the rules of tasks cost every command's start, if they are imported here
    from memctl.providers.asking import Answer
    from memctl.tasks.episodes import Said


@dataclass(frozen=True)
class Taught:
    """A task's episode after a model was asked about it; `notes` say why rules still stand."""

    episode: Memory
    notes: tuple[str, ...] = ()


class Teaching(Closing):
    """A language model's word on tasks that are over."""

    def teach(self, *, now: datetime | None = None) -> list[Taught]:
        """Ask the language model about the tasks that wait for it; nothing where none is configured.

        Their episodes and strategies then say what it said, where nobody else had; what a person has changed meanwhile
        stays as it is. They go on waiting where it does not answer.
        """
        from memctl.tasks.episodes import is_waiting

        if not self._engine.has_llm:
            return []
        self._engine.refresh()
        waiting = [memory for memory in self._engine.view().all() if is_waiting(memory)]
        return [self._teach(episode, now or times.utc_now()) for episode in waiting]

    def _teach(self, episode: Memory, now: datetime) -> Taught:
        from memctl.tasks import episodes as task_episodes

        answer = self._lessons(episode.metadata)
        notes = answer.notes("lessons by rules")
        if not answer.answered:
            return Taught(episode, notes)
        said = answer.value

        def decide(view: View) -> tuple[Change, Memory]:
            held = view.get(episode.memory_id)
            if held is None or held.metadata != episode.metadata:
                return Change("task"), episode
            result = replace(task_episodes.taught(held, said), updated_at=now)
            strategies, files = _with_strategies(view, held, result, now) if said else ([], [])
            return Change("task", (result, *strategies), texts=tuple(files)), result

        return Taught(self._engine.apply(decide, now, on_secret=MASK), notes)

    def _lessons(self, about: Mapping[str, Any]) -> Answer[Said]:
        """What the model says on a task."""
        from memctl.core.tagged import as_json
        from memctl.providers.asking import conversation
        from memctl.tasks import episodes as task_episodes

        shown = {name: value for name, value in about.items() if name != task_episodes.UNTOLD}
        state = "\n".join(_texts(shown))
        return self._engine.ask(
            conversation(task_episodes.LESSONS_TASK, as_json("task", shown)),
            lambda answer: task_episodes.said_by_model(answer, state),
            task_episodes.LESSONS,
            attempts=1,
        )


def _texts(value: object) -> list[str]:
    """All texts in a JSON value."""
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in _texts(part)]
    return [str(value)]


def _with_strategies(view: View, before: Memory, after: Memory, now: datetime) -> tuple[list[Memory], list[TextEdit]]:
    """The strategies that were made of an episode, and their reflections, with what it says now."""
    changed = [_retold(view, strategy, before, after, now) for strategy in _made_from(view, before, now)]
    return [record for record, _ in changed], [edit for _, made in changed for edit in made.edits]


def _made_from(view: View, episode: Memory, now: datetime) -> list[Memory]:
    from memctl.tasks.strategies import STRATEGY_TAG

    strategies = view.matching(Filters(kinds=("strategy",), tags=(STRATEGY_TAG,)), now)
    return [m for m in strategies if m.status == ACTIVE and episode.memory_id in m.sources]


def _retold(view: View, strategy: Memory, before: Memory, after: Memory, now: datetime) -> tuple[Memory, Written]:
    from memctl.tasks.strategies import WORKED, Proposal, retold, strategy_body

    about = strategy.metadata
    verdict, description = str(about.get("verdict")), str(about.get("task_description", ""))
    was, now_is = (str(episode.metadata.get("approach", "")) for episode in (before, after))
    content = retold(strategy, was, now_is) if verdict == WORKED and strategy.sources == (before.memory_id,) else ""
    strategy = replace(strategy, content=content or strategy.content, updated_at=now)
    why = now_is if verdict == WORKED else str(after.metadata.get("outcome_summary") or strategy.content)
    episodes = [after if m.memory_id == after.memory_id else m for m in map(view.get, strategy.sources) if m]
    body = strategy_body(Proposal(verdict, description, why, strategy.content, strategy.tags), episodes)
    path = strategy.summary_md_ref
    path = path if reflections.is_reference(path) else reflections.path_for(strategy.memory_id)
    strategy = replace(strategy, summary_md_ref=path)
    return strategy, written(view, strategy, body, now)

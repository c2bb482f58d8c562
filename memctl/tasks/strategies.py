"""Strategies that tasks teach: what worked for tasks of a kind, or why they failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memctl.core.models import Memory
from memctl.core.text.language import language_of
from memctl.core.text.shortening import one_line, shortened
from memctl.sessions.summary import telling
from memctl.tasks.episodes import approach_of
from memctl.tasks.rules import FAILURE, Task

WORKED, AVOID = "worked", "avoid"
STRATEGY_TAG = "task_strategy"
SAME_TASK = 0.6
"""Share of telling words in common from which two tasks are the same, for their strategies."""


@dataclass(frozen=True)
class Proposal:
    """A strategy that a task teaches: what worked, or why it failed.

    Args:
        verdict: `worked` or `avoid`.
        description: the task; tasks that are alike in it share one strategy.
        why: the approach that worked, or what it failed of.
    """

    verdict: str
    description: str
    why: str
    content: str
    tags: tuple[str, ...]


def strategy_of(task: Task) -> Proposal | None:
    """What a task that is over teaches; None where nobody can say what worked, or why it failed."""
    verdict = AVOID if task.outcome == FAILURE else WORKED
    errors = [step.error for step in task.steps if step.error]
    failure = [f"{step.description}: {step.error}" for step in task.steps if step.error]
    why = (task.outcome_summary or (failure or [""])[-1]) if verdict == AVOID else approach_of(task)
    if not why.strip() or (verdict == AVOID and not errors and not task.lessons and not task.outcome_summary):
        return None
    zh = language_of(task.original_request) == "zh"
    forms = {
        (WORKED, False): "For {task!r}, this worked: {why}", (AVOID, False): "{task!r} failed: {why}",
        (WORKED, True): "“{task}”：这样做有效：{why}", (AVOID, True): "“{task}”失败的原因：{why}",
    }  # fmt: skip
    why_shown = shortened(why, LONGEST_WHY["zh" if zh else "en"])
    content = forms[verdict, zh].format(task=shortened(task.goal, 120), why=why_shown)
    tags = (STRATEGY_TAG, verdict, *(f"tool:{tool}" for tool in task.tools_used))
    return Proposal(verdict, task.original_request, why, content, tags)


LONGEST_WHY = {"en": 300, "zh": 160}


def retold(strategy: Memory, before: str, after: str) -> str:
    """A strategy's text with another approach at its end; the same text where it does not end in that approach."""
    most = LONGEST_WHY[language_of(str(strategy.metadata.get("task_description", "")))]
    head = strategy.content.removesuffix(shortened(before, most))
    return strategy.content if head == strategy.content else head + shortened(after, most)


def same_task(one: str, other: str) -> bool:
    """Whether two descriptions are of the same task."""
    first, second = telling(one), telling(other)
    whole = first | second
    return one.strip() == other.strip() or (bool(whole) and len(first & second) / len(whole) >= SAME_TASK)


def strategy_confidence(times_seen: int) -> float:
    """How sure a strategy of so many tasks is: Laplace's rule, as for those that are consolidated."""
    return round((times_seen + 1) / (times_seen + 2), 2)


_HEADINGS = {
    "en": {WORKED: "What worked: {}", AVOID: "What failed: {}", "steps": "Steps", "lessons": "Lessons",
           "seen": "Seen in", "decisions": "Decisions"},
    "zh": {WORKED: "有效的做法：{}", AVOID: "失败的做法：{}", "steps": "步骤", "lessons": "教训", "seen": "来源",
           "decisions": "决定"},
}  # fmt: skip
_MOST_TOLD = 8


def strategy_body(proposal: Proposal, episodes: Sequence[Memory]) -> str:
    """The Markdown of a strategy, from the episodes of its tasks, oldest first."""
    words = _HEADINGS[language_of(proposal.description)]
    last = episodes[-_MOST_TOLD:][::-1]
    parts = [f"# {words[proposal.verdict].format(shortened(proposal.description, 80))}", shortened(proposal.why, 600)]
    steps = next((s for e in last if isinstance(s := e.metadata.get("steps"), list) and s), [])
    if listed := [_told_step(step) for step in steps if isinstance(step, Mapping)]:
        parts.append(f"## {words['steps']}\n\n" + "\n".join(f"{n}. {text}" for n, text in enumerate(listed, 1)))
    for name, heading in (("lessons", "lessons"), ("key_decisions", "decisions")):
        found = dict.fromkeys(one_line(str(text))[:300] for e in last for text in e.metadata.get(name) or ())
        if found:
            parts.append(f"## {words[heading]}\n\n" + "\n".join(f"- {text}" for text in list(found)[:_MOST_TOLD]))
    seen = [f"- {e.memory_id}: {one_line(str(e.metadata.get('outcome_summary') or e.content))[:200]}" for e in last]
    return "\n\n".join([*parts, f"## {words['seen']}\n\n" + "\n".join(seen)])


def _told_step(step: Mapping[str, Any]) -> str:
    tool = f" (`{step['tool_name']}`)" if step.get("tool_name") else ""
    failed = f" — {one_line(str(step['error']))[:160]}" if step.get("error") else ""
    return f"{one_line(str(step.get('description', '')))[:200]}{tool}{failed}"

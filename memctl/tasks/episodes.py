"""What a task that is over leaves behind: its episode, how it was done, what was learned, the user's word on it.

A language model may say how it was done and what was learned, as far as nobody has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memctl.core.models import CANDIDATE, Memory
from memctl.core.text.language import language_of
from memctl.core.text.shortening import shortened
from memctl.sessions.summary import NUMBER, telling
from memctl.sessions.topics import key_topics
from memctl.tasks.rules import (
    COMPLETED,
    FAILED,
    FAILURE,
    LONGEST_KEPT,
    PARTIAL,
    SHOWN_NOTE,
    SHOWN_RESULT,
    SUCCESS,
    Step,
    Task,
    cut,
)

IMPORTANCE = {SUCCESS: 0.8, PARTIAL: 0.8, FAILURE: 0.9}
FEEDBACK_IMPORTANCE = 0.9
"""Importance at writing (formulas): success 0.8, failure 0.9, explicit feedback 0.9."""

SOURCE = "task_result"
FEEDBACK_SOURCE = "user_feedback"


def episode_of(task: Task, taught: Sequence[str] = ()) -> Memory:
    """The episode of a task that is over, without an id (outcome, steps and lessons stand in the metadata).

    Args:
        taught: ids of strategies that say all there is to learn from it, so that nothing is made of it again.
    """
    zh = language_of(task.original_request) == "zh"
    outcome = task.outcome or FAILURE
    about: dict[str, Any] = {
        "task_id": task.id,
        "trigger_type": task.trigger_type,
        "trigger_summary": task.trigger_summary,
        "task_description": task.original_request[:LONGEST_KEPT],
        "approach": approach_of(task),
        "steps": [_episode_step(step) for step in task.steps],
        "outcome": outcome,
        "outcome_summary": shortened(task.outcome_summary, 400),
        "key_decisions": list(task.decisions),
        "tools_used": list(task.tools_used),
        "lessons": lessons_of(task),
        "target": task.target,
        "key_topics": key_topics([task.original_request, task.outcome_summary, *task.decisions]),
        "memories_used": list(task.memories_used),
        "findings": {name: cut(text, SHOWN_NOTE) for name, text in task.scratchpad.items()},
        "context": _shown_arguments(task.context),
        "knowledge_candidates": list(task.knowledge),
        "ended_by": task.ended_by,
        "taught": list(taught),
    }
    return Memory(
        "",
        _content(task, outcome, zh),
        kind="episode",
        category="work",
        tags=task.tags,
        importance=IMPORTANCE[outcome],
        confidence=0.9,
        source=SOURCE,
        occurred_at=task.completed_at,
        session_id=task.session_id,
        external_id=task.id,
        metadata={name: value for name, value in about.items() if value not in ("", [], {})},
    )


_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {SUCCESS: "done", PARTIAL: "done in part", FAILURE: "failed", "form": "{task}: {how}{told}", "told": ". {}"},
    "zh": {SUCCESS: "已完成", PARTIAL: "部分完成", FAILURE: "失败", "form": "{task}：{how}{told}", "told": "。{}"},
}


def _content(task: Task, outcome: str, zh: bool) -> str:
    words = _WORDS["zh" if zh else "en"]
    told = shortened(task.outcome_summary, 80 if zh else 200)
    return words["form"].format(
        task=shortened(task.goal, 60 if zh else 150).rstrip(".。"),
        how=words[outcome],
        told=words["told"].format(told) if told else "",
    )


def _episode_step(step: Step) -> dict[str, Any]:
    found = {
        "description": step.description, "tool_name": step.tool_name, "status": step.status,
        "args": _shown_arguments(step.args),
        "result": cut(step.result, SHOWN_RESULT), "error": cut(step.error, SHOWN_RESULT),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value}


def _shown_arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a step as its episode keeps them: long values cut, as text."""
    texts = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for name, value in args.items()
    }
    return {name: args[name] if len(text) <= SHOWN_RESULT else cut(text, SHOWN_RESULT) for name, text in texts.items()}


def approach_of(task: Task) -> str:
    """How it was done: as was said, else the steps that worked."""
    worked = [step.description.rstrip(".。") for step in task.steps if step.status == COMPLETED]
    joint = "；" if language_of(task.original_request) == "zh" else "; "
    return task.approach or shortened(joint.join(dict.fromkeys(worked)), 300)


def lessons_of(task: Task) -> list[str]:
    """What was learned: as was said, else what failed and what helped then."""
    colon = "：" if language_of(task.original_request) == "zh" else ": "
    found = list(task.lessons)
    for failed, mended in recoveries(task):
        helped = shortened(mended.description or mended.tool_name, 160)
        found.append(f"{failed.tool_name}{colon}{shortened(failed.error, 160)} → {helped}")
    if not found and task.outcome == FAILURE:
        found += [f"{step.description}{colon}{shortened(step.error, 200)}" for step in task.steps if step.error][-3:]
    return list(dict.fromkeys(found))


def recoveries(task: Task) -> list[tuple[Step, Step]]:
    """Steps that failed, each with the next that called the same tool and succeeded."""
    found = []
    for at, step in enumerate(task.steps):
        later = (other for other in task.steps[at + 1 :] if other.tool_name == step.tool_name)
        if step.tool_name and step.status == FAILED and (after := next(later, None)) and after.status == COMPLETED:
            found.append((step, after))
    return found


KNOWLEDGE_CONFIDENCE = 0.5
"""Confidence of what one task found worth knowing: the least that knowledge may have (formulas)."""


def knowledge_of(task: Task, text: str) -> Memory:
    """A candidate for new knowledge that a task noted, without an id: a person confirms or rejects it."""
    about = {"task_id": task.id, "topic": shortened(task.target or task.goal, 120), "target": task.target}
    return Memory(
        "",
        text,
        kind="knowledge",
        category="work",
        tags=task.tags,
        confidence=KNOWLEDGE_CONFIDENCE,
        status=CANDIDATE,
        source=SOURCE,
        session_id=task.session_id,
        metadata={name: value for name, value in about.items() if value},
    )


def told_by_recoveries(task: Task) -> bool:
    """Whether all that a task teaches is how calls were corrected: then its error-recovery strategies say it."""
    worked = {id(step) for step in task.steps if step.status == COMPLETED}
    corrected = {id(after) for _, after in recoveries(task)}
    return bool(worked) and worked <= corrected and not (task.approach or task.lessons or task.outcome == FAILURE)


def feedback_episode(
    task_id: str, description: str, feedback: str, session_id: str, about: Mapping[str, Any]
) -> Memory:
    """The user's word on a task: an episode of its own.

    Args:
        about: metadata of the task's episode, where there is one.
    """
    zh = language_of(feedback, description) == "zh"
    told = " ".join(feedback.split())
    head = (
        f"用户对“{shortened(description, 60)}”的反馈：" if zh else f"User feedback on {shortened(description, 120)!r}: "
    )
    kept = {name: about[name] for name in ("target", "tools_used", "key_topics") if about.get(name)}
    lesson = f"用户反馈：{told}" if zh else f"User feedback: {told}"
    return Memory(
        "",
        head + told,
        kind="episode",
        category="work",
        tags=("feedback",),
        importance=FEEDBACK_IMPORTANCE,
        confidence=0.95,
        source=FEEDBACK_SOURCE,
        session_id=session_id,
        metadata={
            "task_id": task_id,
            "task_description": description,
            "user_feedback": told,
            "lessons": [lesson],
            **kept,
        },
    )


# By a language model

LESSONS_TASK = """An agent's task is over. From its state give: `approach` (one sentence: how it was done), `lessons` (0
to 5 sentences worth knowing for the next task of this kind). Use only what stands there: no number or name of your own.
Write in the language of the task."""

LESSONS: Mapping[str, Any] = {
    "type": "object",
    "properties": {"approach": {"type": "string"}, "lessons": {"type": "array", "items": {"type": "string"}}},
    "required": ["approach", "lessons"],
}


UNTOLD = "lessons_wanted"
"""Metadata of an episode that waits for a language model: what nobody has said, of `approach` and `lessons`."""


@dataclass(frozen=True)
class Said:
    """What a language model says on a task that is over."""

    approach: str
    lessons: tuple[str, ...]


def untold(task: Task) -> list[str]:
    """What nobody has said of a task that is over, and a model may say."""
    return [name for name, told in (("approach", task.approach), ("lessons", task.lessons)) if not told]


def said_by_model(answer: Mapping[str, Any], state: str) -> Said:
    """What a model answered.

    Raises:
        ValueError: it says what is not in the state, or too much.
    """
    approach, lessons = answer["approach"].strip(), [text.strip() for text in answer["lessons"] if text.strip()]
    told = "\n".join([approach, *lessons])
    known = telling(state)
    invented = set(NUMBER.findall(told)) - set(NUMBER.findall(state))
    if not approach or len(lessons) > 5 or len(told) > 2_000 or invented or not telling(told) & known:
        raise ValueError("it says what is not in the task's state, or too much")
    return Said(approach, tuple(lessons))


def with_lessons(task: Task, said: Said) -> Task:
    """The task with what a model makes of it, where its people said nothing."""
    return replace(task, approach=task.approach or said.approach, lessons=task.lessons or said.lessons)


# Later


def waiting_for_model(episode: Memory, names: Sequence[str]) -> Memory:
    """The episode, marked: a model shall say what nobody has."""
    return replace(episode, metadata={**episode.metadata, UNTOLD: list(names)}) if names else episode


def is_waiting(memory: Memory) -> bool:
    return memory.kind == "episode" and memory.source == SOURCE and bool(memory.metadata.get(UNTOLD))


def taught(episode: Memory, said: Said | None) -> Memory:
    """The episode with what a model said, in place of what rules put together; no longer marked."""
    about = dict(episode.metadata)
    wanted = about.pop(UNTOLD, ())
    if said and "approach" in wanted:
        about["approach"] = said.approach
    if said and "lessons" in wanted and said.lessons:
        about["lessons"] = list(dict.fromkeys((*said.lessons, *about.get("lessons", ()))))
    return replace(episode, metadata=about)

"""A task as the state of the component `task` in its session's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from memctl.core import times
from memctl.errors import InvalidDataError
from memctl.tasks.models import STATUSES, Step, Task

_TIMES = ("started_at", "updated_at", "completed_at")
_LISTS = ("decisions", "memories_used", "knowledge", "tags", "lessons")
_STEP_TEXTS = ("description", "tool_name", "result", "error", "status", "call_id")


def to_state(task: Task) -> dict[str, Any]:
    state: dict[str, Any] = {f.name: getattr(task, f.name) for f in fields(task) if f.name != "extra"}
    state |= {name: _moment(state[name]) for name in _TIMES}
    state |= {name: list(state[name]) for name in _LISTS}
    state |= {name: dict(state[name]) for name in ("scratchpad", "context")}
    state["steps"] = [_step_state(step) for step in task.steps]
    if not task.ended_by:
        del state["ended_by"]
    return {**state, **task.extra}


def _step_state(step: Step) -> dict[str, Any]:
    state: dict[str, Any] = {f.name: getattr(step, f.name) for f in fields(step) if f.name != "extra"}
    state |= {name: _moment(state[name]) for name in _TIMES if name in state}
    state = {name: value for name, value in state.items() if value or name != "call_id"}
    return {**state, "args": dict(step.args), **step.extra}


def _moment(moment: datetime | None) -> str | None:
    return times.to_text(moment) if moment else None


def from_state(state: Any) -> Task:
    """A task from the state of its component.

    Raises:
        InvalidDataError: it is not a valid task.
    """
    if not isinstance(state, Mapping) or not all(isinstance(state.get(n), str) for n in ("id", "original_request")):
        raise InvalidDataError("the component `task` has no task", hint="`memctl session delete ID` removes it.")
    known = {f.name for f in fields(Task)} - {"extra"}
    try:
        values: dict[str, Any] = {"session_id": ""}
        values |= {name: _field(name, state[name]) for name in known if state.get(name) is not None}
        task = Task(**values, extra={name: value for name, value in state.items() if name not in known})
    except (TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise InvalidDataError(f"the component `task` is malformed: {problem}") from None
    if task.status not in STATUSES or any(step.status not in STATUSES for step in task.steps):
        raise InvalidDataError(f"the task has an unknown status; statuses: {', '.join(STATUSES)}")
    return task


def _field(name: str, value: Any) -> Any:
    if name in _TIMES:
        return times.from_value(value)
    if name in _LISTS:
        return tuple(map(str, value))
    if name == "steps":
        return tuple(_step(step) for step in value)
    if name in ("scratchpad", "context"):
        return {str(key): str(text) if name == "scratchpad" else text for key, text in value.items()}
    return int(value) if name in ("current_step", "iteration") else str(value)


def _step(state: Mapping[str, Any]) -> Step:
    known = {f.name for f in fields(Step)} - {"extra"}
    values: dict[str, Any] = {name: state[name] for name in known if state.get(name) is not None}
    values |= {name: times.from_value(values[name]) for name in _TIMES if name in values}
    values |= {name: str(values[name]) for name in _STEP_TEXTS if name in values}
    extra = {name: value for name, value in state.items() if name not in known}
    return Step(**{"description": "", **values, "args": dict(values.get("args", {}))}, extra=extra)

"""Fading: the half-life rule of system C, corrected: computed from the base, so that twice is once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memctl import times
from memctl.models import ACTIVE, ARCHIVED, Memory

HALF_LIFE = "half-life"


@dataclass(frozen=True)
class HalfLife:
    """The rule's numbers: days, days, importance in [0, 1]."""

    half_life_days: float = 90.0
    from_days: float = 30.0
    threshold: float = 0.1


@dataclass(frozen=True)
class Forecast:
    """How a memory fades.

    Args:
        score: its importance now, decayed.
        fades_on: when the score falls below the threshold; None where it never does.
        faded: whether that is past.
    """

    memory: Memory
    score: float
    threshold: float
    fades_on: datetime | None
    faded: bool
    reason: str = ""


def last_touched(memory: Memory) -> datetime | None:
    """From when age runs: the latest of written, imported and last used; None where nothing is known."""
    known = [t for t in (memory.created_at, memory.imported_at, memory.last_accessed_at) if t]
    return max(known, default=None)


def fades(memory: Memory) -> bool:
    """Only episodes fade by age, never pinned ones, and never one whose age nobody knows."""
    known_age = last_touched(memory) is not None
    return memory.kind == "episode" and memory.status == ACTIVE and not memory.pinned and known_age


def decayed_importance(memory: Memory, now: datetime, rule: HalfLife) -> float:
    """`importance * 2^(-age_days / half_life)`, from `from_days` of age; the base before that (formulas, from C)."""
    touched = last_touched(memory)
    if touched is None or not fades(memory):
        return memory.importance
    age = times.days_between(touched, now)
    return memory.importance if age < rule.from_days else float(memory.importance * 2 ** (-age / rule.half_life_days))


def forecast(memory: Memory, now: datetime, rule: HalfLife) -> Forecast:
    """Where a memory stands under the rule, and when it will fade."""
    score = decayed_importance(memory, now, rule)
    touched = last_touched(memory)
    if touched is None or not fades(memory) or rule.threshold <= 0:
        return Forecast(memory, score, rule.threshold, None, False)
    days = rule.half_life_days * math.log2(memory.importance / rule.threshold) if memory.importance > 0 else 0.0
    fades_on = _later(touched, max(rule.from_days, days))
    faded = score < rule.threshold and times.days_between(touched, now) >= rule.from_days
    reason = f"{HALF_LIFE}: importance {memory.importance:.2f} decayed to {score:.2f}, below {rule.threshold:g}"
    return Forecast(memory, score, rule.threshold, fades_on, faded, reason if faded else "")


def _later(start: datetime, days: float) -> datetime | None:
    try:
        return (start + timedelta(days=days)).replace(microsecond=0)
    except OverflowError:
        return None


def forecasts(memories: Iterable[Memory], now: datetime, rule: HalfLife) -> list[Forecast]:
    """The forecasts of all memories that fade, the next to go first."""
    found = [forecast(memory, now, rule) for memory in memories if fades(memory)]
    return sorted(found, key=lambda f: (f.fades_on is None, f.fades_on or now, f.memory.memory_id))


def archived(memory: Memory, reason: str, now: datetime) -> Memory:
    """Out of answers, still in the file."""
    return replace(memory, status=ARCHIVED, archived_at=now, archived_reason=reason, updated_at=now)


def restored(memory: Memory, now: datetime) -> Memory:
    """Back in answers; the use of it just now is what keeps it from fading again at once."""
    return replace(memory, status=ACTIVE, archived_at=None, archived_reason="", last_accessed_at=now, updated_at=now)


def curve(memory: Memory, now: datetime, rule: HalfLife, days: int, points: int) -> list[float]:
    """The decayed importance at `points` evenly spaced times from now to `days` ahead."""
    step = days / max(1, points - 1)
    return [decayed_importance(memory, now + timedelta(days=step * at), rule) for at in range(points)]

"""Today: what waits for a decision, and what happened lately."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memctl.conflicts.contradictions import Contradiction
from memctl.conflicts.service import OpenConflicts, noted_in
from memctl.core.models import CANDIDATE, Filters
from memctl.core.selection import Selection
from memctl.doctor import repairing
from memctl.errors import ConflictError
from memctl.present import plain
from memctl.web import timeline
from memctl.web.asking import Action, Asked, Done, Form, Page, back
from memctl.web.changing import named, version
from memctl.web.checks import Fading, Result

FIRST, MOST = 5, 100
"""Items of a list that are shown at first, and in all."""

EVENTS = 40

LISTS = ("conflicts", "candidates", "revision", "stale", "fading", "problems")
_SOUGHT = {
    "conflicts": "contradictions", "stale": "stale reflections", "fading": "what has faded", "problems": "problems",
}  # fmt: skip


@dataclass(frozen=True)
class Waiting:
    """A list of what waits for a decision.

    Args:
        total: how many there are; `items` are the first of them.
        pending: whether it is still being looked for, or looked for again.
        failed: why it could not be.
        command: that shows the same.
    """

    name: str
    title: str
    items: Sequence[Any]
    total: int
    command: str
    pending: bool = False
    failed: str = ""


def values(asked: Asked) -> Mapping[str, Any]:
    """The values of the page."""
    opened = asked.one("list")
    lists = [] if asked.moment.past else [_list(asked, name, MOST if name == opened else FIRST) for name in LISTS]
    return {
        "lists": [each for each in lists if each.total or each.pending or each.failed],
        "waiting": sum(_decisions(each) for each in lists),
        "pending": any(each.pending for each in lists),
        "looked_for": [_SOUGHT[each.name] for each in lists if each.pending and not each.total],
        "opened": opened,
        "days": timeline.days(asked, EVENTS),
        "version": lambda memory: version(asked.store, memory.memory_id),
        "one_value": _one_value,
        "commands": ("memctl log", *(each.command for each in lists if each.total)),
    }


def _decisions(waiting: Waiting) -> int:
    """How many decisions a list asks for: all that has faded is archived in one go."""
    return min(waiting.total, 1) if waiting.name == "fading" else waiting.total


def _list(asked: Asked, name: str, most: int) -> Waiting:
    return {
        "conflicts": _conflicts, "candidates": _candidates, "revision": _revision,
        "stale": _stale, "fading": _fading, "problems": _problems,
    }[name](asked, most)  # fmt: skip


def _conflicts(asked: Asked, most: int) -> Waiting:
    result = asked.check("conflicts")
    opened: OpenConflicts = result.value or OpenConflicts()
    found: list[Any] = [each for each in opened.found if _stands(asked, each)]
    noted = noted_in(asked.store.engine.view())
    found += [*(each for each in opened.noted if each in noted), *opened.messages]
    return _waiting(
        "conflicts", "These contradict each other", found[:most], len(found), "memctl conflicts", result, asked
    )


def _stands(asked: Asked, contradiction: Contradiction) -> bool:
    """Whether both memories are still as they were when they were compared."""
    pair = contradiction.first, contradiction.second
    return all(asked.store.engine.view().get(memory.memory_id) == memory for memory in pair)


def _one_value(contradiction: Contradiction) -> bool:
    """Whether both are values of one fact with a key, so that they cannot both be true at one time."""
    older, newer = contradiction.first, contradiction.second
    return bool(older.key) and (older.category, older.key) == (newer.category, newer.key)


def _waiting(
    name: str, title: str, items: Iterable[Any], total: int, command: str, result: Result, asked: Asked
) -> Waiting:
    return Waiting(name, title, [*items], total, command, result.stamp != asked.stamp, result.failed)


def _candidates(asked: Asked, most: int) -> Waiting:
    page = asked.store.page(Selection(Filters(statuses=(CANDIDATE,)), limit=most))
    rivals = {each for memory in page.memories for each in memory.conflicts_with}
    alone = [memory for memory in page.memories if not memory.conflicts_with] if rivals else [*page.memories]
    total = page.total - (len(page.memories) - len(alone))
    return Waiting("candidates", "Learned, and not believed yet", alone, total, "memctl list --candidates")


def _revision(asked: Asked, most: int) -> Waiting:
    page = asked.store.page(Selection(Filters(needs_revision=True), limit=most))
    title = "Marked as wrong or outdated"
    return Waiting("revision", title, page.memories, page.total, "memctl list --needs-revision")


def _stale(asked: Asked, most: int) -> Waiting:
    result = asked.check("stale")
    found = [each for each in result.value or () if asked.store.engine.view().get(each.memory.memory_id)]
    title = "Reflections behind their sources"
    return _waiting("stale", title, found[:most], len(found), "memctl reflect --stale --dry-run", result, asked)


def _fading(asked: Asked, most: int) -> Waiting:
    result = asked.check("fading")
    fading: Fading | None = result.value
    due = fading.due if fading else ()
    standing = [each for each in due if asked.store.engine.view().get(each.memory.memory_id) == each.memory]
    total = len(standing) + (fading.more if fading else 0)
    title = "Old enough to be archived"
    return _waiting("fading", title, standing[:most], total, "memctl decay --dry-run", result, asked)


def _problems(asked: Asked, most: int) -> Waiting:
    result = asked.check("problems")
    found = list(result.value or ())
    return _waiting("problems", "Problems", found[:most], len(found), "memctl doctor", result, asked)


# Settling


def _resolve(asked: Asked, form: Form) -> Done:
    """Settle a contradiction: keep one, both, or replace both by a text."""
    memories = [
        named(asked, {"memory_id": form.get(f"{name}_id", ""), "version": form.get(name, "")}) for name in _PAIR
    ]
    first, second = (memory.memory_id for memory in memories)
    asked.store.conflicts.resolve(
        first,
        second,
        keep=form.get("keep", ""),
        merge=form.get("merge", ""),
        both=bool(form.get("both")),
        now=asked.now,
    )
    return Done(back(form))


_PAIR = ("first", "second")


def _resolve_merge(asked: Asked, form: Form) -> Done:
    """Settle what a merge left open."""
    asked.store.conflicts.resolve_merge(form.get("id", ""), side=form.get("side", ""), now=asked.now)
    return Done(back(form))


def _decay(asked: Asked, form: Form) -> Done:
    """Archive what has faded, if it is still as much as the page has said."""
    due = asked.store.decay.run(dry_run=True, now=asked.now).faded
    if str(len(due)) != form.get("count"):
        hint = "Nothing was archived. Look at the list again."
        raise ConflictError(f"{plain.counted(len(due), 'memory', 'memories')} would be archived now.", hint=hint)
    asked.store.decay.run(now=asked.now)
    return Done(back(form))


def _repair(asked: Asked, form: Form) -> Done:
    """Repair the problem that the page has shown, as `doctor --fix` does."""
    wanted = (form.get("path", ""), form.get("message", ""))
    problems = [each for each in asked.check("problems").value or () if (each.path, each.message) == wanted]
    if not repairing.repair(asked.store, problems, asked.now):
        return Done(back(form), "There was nothing left to repair.")
    asked.checks.discard("problems")
    return Done(back(form))


PAGES = (Page("/", "today.html", values, "Today"),)
ACTIONS = (
    Action("resolve", _resolve),
    Action("resolve-merge", _resolve_merge),
    Action("decay", _decay),
    Action("repair", _repair),
)

"""What is kept of a call that was mended: its fix pattern, without secrets, and general where its values allow it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memctl.core.sensitive import secret_name
from memctl.strategies import fixes
from memctl.strategies.fixes import ARGUMENTS, EXAMPLE, FIXED, FROM, MISSING, ORIGINAL, TEMPLATE, VALUE
from memctl.strategies.redaction import canonical, redacted, redacted_text

_MOST_SOURCES = 5_000

_SHORTEST_PART = 4
"""Bytes from which a text of the context that stands inside a value is taken for its source: four letters, two
Chinese characters."""

Path = tuple[str, ...]
Leaf = Callable[[Path, Any, Any], tuple[Any, Any]]


@dataclass(frozen=True)
class Source:
    """A value in the context, its path, and its canonical text."""

    path: str
    value: Any
    text: str


def pattern(
    original: Mapping[str, Any], fixed: Mapping[str, Any], context: Mapping[str, Any], secrets: frozenset[str]
) -> dict[str, Any]:
    """The fix pattern of a call that failed with `original` and worked with `fixed`, both in plain JSON.

    Args:
        context: what the agent knew, such as `{"inputs": {"query": …}}`; values found in it are kept as references.
        secrets: texts that must not be stored.
    """
    place = fixes.scope(original, context)
    sources = list(_sources(place))
    gone = {".".join((ARGUMENTS, *path)) for path, _, after in fixes.differences(original, fixed) if after is MISSING}

    def leaf(path: Path, before: Any, after: Any) -> tuple[Any, Any]:
        named = any(map(secret_name, path))
        shown = None if after is MISSING else redacted(after, secrets, named)
        found = None if after is MISSING else _source_of(path, before, after, sources, place, gone)
        return None if before is MISSING else redacted(before, secrets, named), _kept(after, shown, found, secrets)

    cut, mended = _projected(original, fixed, leaf)
    return {ORIGINAL: cut, FIXED: mended}


def _projected(
    before: Mapping[str, Any], after: Mapping[str, Any], leaf: Leaf, at: Path = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both cut down to what differs, with the values that `leaf` gives."""
    original: dict[str, Any] = {}
    fixed: dict[str, Any] = {}
    for name, one, other in fixes.paired(before, after):
        shown = redacted_text(name)
        if fixes.looked_into(one, other):
            inner, fixed[shown] = _projected(one if isinstance(one, Mapping) else {}, other, leaf, (*at, name))
            original |= {} if one is MISSING else {shown: None if one is None else inner}
        else:
            kept_one, kept_other = leaf((*at, name), one, other)
            original |= {} if one is MISSING else {shown: kept_one}
            fixed |= {} if other is MISSING else {shown: kept_other}
    return original, fixed


def _kept(value: Any, shown: Any, found: tuple[str, str] | None, secrets: frozenset[str]) -> Any:
    """A value of `fixed` as it is stored: itself, or a reference. One that looks like a reference refers to nothing."""
    if found is None:
        return {FROM: "", EXAMPLE: shown} if fixes.is_reference(value) else shown
    source, template = found
    more = {TEMPLATE: redacted_text(template, secrets)} if template else {}
    return {FROM: redacted_text(source), **more, EXAMPLE: shown}


def _source_of(
    path: Path, before: Any, after: Any, sources: Sequence[Source], place: Mapping[str, Any], gone: set[str]
) -> tuple[str, str] | None:
    """Where a value comes from, as a path and the text around it; None where it stands for itself."""
    if fixes.general(path, before, after):
        return None
    own = ".".join((ARGUMENTS, *path))
    others = [source for source in sources if source.path not in (own, ARGUMENTS)]
    text = canonical(after)
    equal = [s for s in others if s.text == text and _says_enough(s, path, gone) and _found_again(s, place)]
    if equal:
        return min(equal, key=lambda s: _telling(s, path, gone)).path, ""
    if not isinstance(after, str) or VALUE in after:
        return None
    known = (s for s in others if not s.path.startswith(ARGUMENTS))
    inside = [s for s in known if _brought(s.value, before, after) and _found_again(s, place)]
    if not inside:
        return None
    best = min(inside, key=lambda s: (-len(s.value), _telling(s, path, gone)))
    return best.path, after.replace(best.value, VALUE, 1)


def _telling(source: Source, path: Path, gone: set[str]) -> tuple[Any, ...]:
    """Sorts the most telling source first: a renamed argument, one of the same name, one of the context."""
    name = source.path.rpartition(".")[2]
    inside = source.path.startswith(f"{ARGUMENTS}.")
    return (source.path not in gone, name != path[-1], inside, source.path.count("."), source.path)


def _says_enough(source: Source, path: Path, gone: set[str]) -> bool:
    """Whether it is no accident that a value stands there: true, 10 or "a" stand in many places."""
    if source.path in gone:
        return True
    if isinstance(source.value, bool):
        return False
    same_name = source.path.rpartition(".")[2] == path[-1]
    return same_name or (not isinstance(source.value, int | float) and len(source.text) > len('"a"'))


def _brought(value: Any, before: Any, after: str) -> bool:
    """Whether a text of the context came into the argument by the fix."""
    if not isinstance(value, str) or len(value.encode()) < _SHORTEST_PART:
        return False
    return value in after and not (isinstance(before, str) and value in before)


def _found_again(source: Source, place: Mapping[str, Any]) -> bool:
    """Whether its path leads back to it: names that hold dots may lead elsewhere."""
    return "." not in source.path or fixes.same(fixes.looked_up(place, source.path), source.value)


def _sources(value: Any) -> Iterator[Source]:
    """Every value in a context, the nearest to its root first, at most `_MOST_SOURCES`."""
    waiting: deque[tuple[str, Any]] = deque([("", value)])
    given = 0
    while waiting and given < _MOST_SOURCES:
        here, found = waiting.popleft()
        if here and not fixes.nothing(found):
            given += 1
            yield Source(here, found, canonical(found))
        # Of a list the first alone: that something was the fourth is of one call only.
        parts = found.items() if isinstance(found, Mapping) else enumerate(found[:1]) if isinstance(found, list) else ()
        waiting.extend((f"{here}.{name}" if here else str(name), part) for name, part in parts)

"""Making a fix pattern of a call that failed and its fix: without secrets, and as general as its values allow."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memctl.core.plain_json import canonical
from memctl.core.redaction import redacted, redacted_text
from memctl.strategies import fixes
from memctl.strategies.fixes import ARGUMENTS, EXAMPLE, FIXED, FROM, ORIGINAL, TEMPLATE, VALUE
from memctl.strategies.values import MISSING, looked_up, nothing, same

_MOST_SOURCES = 5_000

_SHORTEST_PART = 4
"""Bytes from which a text of the context inside a value counts as its source: four letters, two Chinese characters."""

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
        context: what the agent knew, such as `{"inputs": {"query": …}}`; values found there are kept as references.
        secrets: texts that must not be stored.
    """
    place = fixes.scope(original, context)
    sources = list(_sources(place))
    gone = {".".join((ARGUMENTS, *path)) for path, _, after in fixes.differences(original, fixed) if after is MISSING}

    def leaf(path: Path, before: Any, after: Any) -> tuple[Any, Any]:
        name = ".".join(path)
        shown = None if after is MISSING else redacted(after, secrets, name)
        source = None if after is MISSING else _source_of(path, before, after, sources, place, gone)
        return None if before is MISSING else redacted(before, secrets, name), _kept(after, shown, source, secrets)

    failed, worked = _projected(original, fixed, leaf)
    return {ORIGINAL: failed, FIXED: worked}


def _projected(
    before: Mapping[str, Any], after: Mapping[str, Any], leaf: Leaf, at: Path = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The differing parts of both, with the values that `leaf` gives."""
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


def _kept(value: Any, shown: Any, source: tuple[str, str] | None, secrets: frozenset[str]) -> Any:
    """A value of `fixed` as it is stored: itself, or a reference. One that looks like a reference is wrapped in one."""
    if source is None:
        return {FROM: "", EXAMPLE: shown} if fixes.is_reference(value) else shown
    path, template = source
    more = {TEMPLATE: redacted_text(template, secrets)} if template else {}
    return {FROM: redacted_text(path), **more, EXAMPLE: shown}


def _source_of(
    path: Path, before: Any, after: Any, sources: Sequence[Source], place: Mapping[str, Any], gone: set[str]
) -> tuple[str, str] | None:
    """The path a value comes from and the text around it; None where it stands for itself."""
    if fixes.general(path, before, after):
        return None
    own = ".".join((ARGUMENTS, *path))
    others = [source for source in sources if source.path not in (own, ARGUMENTS)]
    text = canonical(after)
    equal = [s for s in others if s.text == text and _is_specific(s, path, gone) and _is_reachable(s, place)]
    if equal:
        return min(equal, key=lambda s: _rank(s, path, gone)).path, ""
    if not isinstance(after, str) or VALUE in after:
        return None
    known = (s for s in others if not s.path.startswith(ARGUMENTS))
    inside = [s for s in known if _is_new(s.value, before, after) and _is_reachable(s, place)]
    if not inside:
        return None
    best = min(inside, key=lambda s: (-len(s.value), _rank(s, path, gone)))
    return best.path, after.replace(best.value, VALUE, 1)


def _rank(source: Source, path: Path, gone: set[str]) -> tuple[Any, ...]:
    """Sort key: a renamed argument first, then a source of the same name, then one in the context."""
    name = source.path.rpartition(".")[2]
    inside = source.path.startswith(f"{ARGUMENTS}.")
    return (source.path not in gone, name != path[-1], inside, source.path.count("."), source.path)


def _is_specific(source: Source, path: Path, gone: set[str]) -> bool:
    """Whether an equal value is no accident: true, 10 or "a" are in many places."""
    if source.path in gone:
        return True
    if isinstance(source.value, bool):
        return False
    same_name = source.path.rpartition(".")[2] == path[-1]
    return same_name or (not isinstance(source.value, int | float) and len(source.text) > len('"a"'))


def _is_new(value: Any, before: Any, after: str) -> bool:
    """Whether the fix brought a text of the context into the argument."""
    if not isinstance(value, str) or len(value.encode()) < _SHORTEST_PART:
        return False
    return value in after and not (isinstance(before, str) and value in before)


def _is_reachable(source: Source, place: Mapping[str, Any]) -> bool:
    """Whether the path leads back to the value: names with dots may lead elsewhere."""
    return "." not in source.path or same(looked_up(place, source.path), source.value)


def _sources(context: Any) -> Iterator[Source]:
    """The values in a context, those nearest to its root first, at most `_MOST_SOURCES`."""
    waiting: deque[tuple[str, Any]] = deque([("", context)])
    given = 0
    while waiting and given < _MOST_SOURCES:
        path, value = waiting.popleft()
        if path and not nothing(value):
            given += 1
            yield Source(path, value, canonical(value))
        # Only the first item of a list: the place of any other holds for one call only.
        parts = value.items() if isinstance(value, Mapping) else enumerate(value[:1]) if isinstance(value, list) else ()
        waiting.extend((f"{path}.{name}" if path else str(name), part) for name, part in parts)

"""How changed arguments made a call work, and how that carries over to another call.

A fix pattern is `{"original": …, "fixed": …}`, both with the arguments that differ alone. A value in `fixed`
stands for itself, or is a reference, `{"from": "inputs.query", "example": "cats"}`, to where in the context of a call
the value is found (`arguments.NAME` is another argument of the call). Everything else that generalises is read from the
two values, so that a pattern written by another tool, or by hand, generalises too.

A fix is applied only to an argument with the fault that it mended, and never to one that is fine.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from memctl.strategies.redaction import REDACTED, TOO_LONG, canonical, plain

ORIGINAL, FIXED = "original", "fixed"
FROM, TEMPLATE, EXAMPLE = "from", "template", "example"
VALUE = "{value}"
ARGUMENTS = "arguments"
"""Under this name the arguments of the call itself stand in its context."""

_QUANTITY = re.compile(
    r"""(?:^|_|\b)(?:timeout|limit|size|count|max|min|maximum|minimum|retries|attempts|delay|wait|interval|batch|top|top_?k|k|n
    |num|number|length|len|width|height|depth|seconds|secs|sec|s|ms|minutes|hours|days|tokens|workers|threads|concurrency|rate
    |temperature|accum|steps|epochs|memory|mb|gb|kb|pages?|chunk|window|radius|threshold|tolerance|duration|ttl|budget)
    (?:_|\b|$)|超时|时长|秒|大小|数量|条数|个数|上限|下限|最大|最小|次数|长度|间隔|批""",
    re.VERBOSE | re.IGNORECASE,
)


class Missing(Enum):
    """The value of an argument that is not there (None is one that is)."""

    MISSING = "missing"


MISSING = Missing.MISSING

TAKE, ADD, DROP, CONVERT, AT_LEAST, AT_MOST, REPLACE = (
    "take", "add", "drop", "convert", "at_least", "at_most", "replace",
)  # fmt: skip


@dataclass(frozen=True)
class Fix:
    """What was done to one argument.

    Args:
        path: its name, and the names inside it where it is an object.
        kind: `take` (from the context), `add` (a value where there was nothing), `drop`, `convert` (to another type),
            `at_least`, `at_most` (a quantity that was too small, too large), `replace` (another value).
        before, after: the values then; `MISSING` where there was none.
        source, template: for `take`: the path in the context, and the text around the value.
        type: for `convert`: a key of `CONVERSIONS`.
    """

    path: tuple[str, ...]
    kind: str
    before: Any
    after: Any
    source: str = ""
    template: str = ""
    type: str = ""

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for two fixes that do the same: figures and examples do not count, literal values do."""
        return (self.name, *self.shape)

    @property
    def shape(self) -> tuple[str, ...]:
        """Equal for fixes of the same kind on arguments that may have other names (in other tools)."""
        fault = "" if nothing(self.before) else canonical(self.before)
        if self.kind == TAKE:
            return (TAKE, fault, self.source, self.template)
        if self.kind in (CONVERT, AT_LEAST, AT_MOST):
            return (self.kind, self.type)
        return (self.kind, self.name, "" if self.kind == DROP else fault, _text_of(self.after))


@dataclass(frozen=True)
class Step:
    """What became of one argument.

    `action`: `set`, `dropped`, `left` or `unresolved`. `note` says why it was left (`fine`, `already`, `blocked`) or
    could not be resolved (`absent`, `type`, `withheld`); `found` is what stood there instead.
    """

    argument: str
    action: str
    before: Any
    after: Any
    fix: Fix
    note: str = ""
    found: str = ""


SET, DROPPED, LEFT, UNRESOLVED = "set", "dropped", "left", "unresolved"


@dataclass(frozen=True)
class Applied:
    """The arguments with the fixes applied, and what became of each."""

    arguments: dict[str, Any]
    steps: tuple[Step, ...]

    @property
    def usable(self) -> bool:
        """Whether something was mended and nothing left broken."""
        actions = {step.action for step in self.steps}
        return bool(actions & {SET, DROPPED}) and UNRESOLVED not in actions


def _text_of(value: Any) -> str:
    return "" if value is MISSING else canonical(value)


def nothing(value: Any) -> bool:
    """Whether an argument holds nothing: missing, null, blank, or an empty list or object."""
    return value is MISSING or value is None or (isinstance(value, str | list | Mapping) and not _stripped(value))


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def withheld(value: Any) -> bool:
    """Whether a value, or a part of it, was not stored, because it is secret or too long."""
    text = _text_of(value)
    return REDACTED in text or f'"{TOO_LONG}"' in text


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 is neither "1" nor true."""
    if one is MISSING or other is MISSING:
        return one is other
    return canonical(plain(one)) == canonical(plain(other))


# Differences


def is_reference(value: Any) -> bool:
    """Whether a value of `fixed` says where to take a value from, with the value of then as an example."""
    return (
        isinstance(value, Mapping)
        and {FROM, EXAMPLE} <= set(value) <= {FROM, EXAMPLE, TEMPLATE}
        and isinstance(value[FROM], str)
        and isinstance(value.get(TEMPLATE, ""), str)
    )


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], *, stored: bool = False, at: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Path, value before and value after of everything that differs, objects looked into; `stored` as for `paired`."""
    for name, one, other in paired(before, after, stored=stored):
        if looked_into(one, other):
            inner = one if isinstance(one, Mapping) else {}
            yield from differences(inner, other, stored=stored, at=(*at, name))
        else:
            yield (*at, name), one, other


def paired(
    before: Mapping[str, Any], after: Mapping[str, Any], *, stored: bool = False
) -> Iterator[tuple[str, Any, Any]]:
    """The arguments that differ, with both values.

    Args:
        stored: these are parts of a pattern, where two values that were withheld were different.
    """
    for name in (*before, *(name for name in after if name not in before)):
        one, other = before.get(name, MISSING), after.get(name, MISSING)
        if not same(one, other) or (stored and withheld(one)):
            yield name, one, other


def looked_into(one: Any, other: Any) -> bool:
    """Whether a difference is told of by the parts of an object."""
    if not isinstance(other, Mapping) or is_reference(other):
        return False
    return bool(isinstance(one, Mapping) and one) or bool(other and (nothing(one) and not isinstance(one, str | list)))


def fixes(found: Mapping[str, Any]) -> tuple[Fix, ...]:
    """The fixes that a pattern tells of; empty where nothing was changed (trying again was enough).

    Raises:
        ValueError: it is no fix pattern.
    """
    original, fixed = found.get(ORIGINAL), found.get(FIXED)
    if not isinstance(original, Mapping) or not isinstance(fixed, Mapping):
        raise ValueError("a fix pattern has `original` and `fixed`")
    return tuple(_fix(path, before, after) for path, before, after in differences(original, fixed, stored=True))


def _fix(path: tuple[str, ...], before: Any, after: Any) -> Fix:
    source = template = ""
    if is_reference(after):
        source, template, after = after[FROM], after.get(TEMPLATE, ""), after[EXAMPLE]
    if source:
        return Fix(path, TAKE, before, after, source, template)
    if after is MISSING:
        return Fix(path, DROP, before, MISSING)
    if nothing(before):
        return Fix(path, ADD, before, after)
    if conversion := _conversion(before, after):
        return Fix(path, CONVERT, before, after, type=conversion)
    return Fix(path, _bound(path, before, after) or REPLACE, before, after)


def general(path: tuple[str, ...], before: Any, after: Any) -> bool:
    """Whether the two values alone say how the fix carries over: by a conversion, or a bound."""
    return not nothing(before) and bool(_conversion(before, after) or _bound(path, before, after))


def _bound(path: tuple[str, ...], before: Any, after: Any) -> str:
    """`at_least` or `at_most` for a quantity that was raised or lowered; a number of another kind is a name."""
    if not (_is_number(before) and _is_number(after)) or not _QUANTITY.search(_snake(path[-1])):
        return ""
    return AT_LEAST if after > before else AT_MOST


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# Types


def _integer(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,18}\s*", value):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else MISSING


def _number(value: Any) -> Any:
    try:
        found = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return MISSING
    return found if math.isfinite(found) else MISSING


def _boolean(value: Any) -> Any:
    return {"true": True, "false": False}.get(value.strip().lower(), MISSING) if isinstance(value, str) else MISSING


def _text(value: Any) -> Any:
    return canonical(value) if _is_number(value) or isinstance(value, bool) else MISSING


def _list(value: Any) -> Any:
    return MISSING if isinstance(value, list) else [value]


def _parts(value: Any) -> Any:
    return [part.strip() for part in re.split("[,，、]", value)] if isinstance(value, str) else MISSING


def _item(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else MISSING


def _parsed(value: Any) -> Any:
    try:
        found = plain(json.loads(value)) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return MISSING
    return found if isinstance(found, dict | list) else MISSING


CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "integer": _integer, "number": _number, "boolean": _boolean, "text": _text, "list": _list, "parts": _parts,
    "item": _item, "json": _parsed,
}  # fmt: skip
"""To a whole number, a number, true or false, text, a list of one, a list of what has commas between, the only item of
a list, what a JSON text says."""


def _conversion(before: Any, after: Any) -> str:
    """The conversion that leads from one value to the other; empty where none does."""
    if withheld(before):
        return ""
    return next((name for name, convert in CONVERSIONS.items() if same(convert(before), after)), "")


def json_type(value: Any) -> str:
    """The name of a value's JSON type; whole numbers apart from others."""
    names = {bool: "boolean", int: "integer", float: "number", str: "text", list: "list", dict: "object"}
    return names.get(type(plain(value)), "null")


# The context


def scope(arguments: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """Where references point into: the context, with the call's arguments in it."""
    return {**context, ARGUMENTS: arguments}


def looked_up(value: Any, path: str) -> Any:
    """What stands at a path such as `inputs.query` or `items.0.name`; `MISSING` where nothing does."""
    if not path:
        return value
    if isinstance(value, Mapping):
        parts = path.split(".")
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            if name in value and (found := looked_up(value[name], ".".join(parts[count:]))) is not MISSING:
                return found
    if isinstance(value, list | tuple):
        head, _, rest = path.partition(".")
        if head.isascii() and head.isdigit() and int(head) < len(value):
            return looked_up(value[int(head)], rest)
    return MISSING


# Applying


def faulty(fix: Fix, value: Any, *, strict: bool, named: bool = False, known: bool = True) -> bool:
    """Whether an argument has the fault that a fix mended.

    Args:
        strict: as it was then, no more: for a call that has not failed yet. Else the call has failed, and what is like
            it counts too: a missing argument is like an empty one, any quantity beyond the bound like the one then.
        named: whether the error's message names the argument.
        known: whether the tool is the one of then, so that it takes an argument that the call does not have.
    """
    if value is MISSING and fix.before is not MISSING and strict:
        return False
    if fix.kind == DROP:
        return value is not MISSING and (named or same(value, fix.before))
    if nothing(fix.before):
        if value is MISSING:
            return known or named
        return nothing(value) and not (strict and fix.before is MISSING and not named)
    if fix.kind == CONVERT:
        return json_type(value) == json_type(fix.before) and CONVERSIONS[fix.type](plain(value)) is not MISSING
    if fix.kind in (AT_LEAST, AT_MOST) and _is_number(value):
        limit = fix.before if strict else fix.after
        beyond = value < limit if fix.kind == AT_LEAST else value > limit
        return bool(beyond or (strict and value == limit))
    if withheld(fix.before):  # nobody knows whether it is the one of then, but the call has failed in the same way
        return known and not strict
    return same(value, fix.before)


def moved(found: Sequence[Fix]) -> frozenset[str]:
    """Arguments whose value another one takes over: under their old name they are wrong whatever they hold."""
    taken = {fix.source for fix in found}
    return frozenset(fix.path[-1] for fix in found if fix.kind == DROP and f"{ARGUMENTS}.{fix.name}" in taken)


def applied(
    found: Sequence[Fix],
    arguments: Mapping[str, Any],
    context: Mapping[str, Any],
    *,
    names: frozenset[str] = frozenset(),
    known: bool = True,
) -> Applied:
    """The arguments of another call with the fixes applied where they have the fault; nothing else is touched.

    Args:
        names: arguments that the error's message names.
        known: whether the tool is the one of the fixes.
    """
    names = names | moved(found)
    place = scope(arguments, context)
    mended: dict[str, Any] = dict(arguments)
    steps = []
    for fix in found:
        value = at_path(arguments, fix.path)
        step = _step(fix, value, place, faulty(fix, value, strict=False, named=fix.path[-1] in names, known=known))
        if step.action == SET:
            blocked = _with(mended, fix.path, step.after)
            step = step if blocked is not None else Step(fix.name, LEFT, value, value, fix, "blocked")
            mended = mended if blocked is None else blocked
        elif step.action == DROPPED:
            mended = _without(mended, fix.path)
        steps.append(step)
    return Applied(mended, tuple(steps))


def _step(fix: Fix, value: Any, place: Mapping[str, Any], fault: bool) -> Step:
    if not fault:
        return Step(fix.name, LEFT, value, value, fix, "fine")
    if fix.kind == DROP:
        return Step(fix.name, DROPPED, value, MISSING, fix)
    new, problem, found = _value(fix, value, place)
    if problem:
        return Step(fix.name, UNRESOLVED, value, value, fix, problem, found)
    if same(new, value):
        return Step(fix.name, LEFT, value, value, fix, "already")
    return Step(fix.name, SET, value, new, fix)


def _value(fix: Fix, value: Any, place: Mapping[str, Any]) -> tuple[Any, str, str]:
    """The new value, or why there is none, and what was found instead."""
    if fix.kind == CONVERT:
        return CONVERSIONS[fix.type](plain(value)), "", ""
    if fix.kind != TAKE:
        return fix.after, "withheld" if withheld(fix.after) else "", ""
    found = looked_up(place, fix.source)
    if nothing(found):
        return MISSING, "absent", fix.source
    if fix.template:
        usable = VALUE in fix.template and not withheld(fix.template)
        if not isinstance(found, str | int | float):
            return MISSING, "type", json_type(found)
        return fix.template.replace(VALUE, str(found), 1), "" if usable else "withheld", ""
    if fix.after is not MISSING and not withheld(fix.after) and json_type(found) != json_type(fix.after):
        return MISSING, "type", json_type(found)
    return found, "", ""


def at_path(arguments: Any, path: Sequence[str]) -> Any:
    """The argument at a path, `MISSING` where there is none."""
    for name in path:
        if not isinstance(arguments, Mapping) or name not in arguments:
            return MISSING
        arguments = arguments[name]
    return arguments


def _with(arguments: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any] | None:
    """A copy with one value set, objects on the way made; None where something else than an object is in the way."""
    name, *rest = path
    if not rest:
        return {**arguments, name: value}
    inner = arguments.get(name)
    if inner is not None and not isinstance(inner, Mapping):
        return None
    below = _with(inner or {}, rest, value)
    return None if below is None else {**arguments, name: below}


def _without(arguments: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    name, *rest = path
    if rest and isinstance(arguments.get(name), Mapping):
        return {**arguments, name: _without(arguments[name], rest)}
    return {key: value for key, value in arguments.items() if rest or key != name}

"""Untrusted YAML, bounded: no aliases, little depth, no name twice, no huge numbers, no objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar

DEEPEST = 50
LARGEST = 256 * 1024
MOST_BITS = 1024
"""Of a whole number. In another base than ten one can be written that Python then refuses to print."""


class UnsafeYamlError(ValueError):
    """The text is refused; `line` is 1-based, 0 when unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line, self.column = line, column


def load(text: str, *, times_as_text: bool = False) -> Any:
    """The value a YAML text holds.

    Args:
        times_as_text: leave what looks like a time as it is written.

    Raises:
        UnsafeYamlError: broken, or refused.
    """
    import yaml

    return _bounded(text, lambda: yaml.load(text, Loader=_loader(times_as_text)))


class Entry(NamedTuple):
    """A field of a mapping: its name and value, from where to where its lines go, by how many blanks it is indented.

    `name` is what its key says as written: `on`, `1.10` and `2024-01-01` are these letters, neither a truth value, a
    number nor a day. A key that is a list or a mapping has its source as its name. `flow` is the field as one line,
    where the mapping stands in braces and has no lines of its own.
    """

    name: str
    value: Any
    start: int
    end: int
    indent: int
    flow: str = ""


def entries(text: str) -> list[Entry] | None:
    """The fields of a mapping in the order of the text; None where it holds something else.

    Raises:
        UnsafeYamlError: broken, or refused.
    """
    return _bounded(text, lambda: _entries(text))


def _entries(text: str) -> list[Entry] | None:
    import yaml

    loader = _loader(False)(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return []
        if not isinstance(node, yaml.MappingNode):
            return None
        fields = [_entry(loader, text, node, key, value) for key, value in node.value]
    finally:
        loader.dispose()
    seen: set[str] = set()
    for field in fields:
        if field.name in seen:
            raise UnsafeYamlError(f"the name {field.name!r} stands twice", text.count("\n", 0, field.start) + 1)
        seen.add(field.name)
    return fields


def _entry(loader: Any, text: str, mapping: Any, key: Any, value: Any) -> Entry:
    written = [text[node.start_mark.index : node.end_mark.index] for node in (key, value)]
    name = key.value if isinstance(key.value, str) else "? " + written[0].strip().replace("\r\n", "\n")
    flow = ": ".join(written).replace("\n", "\n  ") if mapping.flow_style else ""
    start = _start(text, mapping, key)
    indent = next(at for at in range(start, len(text) + 1) if text[at : at + 1] != " ") - start
    end = max(_end(key), _end(value))
    end = end if text[end - 1 : end] == "\n" else text.find("\n", end) + 1 or len(text)
    return Entry(name, loader.construct_object(value, deep=True), start, end, indent, flow)


def _start(text: str, mapping: Any, key: Any) -> int:
    """Where the line of a key begins, or that of the `?` before it."""
    start: int = key.start_mark.index - key.start_mark.column
    column = mapping.start_mark.column
    if key.start_mark.column == column or mapping.flow_style:
        return start
    marks = re.finditer(rf"^ {{{column}}}\?(?=\s)", text[: key.start_mark.index], re.MULTILINE)
    return max((mark.start() for mark in marks), default=start)


def _end(node: Any) -> int:
    """Where a value ends. That of a block of lines ends with its last one: comments behind it are not part of it."""
    last = node.value[-1] if isinstance(node.value, list) and node.value and not node.flow_style else None
    if last is None:
        return int(node.end_mark.index)
    return max(map(_end, last)) if isinstance(last, tuple) else _end(last)


T = TypeVar("T")


def _bounded(text: str, read: Callable[[], T]) -> T:
    """What `read` makes of a text that is small and simple enough.

    Raises:
        UnsafeYamlError: it is not, or is broken.
    """
    import yaml

    if len(text) > LARGEST:
        raise UnsafeYamlError(f"larger than {LARGEST // 1024} KiB")
    try:
        _check(text)
        return read()
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        reason = getattr(problem, "problem", None) or "cannot be read as YAML"
        raise UnsafeYamlError(reason, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0) from None
    except UnsafeYamlError:
        raise
    except (ValueError, RecursionError, OverflowError) as problem:
        raise UnsafeYamlError(f"cannot be read as YAML: {problem}") from None


def _check(text: str) -> None:
    """Look at the parser's events, which come one by one: building the value is what recursion and aliases break."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise UnsafeYamlError("uses YAML anchors or aliases, which memctl refuses", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise UnsafeYamlError(f"nested more than {DEEPEST} deep", line)


@cache
def _loader(times_as_text: bool) -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """The safe loader, refusing a name that stands twice."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in seen:
                    raise UnsafeYamlError(f"the name {key.value!r} stands twice", key.start_mark.line + 1)
                seen.add(str(key.value))
            return super().construct_mapping(node, deep=deep)

    def time(loader: Any, node: Any) -> Any:
        try:
            return loader.construct_yaml_timestamp(node)
        except (ValueError, OverflowError):
            raise UnsafeYamlError(f"{node.value} is not a time", node.start_mark.line + 1) from None

    def whole_number(loader: Any, node: Any) -> Any:
        value = loader.construct_yaml_int(node)
        if value.bit_length() > MOST_BITS:
            raise UnsafeYamlError("holds a number that is too large", node.start_mark.line + 1)
        return value

    Loader.add_constructor("tag:yaml.org,2002:timestamp", time)
    Loader.add_constructor("tag:yaml.org,2002:int", whole_number)
    if times_as_text:
        Loader.yaml_implicit_resolvers = {
            first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
            for first, rules in base.yaml_implicit_resolvers.items()
        }
    return Loader

"""Untrusted YAML with limits: no aliases, deep nesting, duplicate names, huge numbers or objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar

DEEPEST = 50
LARGEST = 256 * 1024
MOST_BITS = 1024
"""Of an integer. In a base other than ten, YAML can express integers that Python refuses to print."""


class UnsafeYamlError(ValueError):
    """The text is invalid or refused; `line` is 1-based, 0 if unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line, self.column = line, column


def load(text: str, *, times_as_text: bool = False) -> Any:
    """The value of a YAML text.

    Args:
        times_as_text: keep times as text.

    Raises:
        UnsafeYamlError: it is invalid or refused.
    """
    import yaml

    return _bounded(text, lambda: yaml.load(text, Loader=_loader(times_as_text)))


class Entry(NamedTuple):
    """A field of a mapping: its name and value, the span of its lines, and its indentation.

    `name` is the key's text: `on`, `1.10` and `2024-01-01` stay text, not a truth value, a number or a date. A key that
    is a list or a mapping has its source as its name. `flow` is the field as one line, if the mapping is in braces and
    has no lines of its own.
    """

    name: str
    value: Any
    start: int
    end: int
    indent: int
    flow: str = ""


def entries(text: str) -> list[Entry] | None:
    """The fields of a mapping in order; None if the text is not a mapping.

    Raises:
        UnsafeYamlError: it is invalid or refused.
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
            raise UnsafeYamlError(f"the name {field.name!r} occurs twice", text.count("\n", 0, field.start) + 1)
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
    """The start of the line of a key, or of the `?` before it."""
    start: int = key.start_mark.index - key.start_mark.column
    column = mapping.start_mark.column
    if key.start_mark.column == column or mapping.flow_style:
        return start
    marks = re.finditer(rf"^ {{{column}}}\?(?=\s)", text[: key.start_mark.index], re.MULTILINE)
    return max((mark.start() for mark in marks), default=start)


def _end(node: Any) -> int:
    """The end of a value. A block ends with its last line; comments after it are not part of it."""
    last = node.value[-1] if isinstance(node.value, list) and node.value and not node.flow_style else None
    if last is None:
        return int(node.end_mark.index)
    return max(map(_end, last)) if isinstance(last, tuple) else _end(last)


T = TypeVar("T")


def _bounded(text: str, read: Callable[[], T]) -> T:
    """The result of `read` for a text that is small and simple enough.

    Raises:
        UnsafeYamlError: it is not, or is invalid.
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
    """Check the parser's events one by one; recursion and aliases only do harm when the value is built."""
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
        """The safe loader, refusing duplicate names."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in seen:
                    raise UnsafeYamlError(f"the name {key.value!r} occurs twice", key.start_mark.line + 1)
                seen.add(str(key.value))
            return super().construct_mapping(node, deep=deep)

    def time(loader: Any, node: Any) -> Any:
        try:
            return loader.construct_yaml_timestamp(node)
        except (ValueError, OverflowError):
            raise UnsafeYamlError(f"{node.value} is not a time", node.start_mark.line + 1) from None

    def integer(loader: Any, node: Any) -> Any:
        value = loader.construct_yaml_int(node)
        if value.bit_length() > MOST_BITS:
            raise UnsafeYamlError("contains a number that is too large", node.start_mark.line + 1)
        return value

    Loader.add_constructor("tag:yaml.org,2002:timestamp", time)
    Loader.add_constructor("tag:yaml.org,2002:int", integer)
    if times_as_text:
        Loader.yaml_implicit_resolvers = {
            first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
            for first, rules in base.yaml_implicit_resolvers.items()
        }
    return Loader

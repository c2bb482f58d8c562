"""YAML from hands we do not know, bounded: no aliases, no depth, no name twice, no huge numbers, no objects."""

from __future__ import annotations

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
    from frontmatter.default_handlers import YAMLHandler

    return _bounded(text, lambda: YAMLHandler().load(text, Loader=_loader(times_as_text)))


class Entry(NamedTuple):
    """A field of a mapping: its name and value, where its lines begin, by how many blanks they are indented.

    `flow` is the field as one line, where the mapping stands in braces and has no lines of its own.
    """

    name: str
    value: Any
    start: int
    indent: int
    flow: str = ""


def entries(text: str) -> list[Entry]:
    """The fields of a mapping in the order of the text; none where it holds no mapping.

    Raises:
        UnsafeYamlError: broken, or refused.
    """
    return _bounded(text, lambda: _entries(text))


def _entries(text: str) -> list[Entry]:
    import yaml

    loader = _loader(False)(text)
    try:
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            return []
        return [_entry(loader, text, node, key, value) for key, value in node.value]
    finally:
        loader.dispose()


def _entry(loader: Any, text: str, mapping: Any, key: Any, value: Any) -> Entry:
    merged = key.tag == "tag:yaml.org,2002:merge"
    name = "<<" if merged else str(loader.construct_object(key, deep=True))
    written = [text[node.start_mark.index : node.end_mark.index] for node in (key, value)]
    flow = ": ".join(written).replace("\n", "\n  ") if mapping.flow_style else ""
    start = key.start_mark.index - key.start_mark.column
    return Entry(name, loader.construct_object(value, deep=True), start, mapping.start_mark.column, flow)


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

"""Front matter by field and line, so that one field can change while the others keep every byte."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from memctl.core import times
from memctl.core.formats import safe_yaml


class Field(NamedTuple):
    """A field: its lines in the file, and the blank lines and comments before the next field.

    `name` is the key as written (see `safe_yaml.Entry`).
    """

    name: str
    value: Any
    text: str
    after: str = ""


class Front(NamedTuple):
    """Front matter without its `---` lines: comments before the first field, the fields, their indentation."""

    before: str = ""
    fields: tuple[Field, ...] = ()
    indent: str = ""

    @property
    def by_name(self) -> dict[str, Field]:
        return {field.name: field for field in self.fields}


def read(text: str) -> Front:
    """The fields of a text that is a mapping or empty.

    Raises:
        UnsafeYamlError: it is not YAML that memctl reads, or not a mapping.
    """
    entries = safe_yaml.entries(text)
    if entries is None:
        raise safe_yaml.UnsafeYamlError("it must have `name: value` lines", 1)
    if not entries:
        return Front(text)
    if entries[0].flow:  # `{a: 1, b: 2}`: written with one line each
        return Front("", tuple(Field(one.name, one.value, f"{one.flow}\n") for one in entries))
    nexts = [*(one.start for one in entries[1:]), len(text)]
    fields = (
        Field(one.name, one.value, text[one.start : min(one.end, until)], text[min(one.end, until) : until])
        for one, until in zip(entries, nexts, strict=True)
    )
    return Front(text[: entries[0].start], tuple(fields), " " * entries[0].indent)


def write(front: Front, texts: Mapping[str, str], order: Sequence[str]) -> str:
    """The front matter with only these fields, each with its lines; comments keep their place.

    Args:
        order: a new field goes after the last of these that precedes it, or at the top; a field that is not among them
            goes to the end.
    """
    placed = [("", front.before, ""), *((one.name, texts.get(one.name, ""), one.after) for one in front.fields)]
    for name in (name for name in texts if name not in front.by_name):
        at = _place(name, [one[0] for one in placed], order)
        after = ""
        if 0 < at < len(placed):  # a comment after a field may be about the next one
            (known, text, after) = placed[at - 1]
            placed[at - 1] = (known, text, "")
        lines = texts[name].splitlines(keepends=True)
        placed.insert(at, (name, "".join(front.indent + line for line in lines), after))
    return "".join(text + after for _, text, after in placed)


def _place(name: str, names: Sequence[str], order: Sequence[str]) -> int:
    if name not in order:
        return len(names)
    earlier = set(order[: order.index(name)])
    return max((at + 1 for at, known in enumerate(names) if known in earlier), default=0)


def line(name: str, value: Any) -> str:
    """One field; lists on one line, times in memctl's form; escapes what YAML would fold or drop."""
    import yaml

    if isinstance(value, datetime):
        moment = times.to_text(times.from_value(value))
        # Times are written unquoted, so that they are read as times; odd names are quoted as YAML requires.
        return f"{name}: {moment}\n" if _is_plain(name) else line(name, 0).removesuffix("0\n") + f"{moment}\n"
    plain = list(value) if isinstance(value, tuple) else value
    if _is_plain(name) and plain and (words := _words(plain)):
        return f"{name}: {words}\n"
    escaped = _ODD.search(json.dumps([name, plain], ensure_ascii=False, default=str)) is not None
    flow = isinstance(plain, list) and not any(isinstance(item, dict | list) for item in plain)
    settings: dict[str, Any] = {"allow_unicode": not escaped, "sort_keys": False}
    if flow and _is_plain(name):
        inner = yaml.safe_dump(plain, default_flow_style=True, width=10**9, **settings).strip()
        return f"{name}: {inner}\n"
    return str(yaml.safe_dump({name: plain}, default_flow_style=False, width=10**9, **settings))


def _words(value: Any) -> str:
    """A word, or a list of words, that YAML writes unquoted; empty for anything else. Most fields are like this."""
    words = value if isinstance(value, list) else [value]
    if not all(type(word) is str and _is_plain(word) for word in words):
        return ""
    return f"[{', '.join(words)}]" if isinstance(value, list) else str(value)


def _is_plain(name: str) -> bool:
    """Whether YAML reads a word as itself without quotes."""
    return _PLAIN_NAME.fullmatch(name) is not None and name.lower() not in _WORDS_OF_YAML


_WORDS_OF_YAML = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

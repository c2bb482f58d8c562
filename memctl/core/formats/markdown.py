"""Markdown by lines: front matter, headings, code and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from memctl.core.formats import safe_yaml
from memctl.core.text.shortening import cut, one_line

_LONGEST_HEADING = 300
_SHOWN_HEADING = 120
_LARGEST_FRONT = 64 * 1024

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_NO_PARAGRAPH = re.compile(r"\s*(?:[-*+>|]|\d+[.)]\s|#{1,6}\s)|    |\t")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True)
class Block:
    """Lines from `start` to before `end`, from 0: a heading, a paragraph, or code or a table to keep together."""

    start: int
    end: int
    whole: bool = False
    level: int = 0
    title: str = ""


def front_matter(lines: Sequence[str]) -> tuple[dict[str, Any], int]:
    """The fields of the front matter and the start of the body; front matter that is not a mapping counts as text."""
    end = lines[0].rstrip() == "---" and next((n for n in range(1, len(lines)) if lines[n].rstrip() == "---"), 0)
    front = "\n".join(lines[1:end])
    if not end or len(front) >= _LARGEST_FRONT:
        return {}, 0
    try:
        fields = safe_yaml.load(front)
    except safe_yaml.UnsafeYamlError:
        return {}, 0
    return (fields, end + 1) if isinstance(fields, dict) else ({}, 0)


def blocks(lines: Sequence[str], begin: int) -> Iterator[Block]:
    """Headings, code and paragraphs, in order, without blank lines."""
    at = begin
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        block = _heading(lines, at) or _fenced(lines, at) or _paragraph(lines, at)
        yield block
        at = block.end


def _heading(lines: Sequence[str], at: int) -> Block | None:
    line = lines[at]
    if len(line) > _LONGEST_HEADING:
        return None
    if mark := _HEADING.match(line):
        title = re.sub(r"(?:^|[ \t])#+$", "", line[mark.end() :].strip())
        return Block(at, at + 1, level=len(mark[1]), title=flat(title))
    underlined = at + 1 < len(lines) and not _NO_PARAGRAPH.match(line) and _underline(lines[at + 1])
    if underlined and not _fence(line):
        return Block(at, at + 2, level=1 if underlined == "=" else 2, title=flat(line))
    return None


def _underline(line: str) -> str:
    """`=` or `-` if a line underlines a heading."""
    marks = _UNDERLINE.fullmatch(line) if len(line) <= _LONGEST_HEADING else None
    return marks[1][0] if marks else ""


def flat(title: object) -> str:
    """A heading as plain text on one line."""
    if not isinstance(title, str):
        return ""
    return cut(one_line(re.sub(r"[*`]", "", _LINK.sub(r"\1", title[:_LONGEST_HEADING]))), _SHOWN_HEADING)


def _fence(line: str) -> str:
    """The marks that open a code block; empty if the line opens none."""
    fence = _FENCE.match(line.lstrip())
    return "" if fence is None or (fence[1][0] == "`" and "`" in fence[2]) else fence[1]


def _fenced(lines: Sequence[str], at: int) -> Block | None:
    """A code block up to its closing fence or the end of the file."""
    if not (marks := _fence(lines[at])):
        return None
    for end in range(at + 1, len(lines)):
        closing = lines[end].strip()
        if len(closing) >= len(marks) and set(closing) == {marks[0]}:
            return Block(at, end + 1, whole=True)
    return Block(at, len(lines), whole=True)


def _paragraph(lines: Sequence[str], at: int) -> Block:
    """Lines up to a blank one, a heading or code."""
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _fence(lines[end]) and not _heading_mark(lines[end]):
        end += 1
    return Block(at, end, whole=lines[at].lstrip().startswith("|"))


def _heading_mark(line: str) -> bool:
    return len(line) <= _LONGEST_HEADING and _HEADING.match(line) is not None


def paragraphs(lines: Sequence[str]) -> Iterator[Block]:
    """The paragraphs of plain text."""
    for filled, numbers in groupby(range(len(lines)), key=lambda number: bool(lines[number].strip())):
        if filled:
            start, *others = numbers
            yield Block(start, start + 1 + len(others))

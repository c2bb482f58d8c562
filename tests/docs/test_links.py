"""Relative links in Markdown files lead somewhere, headings included, and `docs/index.md` lists every page."""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(`+)[^`].*?\1", re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_REFERENCE = re.compile(r"^\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.*?)[ \t]*#*$", re.MULTILINE)


def markdown() -> list[Path]:
    """The Markdown files of the repository, hidden and installed ones left out."""
    left_out = {"build", "dist", "venv", "node_modules"}
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in left_out]
        found += [Path(folder, name).relative_to(ROOT) for name in names if name.endswith(".md")]
    return sorted(path for path in found if not path.name.startswith("."))


def prose(path: Path) -> str:
    """The text of a file without its code."""
    return _CODE.sub("", _FENCE.sub("", path.read_text("utf-8")))


def links(path: Path) -> list[str]:
    text = prose(path)
    found = [*_LINK.findall(text), *_REFERENCE.findall(text)]
    return [target for target in found if not re.match(r"[a-z][a-z+.-]*:|//", target, re.IGNORECASE)]


@cache
def anchors(path: Path) -> frozenset[str]:
    """What a link to a heading of the file may say, made as GitHub makes it."""
    names: Counter[str] = Counter()
    found = set()
    for heading in _HEADING.findall(_FENCE.sub("", path.read_text("utf-8"))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(f"{slug}-{names[slug]}" if names[slug] else slug)
        names[slug] += 1
    return frozenset(found)


def fault(path: Path, target: str) -> str:
    """What is wrong with a link; empty when nothing is."""
    name, _, anchor = target.partition("#")
    aim = (path.parent / name).resolve() if name else path
    if not aim.exists():
        return f"{target}: no such file"
    if not aim.is_relative_to(ROOT):
        return f"{target}: leads out of the repository"
    if anchor and (aim.suffix != ".md" or anchor not in anchors(aim)):
        return f"{target}: no such heading"
    return ""


@pytest.mark.parametrize("name", markdown(), ids=str)
def test_links_lead_somewhere(name):
    assert [wrong for target in links(ROOT / name) if (wrong := fault(ROOT / name, target))] == []


def test_a_broken_link_is_found():
    page = ROOT / "docs" / "index.md"
    assert fault(page, "no-such-page.md") == "no-such-page.md: no such file"
    assert fault(page, "index.md#no-such-heading") == "index.md#no-such-heading: no such heading"
    assert fault(page, "../../outside.md").endswith("no such file")


def test_the_index_lists_every_page():
    listed = {target.partition("#")[0] for target in links(DOCS / "index.md")}
    assert {path.name for path in DOCS.glob("*.md")} - listed == {"index.md"}

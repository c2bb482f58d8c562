"""The pages stay short enough to be read."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST = 37_000
"""Words of all pages, without their code blocks, the tables that a benchmark writes, and the generated pages."""

_FENCE = re.compile(r"^```.*?^```[ \t]*$", re.DOTALL | re.MULTILINE)
_TABLE = re.compile(r"^<!-- (?:table|bench)[^>]*-->\n(?:(?!\|).*\n)*(?:\|.*\n)+", re.MULTILINE)


def test_the_pages_stay_short() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    written = [page.read_text("utf-8") for page in pages if page.name not in ("reference.md", "settings.md")]
    assert sum(len(_TABLE.sub("", _FENCE.sub("", text)).split()) for text in written) <= MOST

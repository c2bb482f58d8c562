"""Fill the figures of docs/guarantees.md: how many cases of each test were run, in short and in long form.

    python scripts/guarantees.py --list                   the tests the page names, for pytest
    python scripts/guarantees.py --short FILE             take the figures of a run of `make guarantees`
    python scripts/guarantees.py --torture FILE           … of `make torture`
    python scripts/guarantees.py --check                  whether the page says what docs/guarantees.json holds

FILE is what tests wrote into the file that `MEMCTL_CASES` named.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guarantees.md"
FIGURES = ROOT / "docs" / "guarantees.json"
SHORT, TORTURE = "short", "torture"

_ROW = re.compile(r"^(\| [^|]+ \| ((?:`tests/[\w/.]+::\w+` )+)\|)[^|]*\|[^|]*\|$", re.MULTILINE)
_DATE = re.compile(r"^(- Figures of `make (\w+)`: ).*$", re.MULTILINE)


def tests(page: str) -> list[str]:
    """The tests a page names, each as `path::name`."""
    return list(dict.fromkeys(test for _, cell in _ROW.findall(page) for test in _named(cell)))


def _named(cell: str) -> list[str]:
    return cell.replace("`", "").split()


def counted(lines: str) -> dict[str, int]:
    """Cases by test; what a test itself counted goes before how often it was run."""
    runs: Counter[str] = Counter()
    own: Counter[str] = Counter()
    for case in map(json.loads, lines.splitlines()):
        what = re.sub(r"::\w+::runTest$", lambda name: name[0].removesuffix("::runTest"), case["what"])
        (runs if "counted_by" in case else own)[what] += case["number"]
    return {**runs, **own}


def filled(page: str, figures: Mapping[str, Any]) -> str:
    """The page with the figures in its tables: of a row with several tests, their sum; `–` where none is known."""

    def row(match: re.Match[str]) -> str:
        known = [[figures[form]["cases"].get(test) for test in _named(match[2])] for form in (SHORT, TORTURE)]
        sums = ([number for number in numbers if number is not None] for numbers in known)
        return f"{match[1]} {' | '.join(f'{sum(numbers):,}' if numbers else '–' for numbers in sums)} |"

    def date(match: re.Match[str]) -> str:
        form = figures[TORTURE if match[2] == TORTURE else SHORT]
        return f"{match[1]}{form['date']}."

    return _DATE.sub(date, _ROW.sub(row, page))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument(f"--{SHORT}", type=Path)
    parser.add_argument(f"--{TORTURE}", type=Path)
    given = parser.parse_args()
    page, figures = PAGE.read_text("utf-8"), json.loads(FIGURES.read_text("utf-8"))
    if given.list:
        print(*tests(page))
        return 0
    for form, command in ((SHORT, "make guarantees"), (TORTURE, "make torture")):
        if source := getattr(given, form):
            known = figures[form]["cases"] | counted(source.read_text("utf-8"))
            cases = {test: known[test] for test in tests(page) if test in known}
            figures[form] = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "command": command, "cases": cases}
    made = filled(page, figures)
    if given.check:
        return int(made != page)
    FIGURES.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    PAGE.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

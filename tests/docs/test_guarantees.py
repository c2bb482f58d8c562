"""docs/guarantees.md: every test it names is there, and its figures are those that were run."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guarantees.md"
SCRIPT = ROOT / "scripts" / "guarantees.py"
FIGURES = json.loads((ROOT / "docs" / "guarantees.json").read_text())


def script(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def tests() -> list[str]:
    return script("--list").stdout.split()


def test_the_page_says_what_was_run() -> None:
    assert script("--check").returncode == 0, "run scripts/guarantees.py"


def test_every_row_names_its_tests(tests: list[str]) -> None:
    rows = [
        line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| promise")
    ]
    assert [row for row in rows if "`tests/" not in row] == []
    assert sum(row.count("`tests/") for row in rows) == len(tests) > 150


@cache
def parsed(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text("utf-8"))


def test_they_are_there(tests: list[str]) -> None:
    assert [test for test in tests if not defined(test)] == []


def defined(test: str) -> bool:
    path, name = test.split("::")
    body = parsed(path).body
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return name in functions | {
        ast.unparse(target) for node in body if isinstance(node, ast.Assign) for target in node.targets
    }


def declared(test: str) -> int | None:
    """How many examples a property's own decorator asks for; None where it says nothing, or has parameters."""
    path, name = test.split("::")
    module = parsed(path)
    values = {
        target.id: node.value.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            calls = {ast.unparse(found.func): found for found in node.decorator_list if isinstance(found, ast.Call)}
            if "cases" not in calls or "pytest.mark.parametrize" in calls:
                return None
            given = calls["cases"].args[0]
            return given.value if isinstance(given, ast.Constant) else values.get(ast.unparse(given))
    return None


def test_the_short_figures_are_what_the_tests_declare(tests: list[str]) -> None:
    figures, declare = FIGURES["short"]["cases"], {test: declared(test) for test in tests}
    wrong = [test for test, number in declare.items() if number and figures.get(test) not in (None, number)]
    assert wrong == [], "run `make guarantees`"

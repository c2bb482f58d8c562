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


TESTS = script("--list").stdout.split()


def test_the_page_says_what_was_run() -> None:
    assert script("--check").returncode == 0, "run scripts/guarantees.py"


def test_every_row_names_one_test() -> None:
    rows = [
        line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| promise")
    ]
    assert len(rows) == len(TESTS) > 60


@cache
def parsed(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text("utf-8"))


@pytest.mark.parametrize("test", TESTS)
def test_it_is_there(test: str) -> None:
    path, name = test.split("::")
    module = parsed(path)
    defined = {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    defined |= {ast.unparse(target) for node in module.body if isinstance(node, ast.Assign) for target in node.targets}
    assert name in defined


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


@pytest.mark.parametrize("test", [test for test in TESTS if declared(test)])
def test_the_short_figure_is_what_the_test_declares(test: str) -> None:
    assert FIGURES["short"]["cases"].get(test) in (None, declared(test)), "run `make guarantees`"

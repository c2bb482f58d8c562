"""The Python of the frameworks' pages runs, and prints what the page says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("snippets", ROOT / "tests" / "docs" / "test_snippets.py")
assert _spec
assert _spec.loader
snippets = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(snippets)


@pytest.mark.parametrize("framework", ["langgraph", "agentscope"])
def test_the_python_of_a_page_runs_and_prints_what_it_says(framework, tmp_path):
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed here: `make test-frameworks`")
    snippets.test_the_python_of_a_page_runs_and_prints_what_it_says(f"docs/{framework}.md", tmp_path)

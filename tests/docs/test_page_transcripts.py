"""Every transcript in the documentation is what its commands print today."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from cli.answering import program
from conftest import lacking
from databases import UnavailableError

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("page_transcripts", ROOT / "scripts" / "page_transcripts.py")
assert _spec
assert _spec.loader
transcripts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(transcripts)


@pytest.mark.parametrize("page", transcripts.pages(), ids=lambda page: page.name)
def test_a_page_shows_what_happens(page: Path):
    text = page.read_text("utf-8")
    try:
        filled = transcripts.filled(text, program().parent)
    except UnavailableError as problem:
        lacking("postgres", str(problem))
    assert transcripts.normal(filled) == transcripts.normal(text), (
        f"`python scripts/page_transcripts.py {page.relative_to(ROOT)}` fills it; read the result"
    )

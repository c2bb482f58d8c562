"""Every transcript in the documentation is what its commands print today."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.answering import answering

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("page_transcripts", ROOT / "scripts" / "page_transcripts.py")
assert _spec
assert _spec.loader
transcripts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(transcripts)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with answering(tmp_path_factory.mktemp("programs")) as program:
        yield program.parent


@pytest.mark.parametrize("page", transcripts.pages(), ids=lambda page: page.name)
def test_a_page_shows_what_happens(page: Path, programs: Path):
    text = page.read_text("utf-8")
    assert transcripts.normal(transcripts.filled(text, programs)) == transcripts.normal(text), (
        f"`python scripts/page_transcripts.py {page.relative_to(ROOT)}` fills it; read the result"
    )

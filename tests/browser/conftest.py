"""Fixtures for the tests in a browser: one Chromium for all, served copies of the sample store, and visitors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .driving import Served, Visitor

NOW = "2026-10-28T12:00:00Z"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    from .driving import chromium

    with sync_playwright() as playwright, chromium(playwright) as started:
        yield started


@pytest.fixture
def serve(
    tmp_path: Path, environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Served]]:
    """Serves a store; a copy of the sample store where none is given."""
    from .driving import sample, serving

    monkeypatch.setenv("MEMCTL_NOW", NOW)
    with ExitStack() as stack:

        def start(root: Path | str | None = None, user: str = "alice", *options: str) -> Served:
            return stack.enter_context(serving(root or sample(tmp_path / "sample"), user, *options))

        yield start


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visitor]]:
    """Somebody with a browser; at the end of the test nothing may have gone wrong in it."""
    from .driving import visiting

    with ExitStack() as stack:
        yield lambda served, **options: stack.enter_context(visiting(browser, served, **options))

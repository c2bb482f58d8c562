"""Every page at three widths, light and dark: readable, accessible, quiet, and nothing leaves the machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed here: `make test-web`")

from .driving import WIDTHS, Page, Served, Visitor

NUTS = "mem_20250111_3f4b7ca5e3de"
EVERY = (
    "/", "/search", "/search?q=is+Alice+allergic+to+tree+nuts", "/search?tag=food&sort=importance",
    "/context?q=may+I+suggest+a+pesto", f"/memory/{NUTS}", f"/edit/{NUTS}", f"/edit/{NUTS}?as=yaml", "/conversations",
    "/conversations/run_20250111182214_3d0c5e71", "/tasks", "/reflections", "/reflections/on-call-nerves.md",
    "/edit-reflection/on-call-nerves.md", "/documents", "/knowledge/migration-checklist.md",
    "/edit-document/migration-checklist.md", "/history", "/store", "/?as_of=2025-12-31", "/search?as_of=2025-12-31",
    "/nowhere",
)  # fmt: skip
CHINESE = ("/", "/search?q=小林对什么过敏", "/search", "/reflections", "/conversations", "/tasks", "/store")

SHIFTS = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => { for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value; })
    .observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done(sum), 50);
})"""
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
}


@cache
def axe() -> str:
    spec = find_spec("axe_playwright_python")
    assert spec
    assert spec.origin
    return (Path(spec.origin).parent / "axe.min.js").read_text("utf-8")


def violations(page: Page) -> list[str]:
    """What axe-core objects to, each with the first element."""
    page.evaluate(axe())
    found: Any = page.evaluate("rules => axe.run(document, rules)", RULES)
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found["violations"]]


def wide(page: Page) -> bool:
    """Whether something is wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def look_through(visitor: Visitor, served: Served, paths: tuple[str, ...], width: int) -> None:
    visitor.expected = ("404 (Not Found)",)
    page = visitor.enter()
    for path in paths:
        page.goto(served.origin + path)
        assert page.locator("h1").count(), path
        assert not wide(page), f"{path} is wider than {width} pixels"
        if path != "/":  # its checks arrive later, in the place that says so
            assert page.evaluate(SHIFTS) < 0.1, f"{path} jumps while it loads"
        if width < WIDTHS[-1]:  # what is widest differs by its columns alone
            assert violations(page) == [], path


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_at_three_widths(width: int, serve: Callable[..., Served], visit: Callable[..., Visitor]) -> None:
    served = serve()
    look_through(visit(served, width=width, dark=width == 1000), served, EVERY, width)


def test_pages_in_chinese(serve: Callable[..., Served], visit: Callable[..., Visitor]) -> None:
    served = serve(None, "xiaolin")
    visitor = visit(served, width=400)
    look_through(visitor, served, CHINESE, 400)
    page = visitor.context.pages[0]
    page.goto(served.origin + "/search?q=小林对什么过敏")
    assert page.locator(".belief a[lang=zh]").first.inner_text().startswith("小林对芒果过敏")


def test_a_page_that_is_read_only_shows_no_action(serve: Callable[..., Served], visit: Callable[..., Visitor]) -> None:
    served = serve(None, "alice", "--read-only")
    page = visit(served).enter()
    for path in ("/", f"/memory/{NUTS}", "/search?q=nuts", "/reflections/on-call-nerves.md"):
        page.goto(served.origin + path)
        assert page.locator("form[method=post]").count() == 0, path
    assert "read-only" in page.inner_text("footer")

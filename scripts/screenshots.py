"""Make the screenshots of the local page in docs/images, from sample_store/.

It runs in the environment of `make test-web`: `.venv-browser/bin/python scripts/screenshots.py`. Chinese text
needs a font such as Debian's fonts-noto-cjk.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser.driving import NOW, Page, Served, chromium, sample, serving, visiting  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402

IMAGES = ROOT / "docs" / "images"
NUTS = "/memory/mem_20250111_3f4b7ca5e3de"

SHOTS: tuple[tuple[str, str, str, int, bool], ...] = (
    ("today", "alice", "/", 1200, False),
    ("memory", "alice", NUTS, 1200, False),
    ("search", "alice", "/search?q=can Alice eat a pesto with nuts?", 1200, False),
    ("chinese", "xiaolin", "/search?q=小林对什么过敏", 1200, True),
    ("narrow", "alice", NUTS, 400, False),
)
"""The file's name, the user, the address, the width, and whether it is dark."""


def main() -> None:
    os.environ["MEMCTL_NOW"] = NOW
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, chromium(playwright) as browser:
        for name, user, path, width, dark in SHOTS:
            with tempfile.TemporaryDirectory() as folder, serving(sample(Path(folder) / "sample"), user) as served:
                shoot(browser, served, name, path, width, dark)


def shoot(browser: Browser, served: Served, name: str, path: str, width: int, dark: bool) -> None:
    with visiting(browser, served, width=width, dark=dark) as visitor:
        page = visitor.enter()
        page.goto(served.origin + path)
        settle(page)
        target = IMAGES / f"web-{name}.png"
        page.screenshot(path=str(target), clip={"x": 0, "y": 0, "width": width, "height": 760})
        print(f"{target.relative_to(ROOT)}: {target.stat().st_size // 1024} KiB")


def settle(page: Page) -> None:
    """Wait until no check runs any more."""
    page.wait_for_timeout(500)
    page.locator("main:not([data-pending])").wait_for(timeout=60_000)
    page.evaluate("document.activeElement?.blur()")


if __name__ == "__main__":
    main()

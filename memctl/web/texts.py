"""The editor of a text, whether a reflection or a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memctl.core.formats import codec

LARGEST = 200_000
"""Characters of a text that a field of a page takes."""


def made_of(text: str) -> str:
    """What names a text that a page was made from."""
    return codec.digest(text.strip().encode("utf-8", "surrogatepass"))


def editor(
    action: str, path: str, text: str, present: str, problem: str = "", *, secret: bool = False
) -> Mapping[str, Any]:
    """The values of the editor's page.

    Args:
        action: saves the text.
        present: what the file says now, where that is not what the text was made from.
        problem: why the text was not saved; `secret`: because it looks like one.
    """
    return {
        "title_of": path, "where": f"/{path}", "text": text, "made": made_of(present), "present": present,
        "problem": problem, "secret": secret, "action": action,
    }  # fmt: skip

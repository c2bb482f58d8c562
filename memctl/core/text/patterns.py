"""Patterns that are compiled when they are first used: most commands need none of them."""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """A pattern, by default one for which letter case does not count."""
    return re.compile(pattern, flags)

"""The classes of words by which clauses are read, from `data/english.toml` and `data/chinese.toml`.

A pattern names a class in braces: `{kin}` is any word of that class. Files are read when the first pattern is tried.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ENGLISH, CHINESE = "english", "chinese"

_CLASS = re.compile(r"\{([a-z_]+)\}")
_DATA = Path(__file__).parent / "data"


@cache
def classes(language: str) -> Mapping[str, tuple[str, ...]]:
    """The words of each class of a language; longer ones first, so that "step back" is not read as "step"."""
    text = (_DATA / f"{language}.toml").read_text("utf-8")
    return {name: tuple(sorted(words, key=len, reverse=True)) for name, words in tomllib.loads(text).items()}


@cache
def pattern(language: str, text: str) -> re.Pattern[str]:
    """A pattern over classes of a language, compiled; letter case does not count.

    Raises:
        KeyError: it names a class that the language does not have.
    """
    return re.compile(_expanded(language, text), re.IGNORECASE)


def _expanded(language: str, text: str) -> str:
    def alternatives(match: re.Match[str]) -> str:
        return f"(?:{'|'.join(_expanded(language, word) for word in classes(language)[match[1]])})"

    return _CLASS.sub(alternatives, text)

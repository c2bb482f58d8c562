"""Counting tokens: an estimate by script, or a tokenizer that was chosen."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any

Count = Callable[[str], int]

ESTIMATE = "estimate"
CHOICES = (ESTIMATE, "tiktoken:ENCODING", "tokenizers:FILE")

CHARACTERS_PER_TOKEN = {"latin": 4.0, "cjk": 1.5, "other": 2.0}
"""About so many characters make a token (for Latin and Chinese; other scripts lie between)."""

_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"


@lru_cache(maxsize=1)
def _scripts() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of a Chinese, Japanese or Korean character, and of one neither these nor Latin; made when needed."""
    return re.compile(f"[{_CJK}]"), re.compile(f"[^\x00-\u024f{_CJK}]")


def estimate(text: str) -> int:
    """About how many tokens a text has, by the scripts in it; never fewer for a longer text."""
    if text.isascii():
        return ceil(len(text) / CHARACTERS_PER_TOKEN["latin"])
    cjk, other = (len(pattern.findall(text)) for pattern in _scripts())
    parts = {"latin": len(text) - cjk - other, "cjk": cjk, "other": other}
    return ceil(sum(parts[script] / share for script, share in CHARACTERS_PER_TOKEN.items()))


@dataclass(frozen=True)
class Tokenizer:
    """What counts tokens, and a sentence on why it is not the one that was asked for; empty where it is."""

    name: str
    count: Count
    note: str = ""


@lru_cache(maxsize=8)
def load(name: str) -> Tokenizer:
    """The tokenizer of that name; the estimate, saying so, where it cannot be had.

    Args:
        name: `estimate`, `tiktoken:ENCODING` (such as `o200k_base`; the package and its file must be there), or
            `tokenizers:FILE` (a `tokenizer.json`).
    """
    kind, _, what = name.partition(":")
    loaders: dict[str, Callable[[str], Count]] = {"tiktoken": _tiktoken, "tokenizers": _tokenizers}
    if kind not in loaders or not what:
        note = "" if name == ESTIMATE else f"there is no tokenizer {name!r}; choose {', '.join(CHOICES)}"
        return Tokenizer(ESTIMATE, estimate, note)
    try:
        return Tokenizer(name, loaders[kind](what))
    except Exception as problem:  # a package of others, a download, a broken file: any of them may fail in any way
        reason = str(problem).split("\n", 1)[0][:200] or type(problem).__name__
        return Tokenizer(ESTIMATE, estimate, f"tokens are estimated: {name} cannot be used ({reason})")


def _tiktoken(encoding: str) -> Count:
    """Counts by an encoding whose file is in tiktoken's cache: a setting of a store must not start a download."""
    import tiktoken
    import tiktoken.load

    loading: Any = tiktoken.load
    fetch, loading.read_file = loading.read_file, _no_download
    try:
        encoder = tiktoken.get_encoding(encoding)
    finally:
        loading.read_file = fetch
    return lambda text: len(encoder.encode(text, disallowed_special=()))


def _no_download(address: str) -> bytes:
    raise FileNotFoundError("its file is not in tiktoken's cache; `tiktoken.get_encoding` in Python fetches it, once")


def _tokenizers(file: str) -> Count:
    from tokenizers import Tokenizer as Loaded

    path = Path(file).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    tokenizer = Loaded.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)

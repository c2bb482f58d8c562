"""The language of a text for memctl's own wording: English or Chinese."""

from __future__ import annotations

import re

CHINESE = "\u4e00-\u9fff"
"""The range of Chinese characters, for a regex class."""

_CHINESE = f"[{CHINESE}]"
_WORD = rf"[^\W\d_{CHINESE}][^\s{CHINESE}]*"


def language_of(*texts: str) -> str:
    """`zh` if there are more Chinese characters than words of other scripts, else `en`.

    Chinese technical text is full of Latin names: "用 PostgreSQL 部署" is Chinese.
    """
    text = "\n".join(texts)
    if text.isascii():
        return "en"
    return "zh" if len(re.findall(_CHINESE, text)) > len(re.findall(_WORD, text)) else "en"


def has_chinese(text: str) -> bool:
    """Whether there is a Chinese character."""
    return not text.isascii() and re.search(_CHINESE, text) is not None

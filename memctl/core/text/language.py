"""Which language a text is in, as far as memctl writes it: English or Chinese."""

from __future__ import annotations

import re

CHINESE = "\u4e00-\u9fff"
"""The range of Chinese characters, for a class of a pattern."""

_CHINESE = f"[{CHINESE}]"
_WORD = rf"[^\W\d_{CHINESE}][^\s{CHINESE}]*"


def language_of(*texts: str) -> str:
    """`zh` where there are more Chinese characters than words of other scripts, else `en`.

    Chinese technical text is full of Latin names: "用 PostgreSQL 部署" is Chinese.
    """
    text = "\n".join(texts)
    if text.isascii():
        return "en"
    return "zh" if len(re.findall(_CHINESE, text)) > len(re.findall(_WORD, text)) else "en"


def has_chinese(text: str) -> bool:
    """Whether there is any Chinese character."""
    return not text.isascii() and re.search(_CHINESE, text) is not None

"""Make memctl's list of Chinese words from jieba 0.42.1: `python scripts/chinese_words.py PATH_OF_jieba/dict.txt`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "memctl" / "judgement" / "data" / "words.zh.txt"

LEAST = 100
"""How often a word stands in the texts that jieba's authors counted."""

LEFT_OUT = ("nr", "nt", "m", "i", "l", "x", "y", "e", "u", "k", "zg", "o", "ng", "vg", "g", "q", "r")
"""Persons, organisations, numbers, phrases and parts of words."""

BLOCK = 200
"""So many words, about equally frequent, are sorted by their class."""

NOTICE = """# Common Chinese words, the most frequent first, in groups of one class: a adjective, n noun, p place,
# t time, v verb, x other. Made by scripts/chinese_words.py from the dictionary of jieba 0.42.1.
# Copyright (c) 2013 Sun Junyi. Permission is hereby granted, free of charge, to any person obtaining a copy of this
# software and associated documentation files (the "Software"), to deal in the Software without restriction, including
# without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the
# Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions: The
# above copyright notice and this permission notice shall be included in all copies or substantial portions of the
# Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
# LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL
# THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF
# CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
# THE SOFTWARE.
"""


def kept(lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """How often, the word, its class. Words that hold a negation or "every" are left out: those count by themselves."""
    for line in lines:
        word, count, tag = line.split(" ")
        if int(count) < LEAST or tag.strip() in LEFT_OUT or not 2 <= len(word) <= 4 or set(word) & set("不没未每无"):
            continue
        if all("\u4e00" <= character <= "\u9fff" for character in word):
            yield int(count), word, _class(tag.strip())


def _class(tag: str) -> str:
    if tag in ("ns", "s"):
        return "p"
    return tag[0] if tag[0] in "antv" else "x"


def main() -> None:
    words = sorted(kept(Path(sys.argv[1]).read_text("utf-8").splitlines()), key=lambda each: (-each[0], each[1]))
    lines = []
    for begin in range(0, len(words), BLOCK):
        block = words[begin : begin + BLOCK]
        for kind in sorted({kind for _, _, kind in block}):
            lines.append(" ".join((kind, *(word for _, word, of in block if of == kind))))
    TARGET.write_text(NOTICE + "\n".join(lines) + "\n", "utf-8")
    print(f"{len(words)} words")


if __name__ == "__main__":
    main()

"""Make memctl's English lexicons from WordNet 3.0: `python scripts/lexicons.py FOLDER_WITH_data.noun_AND_index.noun`.

Debian's package `wordnet-base` holds that folder as `/usr/share/wordnet`. WordNet is of Princeton University; its
licence allows this use and is written above each file.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "memctl" / "judgement" / "data"
VOCABULARY = DATA.parent.parent / "providers" / "data" / "builtin-vocab.txt"
PLAIN = re.compile("[a-z]{2,}")
PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}

PERSONS = 18
"""WordNet's number of the file with nouns for persons: "brother" and "sister" tell two people apart."""

VERBS, ADJECTIVES = "2", "35"
"""WordNet's numbers of these parts of speech."""

MOST_SENSES = 3
"""Antonyms count in a word's first so many senses; rarer ones mislead."""

NOTICE = """# {title} Made by scripts/lexicons.py from WordNet 3.0.
# WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved. THIS SOFTWARE AND DATABASE IS PROVIDED
# "AS IS" AND PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES, EXPRESS OR IMPLIED.
"""


@dataclass(frozen=True)
class Synset:
    words: tuple[str, ...]
    file: int
    pointers: tuple[tuple[str, str, str, str], ...]


def synsets(folder: Path) -> dict[tuple[str, str], Synset]:
    read = {}
    for part, letter in PARTS.items():
        for line in (folder / f"data.{part}").read_text("latin-1").splitlines():
            if line.startswith(" "):
                continue
            fields = line.split(" | ")[0].split()
            count = int(fields[3], 16)
            words = tuple(fields[4 + 2 * n].partition("(")[0].lower() for n in range(count))
            at = 4 + 2 * count
            named = [fields[at + 1 + 4 * n : at + 5 + 4 * n] for n in range(int(fields[at]))]
            pointers = tuple((sign, offset, of, where) for sign, offset, of, where in named)
            read[letter, fields[0]] = Synset(words, int(fields[1]), pointers)
    return read


def senses(folder: Path) -> dict[tuple[str, str], list[str]]:
    """The synsets of each word, its most frequent sense first."""
    read = {}
    for part, letter in PARTS.items():
        for line in (folder / f"index.{part}").read_text("latin-1").splitlines():
            if not line.startswith(" "):
                fields = line.split()
                read[letter, fields[0]] = fields[6 + int(fields[3]) :]
    return read


def antonyms(sets: dict[tuple[str, str], Synset], ranks: dict[tuple[str, str], list[str]]) -> Iterator[str]:
    for (part, offset), synset in sets.items():
        for sign, other, of, where in synset.pointers:
            if sign != "!" or synset.file == PERSONS:
                continue
            of = "a" if of == "s" else of
            one, two = synset.words[int(where[:2], 16) - 1], sets[of, other].words[int(where[2:], 16) - 1]
            if offset in ranks[part, one][:MOST_SENSES] and other in ranks[of, two][:MOST_SENSES]:
                yield " ".join(sorted((one, two)))


def synonyms(sets: dict[tuple[str, str], Synset], ranks: dict[tuple[str, str], list[str]]) -> Iterator[str]:
    """Words whose most frequent sense is the same."""
    for (part, word), offsets in ranks.items():
        alike = [other for other in sets[part, offsets[0]].words if ranks.get((part, other), [""])[0] == offsets[0]]
        if word == min(alike, default=""):
            yield " ".join(sorted(set(alike)))


KINDS = "meat seafood alcohol nut dairy_product sibling pet vehicle poultry beef pork fish_meat".split()
"""Kinds of which people say that they have, eat or want none."""


def members(sets: dict[tuple[str, str], Synset], ranks: dict[tuple[str, str], list[str]]) -> Iterator[str]:
    """Nouns with the kinds they are of."""
    for kind in KINDS:
        below = ranks.get(("n", kind), [])[:1]
        while below:
            synset = sets["n", below.pop()]
            below += [offset for sign, offset, _, _ in synset.pointers if sign == "~"]
            yield from (f"{word} {kind.partition('_')[0]}" for word in synset.words if word != kind)


def mostly(folder: Path, parts: str) -> Iterator[str]:
    """Words that WordNet's tagged texts use in these parts of speech at least as often as in others."""
    counts: Counter[tuple[str, bool]] = Counter()
    for line in (folder / "cntlist.rev").read_text("latin-1").splitlines():
        sense, _, number = line.split()
        word, _, rest = sense.partition("%")
        counts[word, rest[0] in parts] += int(number)
    for word, inside in counts:
        if inside and counts[word, True] >= max(2, counts[word, False]):
            yield word


def irregular(folder: Path, part: str) -> Iterator[str]:
    for line in (folder / f"{part}.exc").read_text("latin-1").splitlines():
        yield " ".join(line.split()[:2])


def known(lines: Iterable[str], vocabulary: frozenset[str], least: int = 2) -> list[str]:
    """Lines with `least` or more common words, of letters alone."""
    common = ([word for word in line.split() if word in vocabulary and PLAIN.fullmatch(word)] for line in lines)
    return sorted({" ".join(words) for words in common if len(words) >= least})


def write(name: str, title: str, lines: Iterable[str]) -> None:
    listed = list(lines)
    (DATA / name).write_text(NOTICE.format(title=title) + "\n".join(listed) + "\n", "utf-8")
    print(f"{name}: {len(listed)} lines")


def main() -> None:
    folder = Path(sys.argv[1])
    vocabulary = frozenset(VOCABULARY.read_text("utf-8").split("\n"))
    sets, ranks = synsets(folder), senses(folder)
    write("antonyms.en.txt", "Words that exclude each other.", known(antonyms(sets, ranks), vocabulary))
    write("synonyms.en.txt", "Words for the same thing.", known(synonyms(sets, ranks), vocabulary))
    write("kinds.en.txt", "What is of a kind.", known(members(sets, ranks), vocabulary))
    write("verbs.en.txt", "Words that are mostly verbs.", known(mostly(folder, VERBS), vocabulary, 1))
    write("adjectives.en.txt", "Words that are mostly adjectives.", known(mostly(folder, ADJECTIVES), vocabulary, 1))
    write("past.en.txt", "Irregular forms of verbs, and the verb.", known(irregular(folder, "verb"), vocabulary))
    write("plural.en.txt", "Irregular plurals, and the noun.", known(irregular(folder, "noun"), vocabulary))


if __name__ == "__main__":
    main()

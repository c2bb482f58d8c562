"""Make memctl's English lexicons from WordNet 3.0: `python scripts/lexicons.py FOLDER_WITH_data.noun_AND_index.noun`.

Debian's package `wordnet-base` holds that folder as `/usr/share/wordnet`. WordNet is of Princeton University; its
licence allows this use and is written above each file.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot
from pathlib import Path

from memctl.providers.builtin import BuiltinEmbedder

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
                yield from indirect(sets, ranks, one, other) if part == of == "a" else ()


def indirect(
    sets: dict[tuple[str, str], Synset], ranks: dict[tuple[str, str], list[str]], word: str, opposite: str
) -> Iterator[str]:
    """What is similar to the opposite of an adjective excludes it too: "tiny" beside "large"."""
    for sign, offset, _, _ in sets["a", opposite].pointers:
        for near in sets["a", offset].words if sign == "&" else ():
            if ranks["a", near][0] == offset:
                yield " ".join(sorted((word, near)))


NEAR = 0.4
"""Cosine in the built-in model from which words of one synset are near: it sorts out their rare meanings."""


def near(sets: dict[tuple[str, str], Synset], ranks: dict[tuple[str, str], list[str]]) -> Iterator[tuple[str, str]]:
    """Pairs of words that share a frequent sense, or of which one is derived from the other: depart, departure."""
    for (part, offset), synset in sets.items():
        words = sorted({word for word in synset.words if offset in ranks[part, word][:MOST_SENSES]})
        yield from combinations(words, 2)
        for sign, other, of, where in synset.pointers:
            if sign == "+":
                of = "a" if of == "s" else of
                one, two = synset.words[int(where[:2], 16) - 1], sets[of, other].words[int(where[2:], 16) - 1]
                if one != two and offset in ranks[part, one][:MOST_SENSES] and other in ranks[of, two][:MOST_SENSES]:
                    yield min(one, two), max(one, two)


def by_word(pairs: Iterable[tuple[str, str]], vocabulary: frozenset[str]) -> list[str]:
    """Each word with those it is near to."""
    common = {pair for pair in pairs if all(word in vocabulary and PLAIN.fullmatch(word) for word in pair)}
    vectors = {word: BuiltinEmbedder().embed([word])[0] for word in {word for pair in common for word in pair}}
    of: dict[str, list[str]] = {}
    for one, other in sorted(common):
        if _cosine(vectors[one], vectors[other]) >= NEAR:
            of.setdefault(one, []).append(other)
    return [" ".join((word, *others)) for word, others in sorted(of.items())]


def _cosine(one: Sequence[int], other: Sequence[int]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / (hypot(*one) * hypot(*other) or 1)


KINDS = "meat seafood alcohol nut dairy_product sibling pet vehicle poultry beef pork".split()
"""Kinds of which people say that they have, eat or want none."""

CLASSES = {
    "color": 0, "metal": 0, "fabric": 0, "wood": 0, "country": 1, "city": 0, "worker": 0, "professional": 0,
    "language": 0, "room": 0, "musical_instrument": 0, "sport": 0, "dog": 0, "religion": 1,
}  # fmt: skip
"""Classes of which a thing has or is one, each with the number of the sense."""

PERSON, PLACES = "person", ("country", "city")


def members(sets: dict[tuple[str, str], Synset], ranks: dict[tuple[str, str], list[str]], kind: str, sense: int) -> str:
    """A kind, and the nouns that are of it in their most frequent sense; names only of places."""
    below, words, seen = ranks["n", kind][sense : sense + 1], set[str](), set[str]()
    while below:
        offset = below.pop()
        synset = sets["n", offset]
        if offset in seen or (kind not in PLACES and any(sign == "@i" for sign, *_ in synset.pointers)):
            continue
        seen.add(offset)
        below += [other for sign, other, of, _ in synset.pointers if sign in ("~", "~i") and of == "n"]
        words |= {word for word in synset.words if ranks["n", word][0] == offset and PLAIN.fullmatch(word)}
    return " ".join((kind.partition("_")[0], *sorted(words - {kind})))


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
    verbs = frozenset(mostly(folder, VERBS))
    write("antonyms.en.txt", "Words that exclude each other.", known(antonyms(sets, ranks), vocabulary))
    write("near.en.txt", "Words near enough beside an equal rest.", by_word(near(sets, ranks), vocabulary))
    kinds = (members(sets, ranks, kind, 0) for kind in KINDS)
    write("kinds.en.txt", "What is of a kind: the kind, and its members.", known(kinds, vocabulary))
    classes = (members(sets, ranks, kind, sense) for kind, sense in CLASSES.items())
    write(
        "classes.en.txt",
        "Classes of which a thing has or is one: the class, and its members.",
        known(classes, vocabulary),
    )
    persons = members(sets, ranks, PERSON, 0).split()
    write("persons.en.txt", "Words for persons.", [" ".join(known(persons, vocabulary, 1))])
    write("verbs.en.txt", "Words that are mostly verbs.", known(verbs, vocabulary, 1))
    write("adjectives.en.txt", "Words that are mostly adjectives.", known(mostly(folder, ADJECTIVES), vocabulary, 1))
    write("past.en.txt", "Irregular forms of verbs, and the verb.", known(irregular(folder, "verb"), vocabulary))
    write("plural.en.txt", "Irregular plurals, and the noun.", known(irregular(folder, "noun"), vocabulary))


if __name__ == "__main__":
    main()

"""What each list of words is worth: `python -m bench.judgement.lexicons FILE …`, with pairs as `bench.judgement.pairs` reads.

All pairs are judged once with every list, and once without each: with an empty file, or an empty list of `en.toml` or
`zh.toml`. A row says by how many pairs the answers are worse without it: found less, and judged wrongly more. The
classes of grammar (articles, negations, modals …) are no lexicons; without them nothing can be read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from memctl.judgement import lexicon

FILES = (
    "antonyms.en.txt", "kinds.en.txt", "classes.en.txt", "persons.en.txt", "verbs.en.txt", "adjectives.en.txt", "near.en.txt", "past.en.txt",
    "plural.en.txt", "antonyms.zh.txt", "synonyms.zh.txt", "alike.zh.txt", "words.zh.txt",
)  # fmt: skip
LISTS = (
    "attributes", "single", "additive", "participles", "exclusive", "synonyms", "loosened", "opposites", "alike", "kinds", "implied", "rewritings",
    "paraphrased", "paraphrases", "generic", "giving", "regions", "relatives", "contrast", "light", "weak", "conditional", "fillers",
)  # fmt: skip


def names() -> list[str]:
    """The lexicons: files, and lists of a language as `en.toml:attributes`."""
    lists = [
        f"{language}.toml:{name}" for language in ("en", "zh") for name in LISTS if name in lexicon.listed(language)
    ]
    return [*FILES, *lists]


def removed(name: str) -> None:
    """Make one lexicon empty, for the rest of this process."""
    file, _, key = name.partition(":")
    read, listed = lexicon.text, lexicon.listed
    if not key:
        lexicon.text = lambda wanted: "" if wanted == file else read(wanted)
        return
    language = file.removesuffix(".toml")
    without = {language: {**listed(language), key: type(listed(language)[key])()}}
    lexicon.listed = lambda wanted: without.get(wanted) or listed(wanted)


def correct(files: Sequence[Path]) -> dict[str, int]:
    """How many pairs that are meant are found, and how many others are judged wrongly."""
    from bench.judgement.pairs import MEANT, judged

    answers = [each for file in files for each in judged([json.loads(line) for line in file.open(encoding="utf-8")])]
    return {
        "found": sum(said for pair, said in answers if MEANT[pair["label"]]),
        "wrong": sum(said for pair, said in answers if not MEANT[pair["label"]]),
    }


def measured(name: str, files: Iterable[Path]) -> Mapping[str, int]:
    """As `correct`, in a process of its own: what is read once is kept."""
    command = [sys.executable, "-m", "bench.judgement.lexicons", *map(str, files), f"--without={name}"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--without", metavar="LEXICON", help="print the counts without one lexicon, as JSON")
    options = parser.parse_args()
    if options.without is not None:
        if options.without:
            removed(options.without)
        print(json.dumps(correct(options.files)))
        return 0
    whole = measured("", options.files)
    print(f"with all: {whole['found']} found, {whole['wrong']} wrong\n\n| without | found | wrong |\n|---|---|---|")
    for name in names():
        counts = measured(name, options.files)
        print(f"| `{name}` | {counts['found'] - whole['found']:+d} | {counts['wrong'] - whole['wrong']:+d} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())

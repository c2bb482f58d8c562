"""Learns the weights of `memctl.extraction.learned`: `python -m bench.judgement.training [--held NAME]`.

`training/LANGUAGE_NAME.jsonl` holds messages of writers who had seen no rule: `{"sentences": [[text, label], …]}` with
`request`, `fact` or `none`. The cases that were read, `cases/dev`, are added. With `--held NAME` that writer's file is
left out, and the table shows how much of it is found at several thresholds; nothing is written.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from bench.judgement.extraction import cases
from memctl.extraction import clauses, learned
from memctl.extraction.words import CHINESE, ENGLISH
from memctl.providers.builtin import DIMENSIONS

HERE = Path(__file__).parent
LABELS = ("request", "fact", "none")
SHORT = {ENGLISH: "en", CHINESE: "zh"}
STEPS, RATE, SMALL = 400, 0.05, 1e-4
"""Steps of Adam over all examples, their size, and how much of its square a weight costs."""

Example = tuple[str, str]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.judgement.training", description=__doc__)
    parser.add_argument("--held", help="a writer whose file is held out, such as b")
    options = parser.parse_args(arguments)
    for language in (ENGLISH, CHINESE):
        files = sorted((HERE / "training").glob(f"{SHORT[language]}_*.jsonl"))
        held = [path for path in files if path.stem.partition("_")[2] == options.held]
        rows = [each for path in files if path not in held for each in labelled(path)]
        rows += [each for path in sorted((HERE / "cases" / "dev").glob(f"*_{SHORT[language]}*")) for each in read(path)]
        if options.held and not held:
            continue
        weights = learn(rows)
        print(f"{language}: {len(rows)} sentences")
        if held:
            report([each for path in held for each in labelled(path)], weights)
        else:
            learned.path(language).write_bytes(packed(weights))
    return 0


# Examples


def labelled(path: Path) -> Iterator[Example]:
    for line in path.read_text("utf-8").splitlines():
        yield from ((text, label) for text, label in json.loads(line)["sentences"])


def read(path: Path) -> Iterator[Example]:
    """The sentences of labelled cases, each with what it holds; what is stated in other words is left out."""
    label = {"requests": "request", "extraction": "fact"}.get(path.name.partition("_")[0])
    for case in cases(path) if label else ():
        kept = [clauses.squashed(each) for each in case.facts or ()]
        for sentence in clauses.split(case.text):
            holds = any(each in clauses.squashed(sentence) for each in kept)
            if holds or not kept:
                yield sentence, label if holds else "none"


# Learning


def learn(examples: Sequence[Example]) -> np.ndarray:
    """Weights of all features and of none, for each label: multinomial logistic regression with Adam."""
    rows, places, values, vectors = [], [], [], np.zeros((len(examples), DIMENSIONS))
    for number, (text, _) in enumerate(examples):
        for slot, value in learned.runs(text).items():
            rows.append(number), places.append(slot), values.append(value)
        vectors[number] = learned.vector(text)
    rows, places, values = np.array(rows), np.array(places), np.array(values)
    truth = np.array([[label == each for each in LABELS] for _, label in examples], dtype=float)
    balance = (truth / truth.sum(axis=0)).sum(axis=1, keepdims=True) * len(examples) / len(LABELS)
    weights = np.zeros((learned.SLOTS + DIMENSIONS + 1, len(LABELS)))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        gone = balance * (_shares(weights, rows, places, values, vectors) - truth) / len(examples)
        slope = SMALL * weights
        slope[-1] = gone.sum(axis=0)
        slope[learned.SLOTS : -1] += vectors.T @ gone
        for label in range(len(LABELS)):
            slope[: learned.SLOTS, label] += np.bincount(places, values * gone[rows, label], learned.SLOTS)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        weights -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights


def _shares(weights, rows, places, values, vectors):
    scores = vectors @ weights[learned.SLOTS : -1] + weights[-1]
    for label in range(len(LABELS)):
        scores[:, label] += np.bincount(rows, values * weights[places, label], len(vectors))
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def packed(weights: np.ndarray) -> bytes:
    """The weights as `learned` reads them: in one byte each, relative to those of neither."""
    ahead = weights[:, :2] - weights[:, 2:]
    parts = ahead[: learned.SLOTS], ahead[learned.SLOTS : -1]
    scales = [np.abs(part).max() / 127 for part in parts]
    whole = [np.rint(part / scale).astype(np.int8).tobytes() for part, scale in zip(parts, scales, strict=True)]
    return learned.HEADER.pack(*scales, *ahead[-1]) + b"".join(whole)


def report(examples: Sequence[Example], weights: np.ndarray) -> None:
    """Print the shares of each label that are found, and of the others that are taken for it."""
    learnt = learned.unpacked(packed(weights))
    found = [(label, learned.likely_by(learnt, text)) for text, label in examples]
    of = Counter(label for label, _ in found)
    for name in LABELS[:2]:
        for least in (0.5, 0.6, 0.7, 0.8, 0.9):
            above = Counter(label for label, likely in found if getattr(likely, name) >= least)
            print(f"  {name:8} from {least}: " + ", ".join(f"{a} {above[a] / max(1, of[a]):.3f}" for a in LABELS))


if __name__ == "__main__":
    raise SystemExit(main())

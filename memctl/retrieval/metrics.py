"""How good a ranking is, given what should have been found. Pure functions over ids."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import log2
from statistics import fmean

CUTS = (1, 5, 10)


@dataclass(frozen=True)
class Judgement:
    """One question's figures: share of the gold in the first 1, 5, 10; reciprocal rank; nDCG of the first 10."""

    recall: tuple[float, ...]
    reciprocal_rank: float
    ndcg: float


def judged(found: Sequence[str], gold: Collection[str]) -> Judgement:
    """Judge a ranking.

    Args:
        found: ids, best first.
        gold: ids that hold the evidence; at least one.
    """
    wanted = set(gold)
    recall = tuple(len(wanted & set(found[:cut])) / len(wanted) for cut in CUTS)
    first = next((rank for rank, name in enumerate(found, 1) if name in wanted), None)
    gained = sum(1 / log2(rank + 1) for rank, name in enumerate(found[: CUTS[-1]], 1) if name in wanted)
    best = sum(1 / log2(rank + 1) for rank in range(1, min(len(wanted), CUTS[-1]) + 1))
    return Judgement(recall, 1 / first if first else 0.0, gained / best)


def mean(judgements: Sequence[Judgement]) -> Judgement:
    """The mean of each figure; of at least one question."""
    recalls = zip(*(j.recall for j in judgements), strict=True)
    return Judgement(
        tuple(fmean(column) for column in recalls),
        fmean(j.reciprocal_rank for j in judgements),
        fmean(j.ndcg for j in judgements),
    )


def interval(values: Sequence[float], seed: int = 7, rounds: int = 1000) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean (or of a mean difference, where the values are paired differences)."""
    chance = random.Random(seed)
    n = len(values)
    means = sorted(fmean(chance.choices(values, k=n)) for _ in range(rounds))
    return means[int(0.025 * rounds)], means[int(0.975 * rounds) - 1]

"""How good a ranking is, given what should have been found. Pure functions over ids."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil, log2
from statistics import fmean

CUTS = (1, 5, 10)

EVIDENCE_SHARE = 0.8
"""So much of a question's evidence is enough to answer it: what the size of a context is measured by."""


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
    return by_ranks(ranks_of(found, gold))


def ranks_of(found: Sequence[str], gold: Collection[str]) -> list[int | None]:
    """Where each of the gold stands in a ranking, from 1; None where it does not."""
    ranks = {name: len(found) - behind for behind, name in enumerate(reversed(found))}
    return [ranks.get(name) for name in sorted(set(gold))]


def by_ranks(ranks: Sequence[int | None]) -> Judgement:
    """Judge an answer by where each piece of evidence stands in it, from 1; None where it does not.

    One hit may hold several pieces; nDCG is then at most 1 all the same.
    """
    there = [rank for rank in ranks if rank is not None]
    recall = tuple(sum(rank <= cut for rank in there) / len(ranks) for cut in CUTS)
    gained = sum(1 / log2(rank + 1) for rank in sorted(there) if rank <= CUTS[-1])
    best = sum(1 / log2(rank + 1) for rank in range(1, min(len(ranks), CUTS[-1]) + 1))
    return Judgement(recall, 1 / min(there) if there else 0.0, min(1.0, gained / best))


def hits_to_evidence(ranks: Sequence[int | None]) -> int | None:
    """How many hits it takes to have `EVIDENCE_SHARE` of the evidence; None where it is never there."""
    needed = ceil(EVIDENCE_SHARE * len(ranks))
    there = sorted(rank for rank in ranks if rank is not None)
    return there[needed - 1] if len(there) >= needed else None


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

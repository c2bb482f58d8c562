"""Recall on data sets: `python -m bench.recall DATA_FOLDER [--set NAME] [--model NAME] [--no-baselines]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median

from bench.recall.data import Dialogue, Question, load
from bench.recall.systems import Maker, makers
from memctl.context.tokens import estimate
from memctl.evaluation.metrics import Judgement, hits_to_evidence, interval, judged, mean, ranks_of


@dataclass
class Outcome:
    """A system's answers to one set, question by question, in the same order for all systems."""

    judgements: list[Judgement] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    session_recall: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)


def measured(data: Mapping[str, Dialogue], make: Maker, most: int) -> Outcome:
    """Fill a system with each dialogue and ask its questions."""
    outcome = Outcome()
    for dialogue in data.values():
        with tempfile.TemporaryDirectory() as folder:
            system = make(dialogue, Path(folder) / "store")
            lengths = {str(m["id"]): estimate(m["text"]) for m in dialogue.memories}
            sessions = dialogue.sessions
            for question in dialogue.questions[: most or None]:
                start = time.perf_counter()
                ranking = system.ask(question.text)
                outcome.seconds.append(time.perf_counter() - start)
                _note(outcome, question, ranking, lengths, sessions)
            system.close()
    return outcome


def _note(
    outcome: Outcome,
    question: Question,
    ranking: Sequence[str],
    lengths: Mapping[str, int],
    sessions: Mapping[str, str],
) -> None:
    outcome.judgements.append(judged(ranking, question.gold))
    outcome.categories.append(question.category)
    outcome.tokens.append(tokens_to_evidence(ranking, question.gold, lengths))
    gold = {sessions.get(name, "") for name in question.gold} - {""}
    if gold:
        first = list(dict.fromkeys(sessions.get(name, "") for name in ranking))[:5]
        outcome.session_recall.append(len(gold & set(first)) / len(gold))


def tokens_to_evidence(ranking: Sequence[str], gold: frozenset[str], lengths: Mapping[str, int]) -> int:
    """Tokens of context, best hits first, until 80 % of the evidence is in it; all that was found where it never is."""
    return sum(lengths.get(name, 0) for name in ranking[: hits_to_evidence(ranks_of(ranking, gold))])


def table(outcomes: Mapping[str, Outcome]) -> str:
    """One line a system; differences are to the first, paired, with their 95 % intervals."""
    first = next(iter(outcomes.values()))
    lines = [
        "| system | R@1 | R@5 | R@10 | MRR | nDCG@10 | session R@5 | R@10 less than the first (95 %) | p50 ms | tokens to 80 % |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, outcome in outcomes.items():
        figures = mean(outcome.judgements)
        gaps = [a.recall[-1] - b.recall[-1] for a, b in zip(first.judgements, outcome.judgements, strict=True)]
        low, high = interval(gaps)
        gap = f"{fmean(gaps):+.3f} ({low:+.3f} to {high:+.3f})" if outcome is not first else ""
        recalls = " | ".join(f"{value:.3f}" for value in figures.recall)
        session = f"{fmean(outcome.session_recall):.3f}" if outcome.session_recall else ""
        lines.append(
            f"| {name} | {recalls} | {figures.reciprocal_rank:.3f} | {figures.ndcg:.3f} | {session} | {gap} "
            f"| {median(outcome.seconds) * 1000:.1f} | {median(outcome.tokens):.0f} |"
        )
    return "\n".join(lines)


def by_category(outcome: Outcome) -> str:
    """R@10 of the first system by kind of question."""
    groups: dict[str, list[float]] = defaultdict(list)
    for category, judgement in zip(outcome.categories, outcome.judgements, strict=True):
        groups[category].append(judgement.recall[-1])
    return ", ".join(f"{name or '-'} {fmean(values):.3f} ({len(values)})" for name, values in sorted(groups.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with NAME/memories.jsonl and NAME/questions.jsonl")
    parser.add_argument("--set", action="append", dest="sets", help="only this set; may be repeated")
    parser.add_argument("--model", default="builtin")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--most", type=int, default=0, help="questions a store at most")
    parser.add_argument("--also", action="append", default=[], help="compare with memctl with this line of memctl.yaml")
    parser.add_argument("--at-end", action="store_true", help="ask on the day of the last memory, not today")
    options = parser.parse_args()
    names = options.sets or sorted(p.parent.name for p in options.data.glob("*/questions.jsonl"))
    for name in names:
        data = load(options.data / name)
        outcomes = {
            title: measured(data, make, options.most)
            for title, make in makers(options.model, not options.no_baselines, options.also, options.at_end).items()
        }
        first = next(iter(outcomes.values()))
        counts = f"{len(data)} stores, {sum(len(d.memories) for d in data.values())} memories"
        print(f"\n### {name}: {len(first.judgements)} questions, {counts}\n\n{table(outcomes)}\n")
        print(f"R@10 by kind of question: {by_category(first)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

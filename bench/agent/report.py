"""What was measured, as Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median, quantiles

from bench.agent.measure import Answer
from bench.agent.systems import AGENT
from memctl.evaluation.metrics import interval

GATE_SIZE = 2_000
THRESHOLDS = (0.0, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)


def table(results: Sequence[Answer]) -> str:
    """A line a system, with and without its gate where it has one: recall at each size, in full, and tokens."""
    sizes = sorted({each.size for each in results if each.own}, key=lambda size: size or 10**9)
    heads = " | ".join(f"{size:,}" if size else "default" for size in sizes)
    lines = [f"| system | {heads} |", "|---|" + "---|" * len(sizes)]
    for (system, gate), answers in _grouped(own(results), lambda each: (each.system, each.gate)):
        title = f"{system}, gate {'on' if gate else 'off'}" if _gated(results, system) else system
        lines.append(
            f"| {title} | " + " | ".join(_cell([a for a in answers if a.size == size]) for size in sizes) + " |"
        )
    return "\n".join(lines)


def _cell(answers: Sequence[Answer]) -> str:
    if not answers:
        return "–"
    share, full = fmean(a.share for a in answers), fmean(a.full for a in answers)
    return f"{number(share)} / {number(full)} ({fmean(a.tokens for a in answers):,.0f})"


def beside(results: Sequence[Answer]) -> str:
    """What the figures rest on: their interval, what chance gives, and each kind of question."""
    lines = []
    for (system, gate), answers in _grouped(own(results), lambda each: (each.system, each.gate)):
        sized = [a for a in answers if a.size == GATE_SIZE]
        if sized and _is_agent(system):
            low, high = interval([a.share for a in sized])
            kinds = "; ".join(
                f"{kind or '-'} {number(fmean(a.share for a in of))} ({len(of)})"
                for (kind,), of in _grouped(sized, lambda each: (each.category,))
            )
            chance = fmean(a.chance for a in sized)
            lines.append(
                f"- {system}, gate {'on' if gate else 'off'}, at {GATE_SIZE:,}: 95 % interval {number(low)}–{number(high)}; "
                f"evidence of another dialogue, by chance: {number(chance)}. {kinds}"
            )
    return "\n".join(lines)


def false_recall(results: Sequence[Answer]) -> str:
    """Tokens that are injected for questions of another dialogue."""
    lines = ["| system | size | gate | median | mean | 90 % | nothing injected |", "|---|---|---|---|---|---|---|"]
    foreign = [each for each in results if not each.own]
    for (system, size, gate), answers in _grouped(foreign, lambda each: (each.system, each.size, each.gate)):
        tokens = [a.tokens for a in answers]
        gated = ("on" if gate else "off") if _gated(results, system) else "none"
        lines.append(
            f"| {system} | {f'{size:,}' if size else 'default'} | {gated} | {median(tokens):,.0f} | {fmean(tokens):,.0f} "
            f"| {percentile(tokens, 90):,.0f} | {number(fmean(count == 0 for count in tokens))} |"
        )
    return "\n".join(lines) if foreign else ""


def curve(results: Sequence[Answer], system: str = AGENT) -> str:
    """One decision per question, by how well it is answered, at every threshold: what it costs and what it spares.

    It is computed from the answers without a gate: below the threshold nothing would have been injected.
    """
    ungated = [each for each in results if each.system == system and each.size == GATE_SIZE and not each.gate]
    mine, others = [each for each in ungated if each.own], [each for each in ungated if not each.own]
    if not mine or not others:
        return ""
    lines = [
        f"{system}, how well what is known answers (relevance of the best hit): own questions {_percentiles(mine)}; of another dialogue {_percentiles(others)}.",
        "",
        f"| threshold | own questions answered | others' answered | recall at {GATE_SIZE:,} | others' tokens, median | mean |",
        "|---|---|---|---|---|---|",
    ]
    for limit in THRESHOLDS:
        kept = [a.share if a.relevance >= limit else 0.0 for a in mine]
        tokens = [a.tokens if a.relevance >= limit else 0 for a in others]
        lines.append(
            f"| {number(limit)} | {number(fmean(a.relevance >= limit for a in mine))} "
            f"| {number(fmean(a.relevance >= limit for a in others))} | {number(fmean(kept))} "
            f"| {median(tokens):,.0f} | {fmean(tokens):,.0f} |"
        )
    return "\n".join(lines)


def _percentiles(answers: Sequence[Answer]) -> str:
    values = [a.relevance for a in answers]
    return ", ".join(f"{at} % {number(percentile(values, at))}" for at in (10, 25, 50, 75, 90))


def percentile(values: Sequence[float], at: int) -> float:
    """The value below which `at` % of them lie."""
    return quantiles(values, n=100, method="inclusive")[at - 1] if len(values) > 1 else values[0]


def own(results: Sequence[Answer]) -> list[Answer]:
    return [each for each in results if each.own]


def _gated(results: Sequence[Answer], system: str) -> bool:
    """Whether a system was asked with a gate too."""
    return any(each.gate for each in results if each.system == system)


def _with_curve(results: Sequence[Answer]) -> list[str]:
    """The systems of this program that were asked for what they do not know."""
    return [system for system in dict.fromkeys(a.system for a in results if not a.own) if " of " not in system]


def _is_agent(system: str) -> bool:
    return system.startswith(AGENT)


def _grouped(answers: Iterable[Answer], key: Callable[[Answer], tuple]) -> list[tuple[tuple, list[Answer]]]:
    """Groups in the order in which they come first."""
    groups: dict[tuple, list[Answer]] = defaultdict(list)
    for each in answers:
        groups[key(each)].append(each)
    return list(groups.items())


def number(value: float) -> str:
    return f"{value:.3f}".lstrip("0") if value < 1 else f"{value:.2f}"


def page(name: str, about: str, results: Sequence[Answer]) -> str:
    """All the tables of one data set."""
    parts = [
        f"### {name}: {about}",
        "Evidence turns held to 80 % / with every word (tokens of the recalled part), by the size allowed.",
        table(results),
        beside(results),
        "Questions of another dialogue: tokens injected.",
        false_recall(results),
        *(curve(results, system) for system in _with_curve(results)),
    ]
    return "\n\n".join(part for part in parts if part)

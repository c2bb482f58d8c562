"""Pages a person reads, as lines: one memory, a list, a purge, the store at a glance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memctl.core import times
from memctl.core.formats import codec
from memctl.core.models import Memory, Reflection
from memctl.present import plain

if TYPE_CHECKING:
    from memctl.core.kept import KeptMessage
    from memctl.core.messages import Message
    from memctl.decay.policies import Forecast
    from memctl.decay.service import DecayReport
    from memctl.overview import Overview, Portrait
    from memctl.purge.planning import PurgeReport

_SHOWN_ELSEWHERE = {"memory_id", "content", "layer"}


def memory_page(memory: Memory, reflection: Reflection | None, problem: str = "") -> Iterator[str]:
    """A memory in full: its text, its fields, its reflection."""
    yield memory.memory_id
    for number, line in enumerate(memory.content.strip().splitlines()):
        yield f"  | {line}".rstrip() if number else f"  {line}"  # no line looks like a field
    for name, value in codec.encode(memory).items():
        if name not in _SHOWN_ELSEWHERE and value not in ([], ""):
            yield from f"  {name}: {_field(value)}".split("\n")
    if reflection:
        yield ""
        yield f"--- {reflection.path}"
        yield from reflection.body.rstrip().split("\n")
    elif problem:
        yield ""
        yield f"({problem})"
    elif memory.summary_md_ref:
        yield ""
        yield f"({memory.summary_md_ref} is missing)"
    yield ""


def _field(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value).replace("\n", r"\x0a")
    if isinstance(value, dict | list):
        return codec.dump({"": value}, 0).removeprefix('{\n  "": ').removesuffix("\n}")
    return str(value).replace("\n", r"\x0a")


SHOWN_CHARACTERS = 300
"""How much of a message a conversation shows; --full shows all of it."""


def said(head: str, message: Message, full: bool) -> Iterator[str]:
    """A message as a person reads it: what was said, the tools that were called, what they answered."""
    lines = message.text.splitlines()
    lines += [f"→ {call.name} {_compact(call.input)}" for call in message.calls]
    lines += [f"← {line}" for result in message.results for line in result.output.splitlines()]
    text = "\n".join(lines)
    cut = text if full or len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}… (--full shows all)"
    yield head
    for line in cut.splitlines():
        yield f"    {line}"


def _compact(value: object) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def kept_message(message: KeptMessage, full: bool, *, mark: str = "") -> Iterator[str]:
    """A message of a transcript: when, who, its id, and what was said."""
    when = f"{message.at:%Y-%m-%d %H:%M}" if message.at else "no date"
    who = f"{message.name} ({message.role})" if message.name else message.role
    yield from said(f"{mark}{when}  {who}  {message.message_id}", message.message, full)


def conversation(messages: Sequence[KeptMessage], full: bool, *, asked: str = "") -> Iterator[str]:
    """Messages of a run, under the name of its session; the one that was asked for is marked."""
    if messages:
        yield f"session {messages[0].session}, {messages[0].run}"
    for message in messages:
        yield from kept_message(message, full, mark="> " if message.message_id == asked else "")


def record_changes(pairs: Sequence[tuple[Memory | None, Memory | None]], *, dry_run: bool = False) -> Iterator[str]:
    """What a change does to records, field by field; None stands for a record that is not there."""
    for before, after in pairs:
        memory = after or before
        if memory is None or before == after:
            continue
        would = "would be " if dry_run else ""
        verb = f"{would}new: " if before is None else f"{would}removed: " if after is None else ""
        yield f"{memory.memory_id}  {verb}{plain.one_line(memory.content, 80)}"
        if before and after:
            old, new = ({"status": m.status, **codec.encode(m)} for m in (before, after))
            for name in dict.fromkeys([*old, *new]):
                if old.get(name) != new.get(name) and name != "updated_at":
                    yield f"  {name}: {_shown(old.get(name))} → {_shown(new.get(name))}"


def _shown(value: object) -> str:
    return "(none)" if value in (None, "", [], {}) else _field(value)


LISTED = 400
"""Characters of a memory that a list shows, where the terminal is not narrower; `memctl show` prints all."""

MEMORY_COLUMNS = ("id", "date", "category", "kind", "imp.", "text")


def memory_rows(memories: Sequence[Memory], ids: Sequence[str]) -> list[tuple[str, ...]]:
    """The rows of a list of memories, under the ids that are to be shown."""
    return [
        (name, plain.day(m.when), m.category, m.kind, f"{m.importance:.2f}", plain.one_line(m.content, LISTED))
        for name, m in zip(ids, memories, strict=True)
    ]


def purge_plan(report: PurgeReport, dry_run: bool) -> Iterator[str]:
    """What a purge is going to remove, by file."""
    yield f"{'would purge' if dry_run else 'purging'} {some_of(report.ids)}"
    files = {each.path for each in report.files}
    for made in report.also_removed:
        if made not in files:
            yield f"  with {made}, which was made from it"
    for each in report.files:
        yield f"  {each.path}: {each.detail or each.action}"
    yield "  the index: rebuilt"


_SHOWN_IDS = 5


def some_of(ids: Sequence[str]) -> str:
    """Ids in words: the first of them, and how many more there are."""
    more = len(ids) - _SHOWN_IDS
    return ", ".join(ids) if more <= 1 else f"{', '.join(ids[:_SHOWN_IDS])}, and {more:,} more"


def purge_left(report: PurgeReport) -> Iterator[str]:
    """What a purge cannot reach."""
    for place in report.still_mentioned:
        yield f"  look yourself: {place} holds the same text, or words that stood only in it"
    for line in report.git_advice:
        yield f"  {line}"


DECAY_COLUMNS = ("id", "by", "imp.", "score", "limit", "fades", "text")


def decay_rows(forecasts: Sequence[Forecast], ids: Sequence[str], now: datetime) -> list[tuple[str, ...]]:
    """When memories fade, under the ids that are to be shown."""
    return [(name, *_decay_row(forecast, now)) for name, forecast in zip(ids, forecasts, strict=True)]


def decay_summary(report: DecayReport, *, dry_run: bool) -> Iterator[str]:
    """What a run of `decay` did."""
    if report.used:
        yield f"memories whose uses {'would be' if dry_run else 'were'} counted: {report.used}"
    verb, total = "would archive" if dry_run else "archived", len(report.forecasts)
    yield f"{verb} {len(report.faded)} of {total} memories that can fade" if total else "nothing here can fade"
    if dry_run and report.refused:
        yield "a real run would be refused without --allow-mass-change: that is a large share of the memories"
    if report.faded and not dry_run:
        yield "see them with `memctl list --archived`; bring back with `memctl undo` or `memctl restore ID`"


def _decay_row(f: Forecast, now: datetime) -> tuple[str, ...]:
    numbers = (f"{f.memory.importance:.2f}", f"{f.score:.3f}", f"{f.threshold:g}")
    return (f.policy, *numbers, _when(f, now), plain.one_line(f.memory.content, LISTED))


def _when(forecast: Forecast, now: datetime) -> str:
    if forecast.faded:
        return "now"
    if forecast.fades_on is None:
        return "never"
    return f"{forecast.fades_on:%Y-%m-%d} (in {times.days_between(now, forecast.fades_on):.0f} days)"


def overview_page(found: Overview, *, pictures: bool) -> Iterator[str]:
    """The store at a glance."""
    yield f"user {found.user} in {found.folder}"
    yield f"{found.total} memories: {_counts(found.statuses)}; {found.trashed} in the trash"
    for name, counts in (("category", found.categories), ("kind", found.kinds)):
        yield ""
        yield f"by {name}"
        yield from _bars(counts, pictures)
    if found.tags:
        yield ""
        yield f"tags: {', '.join(f'{tag} ({count})' for tag, count in list(found.tags.items())[:12])}"
    if found.oldest and found.newest:
        yield f"dates: {plain.day(found.oldest)} to {plain.day(found.newest)}"
    yield f"reflections: {found.reflections} ({len(found.stale_reflections)} stale)"
    for stale in found.stale_reflections[:5]:
        yield f"  {stale.path}: {stale.why}; `memctl reflect --stale` makes it anew"
    if found.documents:
        yield f"documents: {found.documents}, in {found.passages} passages"
    if found.messages:
        runs = "1 run" if found.runs == 1 else f"{found.runs} runs"
        yield f"messages: {found.messages}, in {runs} of sessions; `memctl transcripts` shows more"
    yield f"marked for revision: {found.needs_revision}; pinned: {found.pinned}"
    yield f"sizes: {', '.join(f'{name} {plain.size(size)}' for name, size in found.sizes.items() if size)}"
    yield f"model: {found.model}; index {found.index.state}{_notes(found.index.notes)} ({found.index_path})"
    if found.next_to_fade:
        first = found.next_to_fade[0]
        when = "now" if first.faded else plain.day(first.fades_on)
        yield f"next to fade: {first.memory.memory_id} ({when}); `memctl decay --dry-run` shows all"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


def _bars(counts: Mapping[str, int], pictures: bool) -> Iterator[str]:
    widest = max(counts.values(), default=1)
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        bar = "█" * max(1, round(24 * count / widest)) if pictures else ""
        yield f"  {name:<12} {count:>6} {bar}".rstrip()


def _notes(notes: Sequence[str]) -> str:
    return f": {'; '.join(notes)}" if notes else ""


def portrait_page(found: Portrait, *, pictures: bool) -> Iterator[str]:
    """Everything about one memory."""
    yield from memory_page(found.memory, found.reflection, found.problem)
    for line in found.links:
        yield f"link: {line}"
    for line in found.history:
        yield f"history: {line}"
    yield f"used {found.uses} times"
    forecast = found.forecast
    if forecast.fades_on is None:
        yield "fades: never (only unpinned episodes fade)"
        return
    yield f"importance {forecast.memory.importance:.2f}, now {forecast.score:.3f}; fades {plain.day(forecast.fades_on)}"
    if pictures:
        yield from _plot(found.curve, forecast.threshold, found.curve_days)


_BLOCKS = " ▁▂▃▄▅▆▇█"


def _plot(values: Sequence[float], threshold: float, days: int) -> Iterator[str]:
    """The curve as four rows of block characters; the threshold is the last row's note."""
    top = max(*values, threshold, 0.01)
    rows = 4
    for row in reversed(range(rows)):
        heights = [min(8, max(0, round((value / top * rows - row) * 8))) for value in values]
        axis = f"{top * (row + 1) / rows:.2f}"
        yield f"  {axis} │{''.join(_BLOCKS[height] for height in heights)}"
    yield f"       └{'─' * len(values)} {days} days; archived below {threshold:g}"

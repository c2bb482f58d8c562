"""`consolidate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli import options, render
from memctl.cli.options import DryRun, Now, current
from memctl.present import plain, reports

if TYPE_CHECKING:
    from memctl.consolidation.duplicates import Merge
    from memctl.consolidation.made import Made
    from memctl.consolidation.service import ConsolidationReport
    from memctl.core.models import Memory

SHOWN_ALIKE, SHOWN_SOURCES = 10, 12


def consolidate(
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="Only this part: duplicates, knowledge or skills.",
            metavar="PART",
            autocompletion=lambda incomplete: [
                p for p in ("duplicates", "knowledge", "skills") if p.startswith(incomplete)
            ],
        ),
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option(
            "--same", help="Two memories that say the same: the one to keep, the one to merge.", metavar="ID,ID"
        ),
    ] = None,
    no_model: Annotated[bool, typer.Option("--no-model", help="Rules alone, even if a language model is set.")] = False,
    allow_mass_change: Annotated[bool, typer.Option("--allow-mass-change", help="Merge even a large share.")] = False,
    dry_run: DryRun = False,
    now: Now = None,
) -> None:
    """Merge near-duplicates, and make knowledge and strategies of episodes.

    Near-duplicates become one memory. Three episodes on one target become knowledge, three similar successes a
    strategy.

    Nothing goes: what was merged stays readable as superseded, episodes stay as they are and are marked.

    Example: memctl consolidate --dry-run
    """
    from memctl.consolidation.made import PARTS

    pairs = [_pair(text) for text in same or []]
    with options.opened() as store:
        report = store.consolidation.run(
            dry_run=dry_run,
            now=options.moment(now),
            use_model=not no_model,
            only=only or PARTS,
            same=pairs,
            allow_mass_change=allow_mass_change,
        )
    if current.json:
        render.as_json(reports.consolidation(report, dry_run))
        return
    _page(report, dry_run)


def _pair(text: str) -> tuple[str, str]:
    from memctl.errors import UsageError

    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise UsageError(f"--same wants two ids, found {text!r}", hint="memctl consolidate --same KEEP,MERGE")
    return parts[0], parts[1]


def _page(report: ConsolidationReport, dry_run: bool) -> None:
    for merge in report.plan.merges:
        _merge(merge)
    for made, record in report.made:
        _made(made, record, dry_run)
    for path in report.proposals:
        render.say(f"a person edited the reflection, so it was left alone; the new text is in {path}")
    _alike(report)
    for memory_id in report.plan.recalled:
        render.say(f"left out: {memory_id} repeats what was recalled, so it is no evidence")
    for note in report.notes:
        render.warn(f"note: {note}")
    _counts(report, dry_run)


def _merge(merge: Merge) -> None:
    render.say(f"keep   {merge.kept.memory_id}  {plain.one_line(merge.kept.content, 200)}")
    for gone, similarity in zip(merge.merged, merge.similarity, strict=True):
        render.say(f"merge  {gone.memory_id}  {plain.one_line(gone.content, 200)}  ({similarity:.0%} alike)")
    render.say(f"       then mentions {merge.kept.mentions}, tags {', '.join(merge.kept.tags) or 'none'}\n")


def _made(made: Made, record: Memory, dry_run: bool) -> None:
    what = "knowledge" if made.part == "knowledge" else "strategy"
    name = record.memory_id if made.refreshed or not dry_run else "(new)"
    how = "refreshed" if made.refreshed else "new"
    by = f", written by {made.by}" if made.by else ""
    render.say(f"{what}  {name}  {how}, from {len(made.sources)} episodes, confidence {record.confidence:.2f}{by}")
    render.say(f"       {plain.one_line(record.content, 500)}")
    for source in made.fresh[:SHOWN_SOURCES]:
        render.say(f"from   {source.memory_id}  {plain.one_line(source.content, 80)}")
    if len(made.fresh) > SHOWN_SOURCES:
        render.say(f"       and {len(made.fresh) - SHOWN_SOURCES} more")
    if earlier := len(made.sources) - len(made.fresh):
        render.say(f"       and the {earlier} it was made from before")
    render.say()


def _alike(report: ConsolidationReport) -> None:
    pairs = report.plan.alike
    if not pairs:
        return
    render.say(
        f"alike in words, left as they are: {len(pairs)}" + (" (the nearest)" if len(pairs) > SHOWN_ALIKE else "")
    )
    for pair in pairs[:SHOWN_ALIKE]:
        render.say(f"  {pair.similarity:.0%}  {pair.one.memory_id}  {plain.one_line(pair.one.content, 120)}")
        render.say(f"       {pair.other.memory_id}  {plain.one_line(pair.other.content, 120)}")
    render.say("  if two say the same: `memctl consolidate --same KEEP,MERGE`\n")


def _counts(report: ConsolidationReport, dry_run: bool) -> None:
    plan = report.plan
    if not (plan.merges or plan.made):
        render.say("nothing to consolidate")
        return
    counts = {part: sum(made.part == part for made in plan.made) for part in ("knowledge", "skills")}
    would = "would merge" if dry_run else "merged"
    render.say(
        f"{would} {_count(plan.superseded, 'memory', 'memories')}, {'write' if dry_run else 'wrote'} "
        f"{_count(counts['knowledge'], 'piece', 'pieces')} of knowledge and "
        f"{_count(counts['skills'], 'strategy', 'strategies')}"
    )
    if report.refused:
        render.say(f"the real run would be refused: {report.refused.split(';')[0]} (--allow-mass-change)")
    if not dry_run and report.change.puts:
        render.say("take it back with `memctl undo`; merged ones: `memctl show ID --history`")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"

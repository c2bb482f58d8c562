"""The life of memories: reflect, decay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli import options, render
from memctl.cli.options import Category, DryRun, Kind, Now, OptionalIds, Since, Tag, Until, current

if TYPE_CHECKING:
    from memctl.models import Memory
    from memctl.store import MemoryStore


def reflect(
    ids: OptionalIds = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="Reflect on what answers this.")] = None,
    category: Category = None,
    kind: Kind = None,
    tag: Tag = None,
    since: Since = None,
    until: Until = None,
    title: Annotated[str, typer.Option(help="The heading; made from what the memories share otherwise.")] = "",
    dry_run: DryRun = False,
    now: Now = None,
) -> None:
    """Write or refresh a reflection from memories.

    A Markdown summary, made without a model: key points, grouped, each with its sources.

    What a person edited is never overwritten: the new text is laid beside it as a proposal.

    Example: memctl reflect --category work --title "What we learned about deploys"
    """
    with options.opened() as store:
        options.check_categories(store, category)
        memories = _chosen(store, ids or [], query, category, kind, tag, since, until)
        done = store.reflect(memories, title=title, dry_run=dry_run, now=options.moment(now))
    if current.json:
        what = {"outcome": done.outcome, "dry_run": dry_run, "path": done.path, "memory_id": done.memory.memory_id}
        render.as_json(what | {"body": done.body})
        return
    render.say(done.body.rstrip())
    if dry_run:
        render.say(f"\ndry run: would be {done.outcome}")
        return
    told = {
        "written": f"wrote {done.path} ({done.memory.memory_id})",
        "refreshed": f"refreshed {done.path} ({done.memory.memory_id})",
        "unchanged": f"{done.path} says this already ({done.memory.memory_id})",
        "proposed": f"a person edited the reflection, so it was left alone; the new text is in {done.path}",
    }
    render.say(f"\n{told[done.outcome]}")


def _chosen(
    store: MemoryStore,
    ids: list[str],
    query: str | None,
    category: list[str] | None,
    kind: list[str] | None,
    tag: list[str] | None,
    since: str | None,
    until: str | None,
) -> list[Memory]:
    from memctl.errors import UsageError
    from memctl.models import Filters, Query
    from memctl.retrieval.rank import used
    from memctl.selection import Selection

    filters = Filters(
        tuple(category or ()),
        tuple(kind or ()),
        tuple(tag or ()),
        since=options.moment(since),
        until=options.moment(until),
    )
    if ids and (query or filters != Filters()):
        raise UsageError("name ids, or choose with options, not both")
    if ids:
        return [store.get(memory_id) for memory_id in ids]
    if query:
        hits = store.query(Query(query, top=20, filters=filters), receipt=False).hits
        return [hit.memory for hit in used(hits) if not _is_summary(hit.memory)]
    if filters == Filters():
        raise UsageError("on what?", hint="Name ids, or choose with --query, --category, --kind, --tag, --since.")
    return [memory for memory in store.select(Selection(filters, ascending=True)) if not _is_summary(memory)]


def _is_summary(memory: Memory) -> bool:
    """Whether a memory was itself made from others: a summary of summaries says nothing new."""
    return memory.kind == "knowledge" and bool(memory.sources)


def decay(
    dry_run: DryRun = False,
    now: Now = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", help="half-life, age, gate, capacity or strategies, instead of the settings'; may be repeated.",
            autocompletion=options.complete_policy, metavar="NAME",
        ),
    ] = None,
    allow_mass_change: Annotated[bool, typer.Option("--allow-mass-change", help="Archive even a large share.")] = False,
) -> None:  # fmt: skip
    """Archive what has faded.

    By default the importance of an episode halves every 90 days, from 30 days of age; below 0.1 it leaves the answers
    but stays in the file. The setting decay_policies turns on other rules. Pinned memories, facts and preferences never
    fade.

    Example: memctl decay --dry-run
    """
    from memctl import times
    from memctl.cli.views import decay_table

    moment = options.moment(now) or times.utc_now()
    with options.opened() as store:
        report = store.decay(policies=policy or (), dry_run=dry_run, now=moment, allow_mass_change=allow_mass_change)
    if current.json:
        rows = [
            {
                "memory_id": f.memory.memory_id, "importance": f.memory.importance, "policy": f.policy,
                "score": round(f.score, 6), "threshold": f.threshold, "fades_on": f.fades_on, "archived": f.faded,
                "reason": f.reason,
            }
            for f in report.forecasts
        ]  # fmt: skip
        done = {"dry_run": dry_run, "now": moment, "archived": len(report.faded), "refused": report.refused}
        render.as_json(done | {"memories": rows})
        return
    decay_table(report, dry_run=dry_run, now=moment)

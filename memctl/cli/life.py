"""The life of memories: reflect, decay, maintain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli import options, render
from memctl.cli.ids import OptionalIds, shown_ids
from memctl.cli.options import Category, DryRun, Kind, Now, Since, Tag, Until, current
from memctl.present import plain

if TYPE_CHECKING:
    from datetime import datetime

    from memctl.core.models import Memory
    from memctl.maintenance import Step
    from memctl.reflections.scope import Scope
    from memctl.reflections.service import Reflected
    from memctl.store import MemoryStore

NoModel = Annotated[bool, typer.Option("--no-model", help="Rules alone, even where a language model is configured.")]


def reflect(
    ids: OptionalIds = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="Reflect on what answers this.")] = None,
    category: Category = None,
    kind: Kind = None,
    tag: Tag = None,
    target: Annotated[str, typer.Option(help="Only episodes about this target.", metavar="TARGET")] = "",
    since: Since = None,
    until: Until = None,
    stale: Annotated[
        bool, typer.Option("--stale", help="Make anew all reflections whose sources have changed.")
    ] = False,
    title: Annotated[str, typer.Option(help="The heading; made from what the memories share otherwise.")] = "",
    no_model: NoModel = False,
    dry_run: DryRun = False,
    now: Now = None,
) -> None:
    """Write or refresh a reflection from memories.

    A Markdown summary: key points, grouped, each with its sources. Rules make it; a language model, where one is
    configured, if each of its points names sources that say so.

    A selection by category, kind, tag, target or time is remembered: the reflection grows with what is added later.
    What a person edited is never overwritten: the new text is laid beside it as a proposal.

    Example: memctl reflect --category work --title "What we learned about deploys"
    """
    from memctl.core import times
    from memctl.reflections.scope import Scope

    moment = options.moment(now) or times.utc_now()
    scope = Scope(
        tuple(category or ()), tuple(kind or ()), options.tags(tag), target,
        since=options.moment(since), until=options.moment(until),
    )  # fmt: skip
    with options.opened() as store:
        options.check_categories(store, category)
        options.check_kinds(store, kind)
        _check_choice(ids or [], query, scope, stale)
        if stale:
            done = store.reflections.refresh(use_model=not no_model, dry_run=dry_run, now=moment)
        else:
            memories, scope = _chosen(store, ids or [], query, scope, moment)
            done = [
                store.reflections.write(
                    memories, title=title, scope=scope, use_model=not no_model, dry_run=dry_run, now=moment
                )
            ]
    _tell_reflected(done, dry_run, stale)


def _check_choice(ids: list[str], query: str | None, scope: Scope, stale: bool) -> None:
    from memctl.errors import UsageError

    chosen = [bool(ids), bool(query) or not scope.empty, stale]
    if sum(chosen) > 1:
        raise UsageError("name ids, choose with options, or take --stale: one of them")
    if not any(chosen):
        hint = "Name ids, or choose with --query, --category, --kind, --tag, --target, --since, or --stale."
        raise UsageError("on what?", hint=hint)


def _chosen(
    store: MemoryStore, ids: list[str], query: str | None, scope: Scope, now: datetime
) -> tuple[list[Memory], Scope]:
    """The memories meant, and the scope to remember: what answers a question today is none."""
    from dataclasses import replace

    from memctl.core.models import MEMORIES, Query
    from memctl.reflections.scope import Scope
    from memctl.retrieval.rank import used

    if ids:
        return [store.get(memory_id) for memory_id in ids], Scope()
    if not query:
        return store.reflections.in_scope(scope, now), scope
    filters = replace(scope.filters, only=MEMORIES)
    hits = store.query(Query(query, top=20, filters=filters), receipt=False, now=now).hits
    return [hit.memory for hit in used(hits) if scope.holds(hit.memory)], Scope()


def _tell_reflected(done: list[Reflected], dry_run: bool, stale: bool) -> None:
    if current.json:
        found = [
            {
                "outcome": one.outcome, "dry_run": dry_run, "path": one.path, "memory_id": one.memory.memory_id,
                "notes": list(one.notes), "body": one.body,
            }
            for one in done
        ]  # fmt: skip
        render.as_json({"reflections": found} if stale else found[0])
        return
    told = {
        "written": "wrote {path} ({id})",
        "refreshed": "refreshed {path} ({id})",
        "unchanged": "{path} says this already ({id})",
        "proposed": "a person edited the reflection, so it was left alone; the new text is in {path}",
    }
    for one in done:
        render.say_text(one.body.rstrip())
        for note in one.notes:
            render.warn(note)
        sentence = f"dry run: would be {one.outcome}: {{path}}" if dry_run else told[one.outcome]
        render.say("\n" + sentence.format(path=one.path, id=one.memory.memory_id))
    if not done:
        render.say("no reflection is stale")


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
    from memctl.core import times
    from memctl.present.pages import DECAY_COLUMNS, decay_rows, decay_summary

    moment = options.moment(now) or times.utc_now()
    with options.opened() as store:
        report = store.decay.run(
            policies=policy or (), dry_run=dry_run, now=moment, allow_mass_change=allow_mass_change
        )
        shown = report.forecasts if dry_run else report.faded
        if shown and not current.json:
            ids = shown_ids(store, [forecast.memory.memory_id for forecast in shown], remember=not dry_run)
            rows = decay_rows(shown, ids, moment)
            render.numbered_table(DECAY_COLUMNS, rows, right=(2, 3, 4))
    if current.json:
        documents = [
            {
                "memory_id": f.memory.memory_id, "importance": f.memory.importance, "policy": f.policy,
                "score": round(f.score, 6), "threshold": f.threshold, "fades_on": f.fades_on, "archived": f.faded,
                "reason": f.reason,
            }
            for f in report.forecasts
        ]  # fmt: skip
        done = {"dry_run": dry_run, "now": moment, "archived": len(report.faded), "refused": report.refused}
        render.as_json(done | {"memories": documents})
        return
    render.lines(decay_summary(report, dry_run=dry_run))


def maintain(
    skip: Annotated[
        list[str] | None,
        typer.Option(
            "--skip", help="Leave out a step: sessions, expiry, decay, consolidate, trash, transcripts or compact.",
            autocompletion=options.complete_step, metavar="STEP",
        ),
    ] = None,
    no_model: NoModel = False,
    allow_mass_change: Annotated[bool, typer.Option("--allow-mass-change", help="Change even a large share.")] = False,
    dry_run: DryRun = False,
    now: Now = None,
) -> None:  # fmt: skip
    """Do all that keeps a memory in shape; what a timer calls.

    Idle sessions end and are learned from, expired memories go to the trash, what has faded is archived,
    near-duplicates and episodes are consolidated, what was archived half a year ago goes to the trash, messages that
    the settings keep no longer are deleted, and the index is compacted. `undo` takes back each step; only messages that
    were deleted more than 30 days ago are gone for good.

    Example: memctl maintain --dry-run
    """
    from memctl.errors import RefusedError

    with options.opened() as store:
        steps = store.maintain(
            skip=skip or (), use_model=not no_model, dry_run=dry_run, allow_mass_change=allow_mass_change,
            now=options.moment(now),
        )  # fmt: skip
    if current.json:
        found = [
            {"step": step.name, "done": list(step.done), "notes": list(step.notes), "refused": step.refused}
            for step in steps
        ]
        render.as_json({"dry_run": dry_run, "steps": found})
    for step in steps:
        render.say(f"{step.name}: {step.refused or _counted(step, dry_run)}")
        for line in (*step.done, *step.notes):
            render.say(f"  {plain.one_line(line, 160)}")
    if not dry_run and (refused := [step.name for step in steps if step.refused]):
        hint = "The reasons stand above; what would change a large share is done with --allow-mass-change."
        raise RefusedError(f"not done: {', '.join(refused)}", hint=hint)


def _counted(step: Step, dry_run: bool) -> str:
    if not step.done:
        return "nothing to do"
    return f"{len(step.done)} {'to do' if dry_run else 'done'}"

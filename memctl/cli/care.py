"""Care: sync, doctor, reindex, import, export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli import options, progress, render
from memctl.cli.options import AllowSecret, Category, DryRun, Kind, Tag, current
from memctl.present import plain, shapes

if TYPE_CHECKING:
    from memctl.storage.ports.storage import SyncReport


def sync(
    allow_mass_change: Annotated[
        bool, typer.Option("--allow-mass-change", help="Accept that many records went away.")
    ] = False,
) -> None:
    """Bring the index up to date with the files.

    Every command does; this also makes all missing vectors.

    Example: memctl sync
    """
    with options.opened() as store:
        report = store.sync(allow_mass_change=allow_mass_change, progress=progress.working)
        render.degraded([store.engine.embedder_problem] if store.engine.embedder_problem else [])
    _tell_sync(report)
    if report.blocked:
        raise report.blocked


def _tell_sync(report: SyncReport) -> None:
    state = report.index_state
    if current.json:
        render.as_json(
            {"state": state.state, "changed": report.changed, "removed": report.removed, "notes": list(state.notes)}
        )
        return
    render.say(f"index {state.state}: {report.changed} changed, {report.removed} removed")


def reindex() -> None:
    """Delete the index and make it anew from the files.

    Example: memctl reindex
    """
    with options.opened() as store:
        report = store.reindex(progress.working)
    _tell_sync(report)


def doctor(
    deep: Annotated[bool, typer.Option("--deep", help="Hash every file and compare the index with a rebuild.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what is safe to mend; undo takes it back.")] = False,
) -> None:
    """Look for what is wrong, and mend what is safe.

    Each finding is a sentence with file and line.

    Example: memctl doctor --deep
    """
    from memctl import doctor as checking
    from memctl.errors import InvalidDataError
    from memctl.storage.files import backups

    with options.opened(quiet=True) as store:
        found = checking.examine(store, deep=deep)
        before = backups.listed(store.folder)
        mended = checking.mend(store, found) if fix else []
        left = checking.examine(store, deep=deep) if mended else found
        stays = {(problem.path, problem.message) for problem in left}
        mended = [problem for problem in mended if (problem.path, problem.message) not in stays]
        new = [path for path in backups.listed(store.folder) if path not in before]
        kept = str(new[0].relative_to(store.folder.root)) if new else ""
    if current.json:
        shown = {"problems": [vars(p) for p in left], "mended": [vars(p) for p in mended]}
        render.as_json(shown | ({"backup": kept} if kept else {}))
    for problem in mended:
        render.say(f"mended: {problem} ({problem.fix})")
    if kept and mended:
        render.say(f"as it was: {kept}")
    for problem in left:
        hint = f"  → --fix would {problem.fix}" if problem.fix else ""
        render.say(f"{problem}{hint}")
    if not left:
        render.say("nothing is wrong")
    elif wrong := [problem for problem in left if problem.code in checking.BROKEN]:
        many = "1 thing must" if len(wrong) == 1 else f"{len(wrong)} things must"
        how = "by hand or with --fix" if any(problem.fix for problem in wrong) else "by hand"
        raise InvalidDataError(f"{many} be mended {how}", hint="They are listed above.")


def import_(
    path: Annotated[Path, typer.Argument(help="A file or folder; - reads standard input.", metavar="PATH")],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            autocompletion=options.complete_import_format,
            help="auto, memctl, jsonl, records, mcp, basic-memory or mem0.",
        ),
    ] = "auto",
    only_store: Annotated[str, typer.Option("--only-store", help="Only lines whose `store` is this.")] = "",
    allow_duplicate: Annotated[
        bool, typer.Option("--allow-duplicate", help="Store texts that are there already.")
    ] = False,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Import the rest when some lines are broken.")
    ] = False,
    allow_secret: AllowSecret = False,
    archive: Annotated[
        bool, typer.Option("--archive", help="PATH is an archive of `export --archive`: make it a new user.")
    ] = False,
    with_settings: Annotated[
        bool, typer.Option("--with-settings", help="With --archive: also take its memctl.yaml.")
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Bring in memories from a file or another tool.

    Reads memctl's JSONL, plain JSONL (id, text, time, …), record files, the MCP memory server's graph, a folder of
    basic-memory notes, and mem0 exports. With --archive it brings back a backup, byte for byte.

    Example: memctl import ~/backup/memories.jsonl
    """
    from memctl.cli import archiving, bulk
    from memctl.errors import UsageError

    if archive:
        if form != "auto" or only_store or allow_duplicate or skip_broken or allow_secret:
            raise UsageError("--archive takes no other option but --with-settings and --dry-run")
        archiving.restore(path, with_settings, dry_run)
        return
    if with_settings:
        raise UsageError("--with-settings goes with --archive")
    bulk.bring_in(
        path,
        form,
        only_store,
        allow_duplicate=allow_duplicate,
        allow_secret=allow_secret,
        skip_broken=skip_broken,
        dry_run=dry_run,
    )


def export(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; standard output otherwise.")
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format", autocompletion=options.complete_export_format, help="jsonl, or records (one memory.json)."
        ),
    ] = "jsonl",
    category: Category = None,
    kind: Kind = None,
    tag: Tag = None,
    every: Annotated[bool, typer.Option("--all", help="Also archived, superseded and candidate ones.")] = False,
    dpo: Annotated[
        bool, typer.Option("--dpo", help="Preference pairs for training instead: prompt, chosen, rejected.")
    ] = False,
    archive: Annotated[
        Path | None, typer.Option("--archive", help="Write a backup of all the user's files into this file instead.")
    ] = None,
    with_log: Annotated[
        bool, typer.Option("--with-log", help="With --archive: also the operation log (undo, history).")
    ] = False,
) -> None:
    """Write memories as JSONL or as one record file; with --dpo, preference pairs learned from feedback.

    With --archive it writes all files of the user, unchanged, into one file that `import --archive` brings back.

    Example: memctl export --all -o backup.jsonl
    """
    from memctl.cli import archiving
    from memctl.core.formats import reflections
    from memctl.core.models import Filters
    from memctl.core.selection import Selection
    from memctl.errors import UsageError
    from memctl.transfer import writing

    if archive is not None or with_log:
        if archive is None or dpo or category or kind or tag or every or output or form != "jsonl":
            raise UsageError("--archive takes no other option but --with-log")
        archiving.export(archive, with_log)
        return
    if dpo:
        if category or kind or tag or every or form != "jsonl":
            raise UsageError("--dpo takes no other option but --output")
        _export_pairs(output)
        return
    if form not in ("jsonl", "records"):
        raise UsageError(f"there is no format {form!r}", hint="Formats: jsonl, records.")
    statuses = () if every else ("active",)
    with options.opened() as store:
        if blocked := store.refresh().blocked:
            raise blocked
        options.check_categories(store, category)
        options.check_kinds(store, kind)
        filters = Filters(tuple(category or ()), tuple(kind or ()), options.tags(tag), statuses, expired=every)
        memories = store.select(Selection(filters, ascending=True))
        found = {m.memory_id: one for m in memories if (one := store.engine.readable_reflection(m)[0])}
        user = store.user
    if current.json and _to_standard_output(output):
        render.as_json({"memories": [shapes.memory_json(memory) for memory in memories]})
        return
    bodies = {memory_id: one.body for memory_id, one in found.items()}
    fronts = {memory_id: one.front for memory_id, one in found.items() if reflections.has_more(one)}
    lines = (f"{line}\n" for line in writing.to_jsonl(memories, bodies, fronts))
    text = writing.to_documents_form(memories, user) if form == "records" else "".join(lines)
    _write_out(output, text)
    if output is not None and not _to_standard_output(output):
        if current.json:
            render.as_json({"written": str(output), "memories": len(memories)})
        render.say(f"wrote {len(memories)} memories to {output}")


def _export_pairs(output: Path | None) -> None:
    import json
    from collections import Counter

    with options.opened() as store:
        if blocked := store.refresh().blocked:
            raise blocked
        pairs = store.judgements.preference_pairs()
        broken = store.judgements.all()[1]
    rows = [{"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected} for pair in pairs]
    counts = Counter(pair.source for pair in pairs)
    if broken:
        render.warn(f"feedback.jsonl:{broken[0]}: not a judgement memctl can read; {len(broken)} such lines left out")
    if current.json and _to_standard_output(output):
        render.as_json({"pairs": rows, "counts": dict(counts)})
        return
    _write_out(output, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    told = ", ".join(f"{count} from {source}" for source, count in counts.most_common())
    if current.json:
        render.as_json({"written": str(output), "pairs": len(pairs), "counts": dict(counts)})
    render.warn(f"{len(pairs)} preference pairs{': ' if told else ''}{told}")


def _write_out(output: Path | None, text: str) -> None:
    """To a file, replaced as a whole, or to standard output."""
    from memctl.errors import NotFoundError
    from memctl.storage.files import atomic

    if output is None or _to_standard_output(output):
        sys.stdout.buffer.write(plain.safe_json(text).encode())
        sys.stdout.buffer.flush()
        return
    if not output.expanduser().absolute().parent.is_dir():
        raise NotFoundError(f"no folder {output.expanduser().absolute().parent}")
    atomic.replace(output.expanduser().absolute(), text.encode())


def _to_standard_output(output: Path | None) -> bool:
    return output is None or str(output) == "-"

"""Reading many memories from a file: `add --jsonl` and `import`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memctl.cli import inputs, progress, render
from memctl.cli.invocation import store_root
from memctl.cli.opening import opened
from memctl.core.models import Problem
from memctl.errors import InvalidDataError, NotFoundError, UsageError
from memctl.present import plain

if TYPE_CHECKING:
    from memctl.core.records import Added
    from memctl.transfer.formats import Imported


def add_jsonl(path: Path, allow_duplicate: bool, allow_secret: bool) -> None:
    """Add one memory per line of a file."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="`memctl import` reads folders.")
    bring_in(
        path, "auto", "", allow_duplicate=allow_duplicate, allow_secret=allow_secret, skip_broken=False, dry_run=False
    )


def bring_in(
    path: Path,
    form: str,
    only_store: str,
    *,
    allow_duplicate: bool,
    allow_secret: bool,
    skip_broken: bool,
    dry_run: bool,
) -> None:
    """Read, check and store the memories of a file or folder."""
    from memctl.core import times
    from memctl.transfer import formats

    if str(path) != "-" and not path.exists():
        raise NotFoundError(f"no file {path}")
    if path.is_dir() and ((path / "memctl.yaml").exists() or (path / "memory.json").exists()):
        hint = "Import its memory.json files: `memctl import STORE/USER/memory.json`."
        raise UsageError(f"{path} is a memctl store", hint=hint)
    if path.is_file() and _is_compressed(path):
        raise UsageError(f"{path} is compressed", hint="`import --archive` restores a backup of memctl.")
    now = times.utc_now()
    source = inputs.standard_bytes() if str(path) == "-" else path
    progress.working("reading")
    imported = formats.read(source, form, only_store=only_store, now=now)
    check_problems(imported.problems, skip_broken)
    if not allow_secret:
        imported = _without_secrets(imported)
    if dry_run:
        _print(Counter({"would be read": len(imported.memories)}), imported)
        return
    stored = 0

    def count(label: str, done: int, total: int) -> None:
        nonlocal stored
        stored = done
        progress.working(label, done, total)

    try:
        with opened() as store:
            before = len(imported.problems)
            imported = _known_categories(imported, store.settings.categories)
            check_problems(imported.problems[before:], skip_broken)
            results = store.add_many(
                imported.memories,
                details=imported.details,
                fronts=imported.fronts,
                fields=imported.given,
                allow_duplicate=allow_duplicate,
                allow_secret=allow_secret,
                now=now,
                progress=count,
            )
            store.sync(progress=progress.working)
    except KeyboardInterrupt:
        render.warn(f"{stored} of {len(imported.memories)} were stored")
        raise
    _print(Counter(added.outcome for added in results), imported, results)


def _is_compressed(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


_INSIST = "Store them as they are with --allow-secret, or set `secrets` to mask, which masks such parts."


def _known_categories(imported: Imported, categories: Sequence[str]) -> Imported:
    """Leave out memories of a category that the store does not have, as problems."""
    hint = "add it with `memctl config set categories`"
    return _without(
        imported,
        {
            at: Problem("import", f"there is no category {m.category!r} ({hint}): {plain.one_line(m.content, 60)}")
            for at, m in enumerate(imported.memories)
            if m.category not in categories
        },
    )


def _without_secrets(imported: Imported) -> Imported:
    """Leave out memories with likely secrets, as problems, where the settings refuse secrets.

    Raises:
        RefusedError: no memory would be left.
    """
    from memctl import config
    from memctl.core import guarding
    from memctl.core.sensitive import REFUSE
    from memctl.errors import RefusedError

    if config.load(store_root()).secrets != REFUSE:
        return imported
    details, fronts = imported.details, imported.fronts
    omitted: dict[int, Problem] = {}
    for at, memory in enumerate(imported.memories):
        progress.working("looking for secrets", at, len(imported.memories))
        if reason := guarding.refused(memory, details.get(at, "")) or guarding.refused(memory, fronts.get(at, "")):
            path, line = imported.places[at]
            omitted[at] = Problem(path, reason, line)
    _warn_of(tuple(omitted.values()))
    if omitted and len(omitted) == len(imported.memories):
        many = "the memory holds" if len(omitted) == 1 else f"all {len(omitted)} memories hold"
        raise RefusedError(f"{many} what looks like a secret; nothing was imported", hint=_INSIST)
    if omitted:
        render.warn(f"  {_INSIST}")
    return _without(imported, omitted)


def _without(imported: Imported, omitted: Mapping[int, Problem]) -> Imported:
    """The import without the memories at these positions."""
    keep = [at for at in range(len(imported.memories)) if at not in omitted]
    return replace(
        imported,
        memories=tuple(imported.memories[at] for at in keep),
        details={new: imported.details[old] for new, old in enumerate(keep) if old in imported.details},
        fronts={new: imported.fronts[old] for new, old in enumerate(keep) if old in imported.fronts},
        given={new: imported.given[old] for new, old in enumerate(keep) if old in imported.given},
        places=tuple(imported.places[at] for at in keep),
        problems=(*imported.problems, *omitted.values()),
    )


def check_problems(problems: Sequence[Problem], skip_broken: bool) -> None:
    """Warn of each problem, and stop unless the broken lines are to be skipped.

    Raises:
        InvalidDataError: with the first problem.
    """
    _warn_of(problems)
    if problems and not skip_broken:
        first = problems[0]
        hint = "Nothing was done. Correct the file, or skip such lines with --skip-broken."
        raise InvalidDataError(first.message, path=first.path, line=first.line, hint=hint)


def _warn_of(problems: Sequence[Problem]) -> None:
    for problem in problems[:10]:
        render.warn(f"left out: {problem}")
    if len(problems) > 10:
        render.warn(f"… and {len(problems) - 10} more; --json lists them")


def _print(counts: Counter[str], imported: Imported, results: Sequence[Added] = ()) -> None:
    from memctl.memories.adding import BULK

    ids = [added.memory.memory_id for added in results if added.outcome == "added"]
    problems = [str(problem) for problem in imported.problems]
    render.document({"form": imported.form, "counts": dict(counts), "left_out": problems, "added": ids})
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.most_common()) or "nothing to add"
    render.say(f"{outcomes} (form: {imported.form})")
    if counts["added"]:
        steps = -(-len(results) // BULK)
        render.say("take it back with `memctl undo`" + (f" ({steps} times)" if steps > 1 else ""))

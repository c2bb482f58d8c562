"""Reading many memories from a file: `add --jsonl` and `import`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memctl.cli import options, progress, render
from memctl.cli.options import current
from memctl.core.models import Problem
from memctl.errors import InvalidDataError, NotFoundError, UsageError
from memctl.present import plain

if TYPE_CHECKING:
    from memctl.core.records import Added
    from memctl.transfer.formats import Imported


def add_jsonl(path: Path, allow_duplicate: bool, allow_secret: bool) -> None:
    """Add one memory a line."""
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
    """Read, check and store what a file or folder holds."""
    from memctl.core import times
    from memctl.transfer import formats

    if str(path) != "-" and not path.exists():
        raise NotFoundError(f"no file {path}")
    if path.is_dir() and ((path / "memctl.yaml").exists() or (path / "memory.json").exists()):
        hint = "Import its memory.json files: `memctl import STORE/USER/memory.json`."
        raise UsageError(f"{path} is a memctl store", hint=hint)
    if path.is_file() and _is_packed(path):
        raise UsageError(f"{path} is packed", hint="A backup of memctl's is brought back with `import --archive`.")
    now = times.utc_now()
    source = options.standard_bytes() if str(path) == "-" else path
    progress.working("reading")
    imported = formats.read(source, form, only_store=only_store, now=now)
    _check_problems(imported.problems, skip_broken)
    if not allow_secret:
        imported = _without_secrets(imported)
    if dry_run:
        _tell(Counter({"would be read": len(imported.memories)}), imported)
        return
    done = [0]

    def counted(label: str, count: int, total: int) -> None:
        done[0] = count
        progress.working(label, count, total)

    try:
        with options.opened() as store:
            before = len(imported.problems)
            imported = _known_categories(imported, store.settings.categories)
            _check_problems(imported.problems[before:], skip_broken)
            results = store.add_many(
                imported.memories,
                details=imported.details,
                fronts=imported.fronts,
                fields=imported.given,
                allow_duplicate=allow_duplicate,
                allow_secret=allow_secret,
                now=now,
                progress=counted,
            )
            store.sync(progress=progress.working)
    except KeyboardInterrupt:
        render.warn(f"{done[0]} of {len(imported.memories)} had been stored")
        raise
    _tell(Counter(added.outcome for added in results), imported, results)


def _is_packed(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


_INSIST = "Store them as they are with --allow-secret, or set `secrets` to mask, which blanks out such parts."


def _known_categories(imported: Imported, categories: Sequence[str]) -> Imported:
    """Turn memories of a category the store does not have into problems."""
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
    """Leave out memories with likely secrets, where the settings refuse these, and name them.

    Raises:
        RefusedError: nothing would be left.
    """
    from memctl import config
    from memctl.core import guarding
    from memctl.core.sensitive import REFUSE
    from memctl.errors import RefusedError

    if config.load(options.store_root()).secrets != REFUSE:
        return imported
    details, fronts = imported.details, imported.fronts
    lost: dict[int, Problem] = {}
    for at, memory in enumerate(imported.memories):
        progress.working("looking for secrets", at, len(imported.memories))
        if reason := guarding.refused(memory, details.get(at, "")) or guarding.refused(memory, fronts.get(at, "")):
            lost[at] = _problem(imported.places[at], reason)
    _tell_problems(tuple(lost.values()))
    if lost and len(lost) == len(imported.memories):
        many = "the memory holds" if len(lost) == 1 else f"all {len(lost)} memories hold"
        raise RefusedError(f"{many} what looks like a secret; nothing was imported", hint=_INSIST)
    if lost:
        render.warn(f"  {_INSIST}")
    return _without(imported, lost)


def _problem(place: tuple[str, int], reason: str) -> Problem:
    return Problem(place[0], reason, place[1])


def _without(imported: Imported, lost: Mapping[int, Problem]) -> Imported:
    """What is left without the memories at these positions."""
    keep = [at for at in range(len(imported.memories)) if at not in lost]
    return replace(
        imported,
        memories=tuple(imported.memories[at] for at in keep),
        details={new: imported.details[old] for new, old in enumerate(keep) if old in imported.details},
        fronts={new: imported.fronts[old] for new, old in enumerate(keep) if old in imported.fronts},
        given={new: imported.given[old] for new, old in enumerate(keep) if old in imported.given},
        places=tuple(imported.places[at] for at in keep),
        problems=(*imported.problems, *lost.values()),
    )


def _tell_problems(problems: Sequence[Problem]) -> None:
    for problem in problems[:10]:
        render.warn(f"left out: {problem}")
    if len(problems) > 10:
        render.warn(f"… and {len(problems) - 10} more; --json names them")


def _check_problems(problems: Sequence[Problem], skip_broken: bool) -> None:
    _tell_problems(problems)
    if problems and not skip_broken:
        first = problems[0]
        hint = "Nothing was imported. Mend the file, or import the rest with --skip-broken."
        raise InvalidDataError(first.message, path=first.path, line=first.line, hint=hint)


def _tell(counts: Counter[str], imported: Imported, results: Sequence[Added] = ()) -> None:
    from memctl.memories.adding import BULK

    if current.json:
        ids = [added.memory.memory_id for added in results if added.outcome == "added"]
        problems = [str(problem) for problem in imported.problems]
        render.as_json({"form": imported.form, "counts": dict(counts), "left_out": problems, "added": ids})
        return
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.most_common()) or "nothing to add"
    render.say(f"{told} (form: {imported.form})")
    if counts["added"]:
        steps = -(-len(results) // BULK)
        render.say("take it back with `memctl undo`" + (f" ({steps} times)" if steps > 1 else ""))

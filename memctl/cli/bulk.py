"""Reading many memories from a file: `add --jsonl` and `import`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memctl.cli import options, render
from memctl.cli.options import current
from memctl.errors import InvalidDataError, NotFoundError, UsageError
from memctl.models import Problem

if TYPE_CHECKING:
    from memctl.lifecycle.adding import Added
    from memctl.transfer.formats import Imported


def add_jsonl(path: Path, allow_duplicate: bool) -> None:
    """Add one memory a line."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="`memctl import` reads folders.")
    bring_in(path, "auto", "", allow_duplicate=allow_duplicate, skip_broken=False, dry_run=False)


def bring_in(
    path: Path, form: str, only_store: str, *, allow_duplicate: bool, skip_broken: bool, dry_run: bool
) -> None:
    """Read, check and store what a file or folder holds."""
    from memctl import times
    from memctl.transfer import formats

    if str(path) != "-" and not path.exists():
        raise NotFoundError(f"no file {path}")
    if path.is_dir() and ((path / "memctl.yaml").exists() or (path / "memory.json").exists()):
        hint = "Import its memory.json files: `memctl import STORE/USER/memory.json`."
        raise UsageError(f"{path} is a memctl store", hint=hint)
    now = times.utc_now()
    source = sys.stdin.buffer.read() if str(path) == "-" else path
    imported = formats.read(source, form, only_store=only_store, now=now)
    _check_problems(imported, skip_broken)
    if dry_run:
        _tell(Counter({"would be read": len(imported.memories)}), imported)
        return
    done = [0]

    def progress(label: str, count: int, total: int) -> None:
        done[0] = count
        render.progress(label, count, total)

    try:
        with options.opened() as store:
            imported = _known_categories(imported, store.settings.categories)
            _check_problems(imported, skip_broken)
            results = store.add_many(
                imported.memories, details=imported.details, allow_duplicate=allow_duplicate, now=now, progress=progress
            )
            store.sync(progress=render.progress)
    except KeyboardInterrupt:
        render.warn(f"{done[0]} of {len(imported.memories)} had been stored")
        raise
    _tell(Counter(added.outcome for added in results), imported, results)


def _known_categories(imported: Imported, categories: Sequence[str]) -> Imported:
    """Turn memories of a category the store does not have into problems."""
    keep = [at for at, memory in enumerate(imported.memories) if memory.category in categories]
    lost = [memory for memory in imported.memories if memory.category not in categories]
    hint = "add it with `memctl config set categories`"
    problems = [
        Problem("import", f"there is no category {m.category!r} ({hint}): {render.one_line(m.content, 60)}")
        for m in lost
    ]
    details = {new: imported.details[old] for new, old in enumerate(keep) if old in imported.details}
    memories = tuple(imported.memories[at] for at in keep)
    return replace(imported, memories=memories, details=details, problems=tuple(problems))


def _check_problems(imported: Imported, skip_broken: bool) -> None:
    for problem in imported.problems[:10]:
        render.warn(f"left out: {problem}")
    if len(imported.problems) > 10:
        render.warn(f"… and {len(imported.problems) - 10} more")
    if imported.problems and not skip_broken:
        first = imported.problems[0]
        hint = "Nothing was imported. Mend the file, or import the rest with --skip-broken."
        raise InvalidDataError(first.message, path=first.path, line=first.line, hint=hint)


def _tell(counts: Counter[str], imported: Imported, results: Sequence[Added] = ()) -> None:
    from memctl.usecases.adding import BULK

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

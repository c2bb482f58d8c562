"""Repositories that git is not run in: those that files of a folder pretend to be, and those that lead elsewhere."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from memctl.errors import RefusedError, StorageError

_LARGEST = 64 * 1024
"""Bytes of a configuration that are looked at."""


def check(folder: Path, *, writes: bool = False) -> None:
    """Refuse the repository that git would find from a folder, where it may do harm.

    Args:
        writes: git is to write into it.

    Raises:
        RefusedError: it is bare and lies among the files; or git would write elsewhere through it.
        StorageError: it cannot be looked at.
    """
    try:
        _check(folder.resolve(), writes=writes)
    except (OSError, RuntimeError, ValueError) as problem:
        raise StorageError(f"cannot look at the repository of {folder}: {problem}") from None


def _check(here: Path, *, writes: bool) -> None:
    for place in (here, *here.parents):
        if is_repository(place):
            hint = f"Git would take its settings from there. Move HEAD, objects and refs out of {place}."
            raise RefusedError(f"{place} holds a bare git repository among its files", hint=hint)
        found = _repository_of(place)
        if found is not None and is_repository(found):
            if writes:
                _check_leads_back(place, found)
                _check_links(found)
            return


def is_repository(place: Path) -> bool:
    """Whether git takes a folder for a repository by what lies in it."""
    head = place / "HEAD"
    if not os.path.lexists(head) or stat.S_ISDIR(head.lstat().st_mode):
        return False
    return os.path.lexists(place / "commondir") or all(os.path.lexists(place / name) for name in ("objects", "refs"))


def _repository_of(place: Path) -> Path | None:
    """Where the `.git` of a folder leads; None where there is none, or git does not understand it either."""
    entry = place / ".git"
    if os.path.isdir(entry):  # noqa: PTH112
        return entry.resolve()
    text = _text(entry)
    return (place / text.removeprefix("gitdir:").strip()).resolve() if text.startswith("gitdir:") else None


def _text(path: Path) -> str:
    """The beginning of a file; empty where it is none."""
    try:
        if not os.path.isfile(path):  # noqa: PTH113
            return ""
        with open(path, "rb") as file:
            return os.fsdecode(file.read(_LARGEST)).replace("\0", "")
    except OSError:
        return ""


def _check_leads_back(place: Path, found: Path) -> None:
    """Refuse to write into a repository that lies elsewhere and knows nothing of this folder.

    Raises:
        RefusedError: it would be somebody's other repository that is changed.
    """
    common = _common(found)
    if common != found and found.parent != common / "worktrees":
        raise RefusedError(f"{found} shares the repository {common} and is no worktree of it", hint=_BEFORE_GIT)
    if found == place / ".git" or _is_worktree(place, found) or _names_a_tree(found):
        return
    named = f"git config --file {shlex.quote(str(found / 'config'))} core.worktree {shlex.quote(str(place))}"
    hint = f"If it is meant, say so there: `{named}`."
    raise RefusedError(f"{place / '.git'} leads to {found}, which does not name this folder", hint=hint)


_BEFORE_GIT = "If the folder is a copy from elsewhere, delete its .git, then `memctl git init`."


def _common(found: Path) -> Path:
    """The repository that this one shares with other worktrees; itself where it shares none."""
    shared = _text(found / "commondir").strip()
    return (found / shared).resolve() if shared else found


def _is_worktree(place: Path, found: Path) -> bool:
    back = _text(found / "gitdir").strip()
    return bool(back) and (found / back).parent.resolve() == place


def _names_a_tree(found: Path) -> bool:
    """Whether it says where its files are: git then works nowhere else."""
    return any(re.search(r"\bworktree\s*=", _text(found / name)) for name in ("config", "config.worktree"))


def _check_links(found: Path) -> None:
    """Refuse links in what git writes: through one, it would write into any file.

    Raises:
        RefusedError: there is one.
    """
    for root in dict.fromkeys((found, _common(found))):
        for path in _written(root):
            if path.is_symlink():
                hint = f"Git would write through it. Put the real one in its place. {_BEFORE_GIT}"
                raise RefusedError(f"{path} is a symbolic link", hint=hint)


def _written(root: Path) -> Iterator[Path]:
    yield from root.iterdir()
    for name in ("logs", "refs"):
        yield from (root / name).rglob("*")
    if (root / "objects").is_dir():
        yield from (root / "objects").iterdir()

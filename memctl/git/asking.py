"""Asking git: what it says, which working tree a folder stands in, what a file was, what waits for a person."""

from __future__ import annotations

import os
from pathlib import Path

from memctl.errors import NotFoundError, RefusedError, StorageError
from memctl.git import process


def ask(folder: Path, command: str, *arguments: str, hook: bool = False) -> str:
    """What git prints.

    Raises:
        StorageError: git failed; with its own words.
    """
    done = process.run(folder, command, *arguments, hook=hook)
    if done.returncode:
        told, more = complaint(done.stderr)
        raise StorageError(f"git {command}: {told or f'exit code {done.returncode}'}", hint=more)
    return done.stdout.decode("utf-8", "replace").rstrip("\n")


def complaint(said: bytes) -> tuple[str, str]:
    """What git complains of, and the next lines: most often, what to do."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    at = next((number for number, line in enumerate(lines) if line.startswith(("fatal:", "error:"))), 0)
    first = "".join(lines[at : at + 1]).removeprefix("fatal: ").removeprefix("error: ")
    return first, "\n".join(line.removeprefix("hint: ") for line in lines[at + 1 : at + 4])


def top(folder: Path) -> Path | None:
    """The working tree that a folder stands in; None where there is none.

    Raises:
        StorageError: there is one, and git will not read it.
        RefusedError: there is one, and its files are elsewhere.
    """
    done = process.run(folder, "rev-parse", "--show-toplevel")
    told, more = complaint(done.stderr)
    if not done.returncode and folder.resolve().is_relative_to(found := Path(os.fsdecode(done.stdout.rstrip(b"\n")))):
        return found
    if "not a git repository" in told:
        return None
    if done.returncode and "must be run in a work tree" not in told:
        raise StorageError(f"git: {told}", hint=more)
    hint = "`git config --unset core.worktree` and `git config core.bare false` make it the repository of this folder."
    raise RefusedError(f"the repository that git sees from {folder} has its files elsewhere", hint=hint)


def need(folder: Path) -> Path:
    """The working tree.

    Raises:
        NotFoundError: there is none.
    """
    if found := top(folder):
        return found
    raise NotFoundError(f"{folder} is in no git repository", hint="Make one with `memctl git init`.")


def content(folder: Path, revision: str, name: str) -> bytes | None:
    """A file of the folder in a revision (`HEAD`), or in the index (``, or `:1`, `:2`, `:3` during a merge)."""
    done = process.run(folder, "cat-file", "blob", f"{revision}:./{name}")
    return None if done.returncode else done.stdout


_UNDER_WAY = {
    "rebase-apply/applying": "am", "rebase-apply": "rebase", "rebase-merge": "rebase", "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert",
}  # fmt: skip
"""What lies in git's folder while a command of git waits for a person."""


def under_way(folder: Path) -> str:
    """The command of git that waits for a person (`merge`, `rebase`, `am`, …); empty where none does."""
    return next((what for name, what in _UNDER_WAY.items() if git_path(folder, name).exists()), "")


def git_path(folder: Path, name: str) -> Path:
    return folder / ask(folder, "rev-parse", "--git-path", name)


def names(said: bytes) -> list[str]:
    """What git lists with `-z`."""
    return [os.fsdecode(name) for name in said.split(b"\0") if name]

"""Asking git: what it says, which working tree a folder stands in, what a file was, what waits for a person.

git is called as a program, never through a shell.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from memctl.errors import NotFoundError, StorageError

_ELSEWHERE = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_QUARANTINE_PATH",
)  # fmt: skip
"""Where git stands when it calls a hook or a driver: perhaps in another repository than the memory's."""


_PLAIN = tuple(
    word
    for setting in ("color.ui=false", "color.status=false", "core.quotePath=false", "log.showSignature=false")
    for word in ("-c", setting)
)
"""What a person's own settings would put into what git prints."""


def call(
    folder: Path, *arguments: str, given: bytes = b"", hook: bool = False, spoken: bool = False
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder; its exit code is the caller's to judge.

    Args:
        hook: git has called us, and its variables say which index is meant.
        spoken: as the user has set it up, in words and colours; else in English and plain, which can be read here.

    Raises:
        StorageError: there is no git, or no such folder.
    """
    environment = {name: value for name, value in os.environ.items() if hook or name not in _ELSEWHERE}
    if not spoken:
        environment["LC_ALL"] = "C"
    plain = () if spoken else _PLAIN
    try:
        return subprocess.run(
            ["git", *plain, *arguments], cwd=folder, input=given, capture_output=True, check=False, env=environment
        )
    except FileNotFoundError:
        hint = "Install git, or look at the folder: memory works without git."
        raise StorageError(f"cannot run git in {folder}", hint=hint) from None
    except OSError as problem:
        raise StorageError(f"cannot run git in {folder}: {problem.strerror}") from None


def ask(folder: Path, *arguments: str, hook: bool = False) -> str:
    """What git prints.

    Raises:
        StorageError: git failed; with its own words.
    """
    done = call(folder, *arguments, hook=hook)
    if done.returncode:
        told, more = complaint(done.stderr)
        raise StorageError(f"git {arguments[0]}: {told or f'exit code {done.returncode}'}", hint=more)
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
    """
    done = call(folder, "rev-parse", "--show-toplevel")
    if not done.returncode:
        return Path(os.fsdecode(done.stdout.rstrip(b"\n")))
    told, more = complaint(done.stderr)
    if "not a git repository" in told or "must be run in a work tree" in told:
        return None
    raise StorageError(f"git: {told}", hint=more)


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
    done = call(folder, "cat-file", "blob", f"{revision}:./{name}")
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

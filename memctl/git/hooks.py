"""What hooks look at: what is to be committed and what speaks against it, and the users in a working tree."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from memctl.core import sensitive
from memctl.core.formats import document, reflections
from memctl.errors import InvalidDataError, RefusedError, StorageError
from memctl.git import asking, process
from memctl.git.installation import CHECK, DRIVER, is_own_hook
from memctl.storage.files import layout


@dataclass(frozen=True)
class Tree:
    """A working tree with what is staged in it; `hook`: git has called us, and its variables name the index."""

    root: Path
    hook: bool = False

    def git(self, command: str, *arguments: str) -> process.Done:
        return process.run(self.root, command, *arguments, hook=self.hook)


def is_set(where: Path) -> bool:
    """Whether git would make memctl's own check before a commit."""
    path = asking.git_path(where, f"hooks/{CHECK}")
    return os.access(path, os.X_OK) and is_own_hook(path)


def check(tree: Tree, places: Sequence[str] = ()) -> None:
    """Refuse to commit what should not be.

    Args:
        places: pathspecs of what is to be committed; all that is staged otherwise.

    Raises:
        RefusedError: with a line for each thing that speaks against it.
    """
    if wrong := wrong_in(tree, *staged(tree, places)):
        many = "1 thing" if len(wrong) == 1 else f"{len(wrong)} things"
        hint = "Repair them, or commit with --no-verify if it is meant."
        raise RefusedError(f"{many} should not be committed", hint="\n".join((*wrong, hint)))


def staged(tree: Tree, places: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """What is about to be committed: memory files, by their attributes; and users' other files, such as documents."""
    asked = ("--cached", "--name-only", "-z", "--diff-filter=ACMRT", "--", *places)
    done = tree.git("diff", *asked)
    if done.returncode:
        raise StorageError("git does not tell what is to be committed", hint=asking.complaint(done.stderr)[0])
    names = asking.names(done.stdout)
    ours = [name for name in names if _is_ours(tree, name)]
    users = [name.removesuffix(document.FILE_NAME) for name in _memory_files(tree)]
    settings = {str(PurePosixPath(user).parent / layout.CONFIG_NAME) for user in users}
    theirs = [name for name in names if name.startswith(tuple(users)) or name in settings]
    return ours, [name for name in theirs if name not in ours]


def _is_ours(tree: Tree, name: str) -> bool:
    said = tree.git("check-attr", "-z", "merge", "--", name).stdout.split(b"\0")
    return len(said) > 2 and said[2] == DRIVER.encode()


def wrong_in(tree: Tree, ours: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """What speaks against committing memory files, and others of users: sentences with file and line."""
    told = [told for name in ours for told in _wrong(tree, name)]
    return told + [told for name in others for told in _wrong_beside(tree, name)]


def _wrong_beside(tree: Tree, name: str) -> Iterator[str]:
    """Likely secrets in a file that is not memctl's; what is no text is passed over."""
    data = tree.git("cat-file", "blob", f":{name}").stdout
    if b"\0" not in data[:8000] and len(data) <= sensitive.LARGEST_FILE:
        yield from _new_secrets(tree, name, data.decode("utf-8", "replace"))


def _wrong(tree: Tree, name: str) -> Iterator[str]:
    data = tree.git("cat-file", "blob", f":{name}").stdout
    text = data.decode("utf-8", "replace")
    if line := document.conflict_line(text):
        yield f"{name}:{line}: holds git conflict markers"
        return
    try:
        if name.endswith(".md"):
            reflections.parse(data, name)
        elif not name.endswith(".jsonl"):
            found = document.parse(data, name)
            yield from (f"{name}:{record.line}: {record.problem}" for record in found.records if record.problem)
    except InvalidDataError as problem:
        yield problem.message
    yield from _new_secrets(tree, name, text)


def _new_secrets(tree: Tree, name: str, text: str) -> Iterator[str]:
    """Likely secrets in lines that the last commit does not have."""
    places = sensitive.in_text(text, name)
    if not places:
        return
    before = tree.git("cat-file", "blob", f"HEAD:{name}")
    known = set() if before.returncode else set(before.stdout.decode("utf-8", "replace").split("\n"))
    lines = text.split("\n")
    yield from (str(place) for place in places if not place.line or lines[place.line - 1] not in known)


def folders_in(where: Path) -> list[Path]:
    """Users' folders in a working tree."""
    return [(where / name).parent for name in _memory_files(Tree(where))]


def _memory_files(tree: Tree) -> list[str]:
    said = tree.git("ls-files", "-z", "--", document.FILE_NAME, f"*/{document.FILE_NAME}").stdout
    return [name for name in dict.fromkeys(asking.names(said)) if _is_ours(tree, name)]

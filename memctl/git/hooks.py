"""What hooks look at: what is to be committed and what speaks against it, and the users in a working tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from memctl import secrets
from memctl.errors import InvalidDataError, StorageError
from memctl.files import document, layout, reflections
from memctl.git import asking
from memctl.git.installation import DRIVER


def staged(where: Path) -> tuple[list[str], list[str]]:
    """What is about to be committed: memory files, by their attributes; and users' other files, such as documents."""
    done = asking.call(where, "diff", "--cached", "--name-only", "-z", "--diff-filter=ACMRT", hook=True)
    if done.returncode:
        raise StorageError("git does not tell what is to be committed", hint=asking.complaint(done.stderr)[0])
    names = asking.names(done.stdout)
    ours = [name for name in names if _is_ours(where, name)]
    users = [name.removesuffix(document.FILE_NAME) for name in _memory_files(where, hook=True)]
    settings = {str(PurePosixPath(user).parent / layout.CONFIG_NAME) for user in users}
    theirs = [name for name in names if name.startswith(tuple(users)) or name in settings]
    return ours, [name for name in theirs if name not in ours]


def _is_ours(where: Path, name: str) -> bool:
    said = asking.call(where, "check-attr", "-z", "merge", "--", name, hook=True).stdout.split(b"\0")
    return len(said) > 2 and said[2] == DRIVER.encode()


def wrong_in(where: Path, ours: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """What speaks against committing memory files, and others of users: sentences with file and line."""
    told = [told for name in ours for told in _wrong(where, name)]
    return told + [told for name in others for told in _wrong_beside(where, name)]


def _wrong_beside(where: Path, name: str) -> Iterator[str]:
    """Likely secrets in a file that is not memctl's; what is no text is passed over."""
    data = asking.call(where, "cat-file", "blob", f":{name}", hook=True).stdout
    if b"\0" not in data[:8000] and len(data) <= secrets.LARGEST_FILE:
        yield from _new_secrets(where, name, data.decode("utf-8", "replace"))


def _wrong(where: Path, name: str) -> Iterator[str]:
    data = asking.call(where, "cat-file", "blob", f":{name}", hook=True).stdout
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
    yield from _new_secrets(where, name, text)


def _new_secrets(where: Path, name: str, text: str) -> Iterator[str]:
    """Likely secrets in lines that the last commit does not have."""
    places = secrets.in_text(text, name)
    if not places:
        return
    before = asking.call(where, "cat-file", "blob", f"HEAD:{name}", hook=True)
    known = set() if before.returncode else set(before.stdout.decode("utf-8", "replace").split("\n"))
    lines = text.split("\n")
    yield from (str(place) for place in places if not place.line or lines[place.line - 1] not in known)


def folders_in(where: Path) -> list[Path]:
    """Users' folders in a working tree."""
    return [(where / name).parent for name in _memory_files(where)]


def _memory_files(where: Path, *, hook: bool = False) -> list[str]:
    said = asking.call(where, "ls-files", "-z", "--", document.FILE_NAME, f"*/{document.FILE_NAME}", hook=hook).stdout
    return [name for name in dict.fromkeys(asking.names(said)) if _is_ours(where, name)]

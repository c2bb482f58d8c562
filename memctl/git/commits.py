"""Commits of users' folders: what is not committed, the commits there are, and making one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memctl.core.formats import document, reflections
from memctl.errors import InvalidDataError, RefusedError
from memctl.git import asking, hooks, process, programs, settling
from memctl.storage.files import atomic
from memctl.storage.files.layout import UserFolder


@dataclass(frozen=True)
class Changes:
    """Ids of the memories that are different between two versions of `memory.json`."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __str__(self) -> str:
        counts = ((self.added, "added"), (self.changed, "changed"), (self.removed, "removed"))
        return ", ".join(f"{len(ids)} {what}" for ids, what in counts if ids)


def changes(before: bytes | None, after: bytes | None) -> Changes:
    """What is different between two versions; nothing where one cannot be read."""
    try:
        old, new = (document.parse(data).memories if data else {} for data in (before, after))
    except InvalidDataError:
        return Changes()
    return Changes(
        tuple(name for name in new if name not in old),
        tuple(name for name in new if name in old and old[name] != new[name]),
        tuple(name for name in old if name not in new),
    )


def uncommitted(folder: UserFolder) -> Changes:
    """What is different from the last commit."""
    return changes(asking.content(folder.root, "HEAD", document.FILE_NAME), atomic.read(folder.memory_file))


def status(folder: UserFolder) -> list[str]:
    """The branch, and the files of the folder that are different, as git says it."""
    return asking.ask(folder.root, "status", "--short", "--branch", "--", ".").split("\n")


def history(folder: UserFolder, most: int) -> list[dict[str, str]]:
    """Commits that touch the folder, the newest first."""
    names = ("commit", "date", "author", "subject")
    form = "--format=%h%x00%ad%x00%an%x00%s"  # no field can hold a zero, and a subject may hold any line end
    if process.run(folder.root, "rev-parse", "--verify", "--quiet", "HEAD").returncode:
        return []
    said = asking.ask(folder.root, "log", "-z", f"--max-count={most}", "--date=short", form, "--", ".")
    fields = said.split("\0")
    return [dict(zip(names, commit, strict=True)) for commit in zip(*[iter(fields)] * len(names), strict=False)]


def commit(
    folders: Sequence[UserFolder],
    message: str,
    *,
    allow_unsettled: bool = False,
    verify: bool = True,
    sign: bool = True,
) -> tuple[str, str]:
    """Commit the users' folders, and nothing else.

    Args:
        message: empty for what git has made up for a merge, else the numbers of memories.
        verify: make the check of memctl's own hook, where that is set, and refuse where there are other hooks.
        sign: refuse where the user has set that commits be signed.

    Returns:
        the commit's short name and what it says; empty where there was nothing to commit.

    Raises:
        InvalidDataError: a `memory.json` cannot be read.
        RefusedError: a merge is not settled, git would run a program that matters, or git refused.
    """
    where = asking.need(folders[0].root)
    for folder in folders:
        _check_committable(folder, allow_unsettled=allow_unsettled)
    places = [f":(literal){folder.root}" for folder in folders]
    programs.check_commit(where, places, verify=verify, sign=sign)
    told = message or _counts(folders)
    asking.ask(where, "add", "--all", "--", *places)
    going = asking.under_way(where)
    if asking.git_path(where, "rebase-apply").exists():
        hint = f"All is added: `git {going} --continue` commits it, with the message and the author it came with."
        raise RefusedError(f"git commits this itself, in a {going}", hint=hint)
    if going != "merge" and process.run(where, "diff", "--cached", "--quiet", "--", *places).returncode == 0:
        return _nothing(going)
    # During a merge git commits everything or nothing, and has made up a message.
    made_up = bool(going) and asking.git_path(where, "MERGE_MSG").exists()
    if verify and hooks.is_set(where):
        hooks.check(hooks.Tree(where), [] if made_up else places)
    says = "--no-edit" if made_up and not message else f"--message={told}"
    done = process.run(where, "commit", "--quiet", says, *([] if made_up else ["--", *places]), spoken=True)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).decode("utf-8", "replace")
        raise RefusedError("git did not commit", hint=said)
    name, _, subject = asking.ask(where, "log", "--max-count=1", "--format=%h %s").partition(" ")
    return name, subject


def _nothing(going: str) -> tuple[str, str]:
    """There is nothing to commit.

    Raises:
        RefusedError: git waits for it.
    """
    if not going:
        return "", ""
    goes_on = "--continue" if going == "rebase" else "--skip"
    hint = f"`git {going} {goes_on}` goes on, `git {going} --abort` gives up."
    raise RefusedError(f"nothing is left to commit, and git waits in a {going}", hint=hint)


def _counts(folders: Sequence[UserFolder]) -> str:
    counted = {folder.name: str(uncommitted(folder)) for folder in folders}
    told = [f"{name} {count}" if len(folders) > 1 else count for name, count in counted.items() if count]
    return f"Memories: {'; '.join(told)}" if told else "Memory files"


def _check_committable(folder: UserFolder, *, allow_unsettled: bool) -> None:
    waiting = settling.unsettled(atomic.read(folder.memory_file) or document.empty(folder.name))
    if allow_unsettled:
        return
    if waiting and (asking.under_way(folder.root) or document.FILE_NAME in _unmerged(folder)):
        many = "1 conflict is" if len(waiting) == 1 else f"{len(waiting)} conflicts are"
        hint = "`memctl conflicts` shows what to decide; --unsettled commits it as it is, to settle it later."
        raise RefusedError(f"{many} not settled in {folder.name}/{document.FILE_NAME}", hint=hint)
    for place in settling.marked_in(folder, [*_unmerged(folder), *_changed_texts(folder)]):
        hint = "Keep what is right, delete the lines with marks; --unsettled commits it as it is."
        raise RefusedError(f"{folder.name}/{place}: holds git conflict markers", hint=hint)


def _unmerged(folder: UserFolder) -> list[str]:
    """Files of the folder that git holds several versions of, after a merge or a stash that did not fit."""
    return asking.names(process.run(folder.root, "diff", "--name-only", "--relative", "-z", "--diff-filter=U").stdout)


def _changed_texts(folder: UserFolder) -> list[str]:
    """Reflections that are different from the last commit."""
    return asking.names(
        process.run(folder.root, "diff", "--name-only", "--relative", "-z", "HEAD", "--", reflections.FOLDER).stdout
    )

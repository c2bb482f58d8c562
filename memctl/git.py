"""The user's own git: asking it, setting it up for memory files, and the programs it calls to merge and to show them.

git is called as a program, never through a shell. What memctl sets stands in the repository's own configuration.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from memctl import secrets
from memctl.errors import InvalidDataError, NotFoundError, RefusedError, StorageError
from memctl.files import atomic, codec, document, layout, lock, merge, merge_texts, merge_values, reflections
from memctl.files.layout import UserFolder

DRIVER = "memctl"
HOOKS = ("pre-commit", "post-merge", "post-checkout")
_MARK = "# written by `memctl git install --hooks`"

_ELSEWHERE = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_QUARANTINE_PATH",
)  # fmt: skip
"""Where git stands when it calls a hook or a driver: perhaps in another repository than the memory's."""


# Asking git


def call(folder: Path, *arguments: str, given: bytes = b"", hook: bool = False) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder; its exit code is the caller's to judge.

    Args:
        hook: git has called us, and its variables say which index is meant.

    Raises:
        StorageError: there is no git, or no such folder.
    """
    environment = {name: value for name, value in os.environ.items() if hook or name not in _ELSEWHERE}
    try:
        return subprocess.run(
            ["git", *arguments], cwd=folder, input=given, capture_output=True, check=False, env=environment
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
        raise StorageError(f"git {arguments[0]}: {_last_line(done.stderr) or f'exit code {done.returncode}'}")
    return done.stdout.decode("utf-8", "replace").rstrip("\n")


def _last_line(said: bytes) -> str:
    lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    return told[0].removeprefix("fatal: ").removeprefix("error: ") if told else ""


def top(folder: Path) -> Path | None:
    """The working tree that a folder stands in; None where there is none.

    Raises:
        StorageError: there is one, and git will not read it.
    """
    done = call(folder, "rev-parse", "--show-toplevel")
    if not done.returncode:
        return Path(os.fsdecode(done.stdout.rstrip(b"\n")))
    told = _last_line(done.stderr)
    if "not a git repository" in told or "must be run in a work tree" in told:
        return None
    raise StorageError(f"git: {told}")


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


def merging(folder: Path) -> bool:
    """Whether a merge, a picked or reverted commit, or a rebase waits to be committed."""
    waiting = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD")
    return any(call(folder, "rev-parse", "--verify", "--quiet", name).returncode == 0 for name in waiting)


# Setting up


def settings() -> dict[str, str]:
    """What memctl sets in a repository's configuration."""
    # Without memctl, git's own merge: exit codes of a program that is not there would look like a settled conflict.
    fallback = '"$M" --version >/dev/null 2>&1 || exec git merge-file %A %O %B'
    return {
        f"merge.{DRIVER}.name": "memory files, by record and field",
        f"merge.{DRIVER}.driver": f'{_found().replace("%", "%%")}; {fallback}; "$M" git merge-driver %O %A %B %P',
        f"diff.{DRIVER}.textconv": f'{_found()}; "$M" git diff-driver',
    }


def _found() -> str:
    """Shell that finds memctl: this one, and where that has moved, the one on the PATH."""
    beside = Path(sys.executable).with_name("memctl")
    here = str(beside) if beside.exists() else shutil.which("memctl") or "memctl"
    return f'M={shlex.quote(here)}; [ -x "$M" ] || M=memctl'


def install(folder: Path, *, hooks: bool = False) -> list[str]:
    """Configure a clone: its own settings, and hooks where they are wanted.

    Returns:
        what was changed, in sentences.

    Raises:
        RefusedError: there is a hook already that does not call memctl; nothing was changed.
    """
    where = need(folder)
    scripts = {name: _hook_file(where, name) for name in HOOKS} if hooks else {}
    for name, path in scripts.items():
        if path.exists() and not _calls_memctl(path):
            hint = f"Add this line to it: `memctl git hook {name} || exit 1`"
            raise RefusedError(f"there is a {name} hook already: {path}", hint=hint)
    changed = []
    for name, value in settings().items():
        if call(where, "config", "--local", "--get", name).stdout.decode("utf-8", "replace").rstrip("\n") != value:
            ask(where, "config", "--local", name, value)
            changed.append(name)
    done = [f"set {', '.join(changed)}"] if changed else []
    written = [name for name, path in scripts.items() if not path.exists() and _write_hook(path, name)]
    return [*done, *([f"hooks: {', '.join(written)}"] if written else [])]


def _hook_file(where: Path, name: str) -> Path:
    return where / ask(where, "rev-parse", "--git-path", f"hooks/{name}")


def _calls_memctl(path: Path) -> bool:
    found = atomic.read_given(path) or b""
    return b"memctl" in found and b"git hook" in found


def _write_hook(path: Path, name: str) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    missing = f'echo "memctl is not there: the {name} hook did nothing" >&2'
    script = f'#!/bin/sh\n{_MARK}\n{_found()}\n"$M" --version >/dev/null 2>&1 || {{ {missing}; exit 0; }}\n'
    path.write_text(script + f'exec "$M" git hook {name}\n', "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return True


@dataclass(frozen=True)
class Finding:
    """One thing that git needs for memory files: whether it is so, and what to do where it is not.

    `wanted` is False for what a person may do without.
    """

    name: str
    ok: bool
    told: str
    fix: str = ""
    wanted: bool = True


def check(folder: UserFolder) -> Iterator[Finding]:
    """What git needs to merge and show this user's files well, and whether it is there."""
    where = need(folder.root)
    yield Finding("repository", True, str(where))
    yield _attributes(folder)
    for name, what in ((f"merge.{DRIVER}.driver", "merge driver"), (f"diff.{DRIVER}.textconv", "diff driver")):
        set_ = call(where, "config", "--get", name).returncode == 0
        yield Finding(what, set_, "set" if set_ else "not set in this clone", "memctl git install")
    hooked = [name for name in HOOKS if _calls_memctl(_hook_file(where, name))]
    told = ", ".join(hooked) or "none (optional)"
    yield Finding("hooks", len(hooked) == len(HOOKS), told, "memctl git install --hooks", wanted=False)
    seen = call(folder.root, "check-ignore", "--quiet", document.FILE_NAME).returncode != 0
    yield Finding("memory.json", seen, "seen by git" if seen else "ignored by git", "take it out of .gitignore")
    private = call(folder.root, "ls-files", "--", ".memctl", "sessions").stdout
    yield Finding(
        "private files", not private, "tracked" if private else "not tracked", "git rm -r --cached .memctl sessions"
    )
    yield _settled(folder)


def _attributes(folder: UserFolder) -> Finding:
    names = (document.FILE_NAME, f"{reflections.FOLDER}a/b.md", folder.feedback_log.name)
    said = ask(folder.root, "check-attr", "merge", "--", *names)
    missing = [name for name in names if f"{name}: merge: {DRIVER}" not in said]
    told = f"missing for {', '.join(missing)}" if missing else "name the driver"
    return Finding("attributes", not missing, told, "memctl git init")


def _settled(folder: UserFolder) -> Finding:
    """Whether memory.json waits for a person after a merge."""
    data = atomic.read(folder.memory_file) or document.empty(folder.name)
    try:
        waiting = unsettled(data)
    except InvalidDataError as problem:
        return Finding("merges", False, str(problem), problem.hint)
    told = f"{len(waiting)} to settle" if waiting else "nothing to settle"
    return Finding("merges", not waiting, told, "memctl conflicts")


def unsettled(data: bytes) -> list[str]:
    """Ids of the conflicts that merges left in a `memory.json`.

    Raises:
        InvalidDataError: it cannot be read.
    """
    listed = merge_values.listed_in(document.parse(data).header)
    return [
        str(each.get("id")) for each in listed if isinstance(each, Mapping) and each.get("type") == merge_values.MERGE
    ]


# Everyday


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
    return changes(content(folder.root, "HEAD", document.FILE_NAME), atomic.read(folder.memory_file))


def status(folder: UserFolder) -> list[str]:
    """The branch, and the files of the folder that are different, as git says it."""
    return ask(folder.root, "status", "--short", "--branch", "--", ".").splitlines()


def history(folder: UserFolder, most: int) -> list[dict[str, str]]:
    """Commits that touch the folder, the newest first."""
    names = ("commit", "date", "author", "subject")
    form = "--format=%h%x1f%as%x1f%an%x1f%s"
    if call(folder.root, "rev-parse", "--verify", "--quiet", "HEAD").returncode:
        return []
    said = ask(folder.root, "log", f"--max-count={most}", form, "--", ".")
    return [dict(zip(names, line.split("\x1f"), strict=False)) for line in said.splitlines()]


def commit(folders: Sequence[UserFolder], message: str, *, allow_unsettled: bool = False) -> tuple[str, str]:
    """Commit the users' folders, and nothing else.

    Args:
        message: empty for what git has made up for a merge, else the numbers of memories.

    Returns:
        the commit's short name and what it says; empty where there was nothing to commit.

    Raises:
        InvalidDataError: a `memory.json` cannot be read.
        RefusedError: a merge is not settled, or git (a hook of its) refused.
    """
    where = need(folders[0].root)
    for folder in folders:
        _check_committable(folder, allow_unsettled=allow_unsettled)
    places = [str(folder.root) for folder in folders]
    told = message or _counts(folders)
    ask(where, "add", "--all", "--", *places)
    merge_waits = merging(where)
    if not merge_waits and call(where, "diff", "--cached", "--quiet", "--", *places).returncode == 0:
        return "", ""
    # During a merge git commits everything or nothing, and has made up a message.
    what = [] if merge_waits else ["--", *places]
    says = "--no-edit" if merge_waits and not message else f"--message={told}"
    done = call(where, "commit", "--quiet", says, *what)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).decode("utf-8", "replace")
        raise RefusedError("git did not commit", hint=said)
    name, _, subject = ask(where, "log", "--max-count=1", "--format=%h %s").partition(" ")
    return name, subject


def _counts(folders: Sequence[UserFolder]) -> str:
    counted = {folder.name: str(uncommitted(folder)) for folder in folders}
    if len(folders) == 1:
        return f"Memories: {counted[folders[0].name]}" if counted[folders[0].name] else "Memory files"
    return "Memories: " + "; ".join(f"{name} {told}" for name, told in counted.items() if told)


def _check_committable(folder: UserFolder, *, allow_unsettled: bool) -> None:
    waiting = unsettled(atomic.read(folder.memory_file) or document.empty(folder.name))
    if waiting and merging(folder.root) and not allow_unsettled:
        many = "1 conflict is" if len(waiting) == 1 else f"{len(waiting)} conflicts are"
        hint = "`memctl conflicts` shows what to decide; --unsettled commits it as it is, to settle it later."
        raise RefusedError(f"{many} not settled in {folder.name}/{document.FILE_NAME}", hint=hint)


# What git calls


def merge_driver(base: Path, ours: Path, theirs: Path, name: str) -> tuple[int, str]:
    """Merge three files into `ours`.

    Args:
        name: the file's path in the repository.

    Returns:
        git's exit code (1: there are conflicts) and a sentence for the user.
    """
    versions = (base.read_bytes(), ours.read_bytes(), theirs.read_bytes())
    try:
        data, told = _merged(*versions, name)
    except (InvalidDataError, RecursionError) as problem:
        data, _ = by_lines(*versions)
        told = f"{name}: merged by lines, for a side cannot be read: {problem}"
    ours.write_bytes(data)
    return (1 if told else 0), told


def _merged(base: bytes, ours: bytes, theirs: bytes, name: str) -> tuple[bytes, str]:
    if name.endswith(".jsonl"):
        return merge_texts.log(base, ours, theirs), ""
    if name.endswith(".md"):
        data, marked = merge_texts.reflection(base, ours, theirs, by_lines)
        return data, f"{name}: both sides changed the same lines; settle them by hand" if marked else ""
    done = merge.memory_file(base, ours, theirs)
    places = "; ".join(_told(entry) for entry in done.conflicts)
    told = f"{name}: {places} (`memctl conflicts` settles it; then `memctl git commit`, or `git add`)"
    return done.data, told if places else ""


def _told(entry: Mapping[str, object]) -> str:
    who = entry["memory_id"] or "the file"
    if not entry["field"]:
        return f"{who} was deleted on one side and changed on the other"
    return f"both sides changed {entry['field']} of {who}"


def by_lines(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """Git's own merge by lines: the text, and whether it holds conflict markers."""
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / name for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(data)
        labels = [word for path in paths for word in ("-L", path.name)]
        done = call(Path(directory), "merge-file", "-p", *labels, *map(str, paths))
    if done.returncode > 127:
        raise StorageError(f"git merge-file: {_last_line(done.stderr)}")
    return done.stdout, done.returncode > 0


def readable(data: bytes) -> str:
    """A `memory.json` for people: a block for each record, a line for each field."""
    parsed = document.parse(data)
    lines = [line for name, value in parsed.header.items() for line in _top_lines(name, value)]
    for record in parsed.records:
        lines += ["", *(_block(record) if record.memory else [f"unreadable: {record.raw.decode('utf-8', 'replace')}"])]
    return "\n".join(lines).lstrip("\n") + "\n"


def _top_lines(name: str, value: object) -> Iterator[str]:
    """A field beside the memories; a conflict has a line for each of its parts."""
    for each in value if isinstance(value, list) and name == merge_values.CONFLICTS else ():
        yield f"conflict {each.get('id', '')}" if isinstance(each, dict) else f"conflict {_shown(each)}"
        if isinstance(each, dict):
            yield from (f"  {part}: {_shown(said)}" for part, said in each.items() if part != "id")
    if name not in ("format", "user_id", merge_values.CONFLICTS):
        yield f"{name}: {_shown(value)}"


def _block(record: document.RawRecord) -> Iterator[str]:
    assert record.memory is not None
    fields = codec.encode(record.memory)
    yield str(fields.pop("memory_id"))
    for name, value in fields.items():
        yield from f"  {name}: {_shown(value)}".rstrip().replace("\n", "\n      ").split("\n")


def _shown(value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return value if isinstance(value, str) else merge_values.json_text(value)


# Settling what git merged by lines


@dataclass(frozen=True)
class Settled:
    """What became of files with conflict markers: their names, conflicts that are left, and where copies are kept."""

    files: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def marked(folder: UserFolder) -> bool:
    """Whether git left conflict markers in memory.json."""
    return document.conflict_line((atomic.read(folder.memory_file) or b"").decode("utf-8", "replace")) > 0


def settle(folder: UserFolder, *, timeout: float = 5.0) -> Settled:
    """Merge what git left with conflict markers: `memory.json` by records, the log of feedback by lines.

    Both sides come from git's index where the file is as git wrote it, else from between the markers. A copy of the
    file as it was is kept below `.memctl/state/displaced/`.

    Raises:
        InvalidDataError: the sides cannot be read.
    """
    files, kept = [], []
    with lock.exclusive(folder.lock, timeout=timeout):
        for path in (folder.memory_file, folder.feedback_log):
            data = atomic.read(path)
            if data is None or not document.conflict_line(data.decode("utf-8", "replace")):
                continue
            base, ours, theirs, known = _sides(folder.root, path.name, data)
            if path == folder.feedback_log:
                merged = merge_texts.log(base, ours, theirs)
            else:
                merged = merge.memory_file(base, ours, theirs, base_known=known).data
            copy = folder.displaced / f"conflict-{codec.digest(data)[:12]}{path.suffix}"
            atomic.replace(copy, data)
            atomic.replace(path, merged)
            files.append(path.name)
            kept.append(str(copy.relative_to(folder.root)))
    return Settled(
        tuple(files), tuple(unsettled(atomic.read(folder.memory_file) or document.empty(folder.name))), tuple(kept)
    )


def _sides(folder: Path, name: str, marked: bytes) -> tuple[bytes | None, bytes, bytes, bool]:
    """Base, ours, theirs, and whether the base is known: a marked file need not tell it."""
    base, ours, theirs = merge_texts.marked_sides(marked)
    staged = [content(folder, stage, name) for stage in (":1", ":2", ":3")] if _in_repository(folder) else [None] * 3
    first, mine, yours = staged
    if mine is None or yours is None:
        return base, ours, theirs, base is not None
    if merge_texts.marked_sides(by_lines(first or b"", mine, yours)[0])[1:] == (ours, theirs):
        return first, mine, yours, True  # nobody has touched it since
    return (base if base is not None else first), ours, theirs, True


def _in_repository(folder: Path) -> bool:
    return shutil.which("git") is not None and top(folder) is not None


# Hooks


def staged(where: Path) -> tuple[list[str], list[str]]:
    """What is about to be committed: memory files, by their attributes; and users' other files, such as documents."""
    said = call(where, "diff", "--cached", "--name-only", "-z", "--diff-filter=ACMRT", hook=True).stdout
    names = [os.fsdecode(name) for name in said.split(b"\0") if name]
    ours = [name for name in names if _is_ours(where, name)]
    users = [name.removesuffix(document.FILE_NAME) for name in _memory_files(where, hook=True)]
    settings = {str(PurePosixPath(user).parent / layout.CONFIG_NAME) for user in users}
    theirs = [name for name in names if name.startswith(tuple(users)) or name in settings]
    return ours, [name for name in theirs if name not in ours]


def _is_ours(where: Path, name: str) -> bool:
    said = call(where, "check-attr", "-z", "merge", "--", name, hook=True).stdout.split(b"\0")
    return len(said) > 2 and said[2] == DRIVER.encode()


def wrong_in(where: Path, ours: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """What speaks against committing memory files, and others of users: sentences with file and line."""
    told = [told for name in ours for told in _wrong(where, name)]
    return told + [told for name in others for told in _wrong_beside(where, name)]


def _wrong_beside(where: Path, name: str) -> Iterator[str]:
    """Likely secrets in a file that is not memctl's; what is no text is passed over."""
    data = call(where, "cat-file", "blob", f":{name}", hook=True).stdout
    if b"\0" not in data[:8000] and len(data) <= secrets.LARGEST_FILE:
        yield from _new_secrets(where, name, data.decode("utf-8", "replace"))


def _wrong(where: Path, name: str) -> Iterator[str]:
    data = call(where, "cat-file", "blob", f":{name}", hook=True).stdout
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
    before = call(where, "cat-file", "blob", f"HEAD:{name}", hook=True)
    known = set() if before.returncode else set(before.stdout.decode("utf-8", "replace").split("\n"))
    lines = text.split("\n")
    yield from (str(place) for place in places if not place.line or lines[place.line - 1] not in known)


def folders_in(where: Path) -> list[Path]:
    """Users' folders in a working tree."""
    return [(where / name).parent for name in _memory_files(where)]


def _memory_files(where: Path, *, hook: bool = False) -> list[str]:
    said = call(where, "ls-files", "-z", "--", document.FILE_NAME, f"*/{document.FILE_NAME}", hook=hook).stdout
    names = [os.fsdecode(name) for name in said.split(b"\0") if name]
    return [name for name in dict.fromkeys(names) if _is_ours(where, name)]


def initialise(root: Path, folders: Sequence[UserFolder]) -> tuple[Path, bool, list[str]]:
    """Make folders ready for git; a repository is made where they are in none.

    Args:
        root: where it is made.

    Returns:
        the working tree, whether it is new, and the files written.
    """
    where = top(root)
    if where is None:
        chosen = call(root, "config", "init.defaultBranch").returncode == 0
        ask(root, "init", "--quiet", *([] if chosen else ["--initial-branch=main"]))
    written = []
    for folder in folders:
        layout.ensure_private(folder)
        written += [f"{folder.name}/{name}" for name in layout.prepare_git(folder)]
    return where or need(root), where is None, written

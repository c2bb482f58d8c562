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
from memctl.models import ACTIVE

DRIVER = "memctl"
HOOKS = ("pre-commit", "post-merge", "post-checkout")
_MARK = "# written by `memctl git install --hooks`"

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


# Asking git


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
        told, more = _complaint(done.stderr)
        raise StorageError(f"git {arguments[0]}: {told or f'exit code {done.returncode}'}", hint=more)
    return done.stdout.decode("utf-8", "replace").rstrip("\n")


def _complaint(said: bytes) -> tuple[str, str]:
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
    told, more = _complaint(done.stderr)
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
    return next((what for name, what in _UNDER_WAY.items() if _git_path(folder, name).exists()), "")


def _git_path(folder: Path, name: str) -> Path:
    return folder / ask(folder, "rev-parse", "--git-path", name)


def _unmerged(folder: UserFolder) -> list[str]:
    """Files of the folder that git holds several versions of, after a merge or a stash that did not fit."""
    return _names(call(folder.root, "diff", "--name-only", "--relative", "-z", "--diff-filter=U").stdout)


def _names(said: bytes) -> list[str]:
    """What git lists with `-z`."""
    return [os.fsdecode(name) for name in said.split(b"\0") if name]


# Setting up


def settings() -> dict[str, str]:
    """What memctl sets in a repository's configuration."""
    # Without memctl, git's own merge: exit codes of a program that is not there would look like a settled conflict;
    # and the file as it is.
    fallback = '"$M" --version >/dev/null 2>&1 || exec git merge-file %A %O %B'
    shown = '"$M" git diff-driver "$1" 2>/dev/null; C=$?; [ $C -lt 126 ] && exit $C; cat'  # git appends the file
    return {
        f"merge.{DRIVER}.name": "memory files, by record and field",
        f"merge.{DRIVER}.driver": f'{_found().replace("%", "%%")}; {fallback}; "$M" git merge-driver %O %A %B %P',
        f"diff.{DRIVER}.textconv": f"{_found()}; {shown}",
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
    scripts = {name: _git_path(where, f"hooks/{name}") for name in HOOKS} if hooks else {}
    for name, path in scripts.items():
        _check_hook(where, name, path)
    changed = []
    for name, value in settings().items():
        if call(where, "config", "--local", "--get", name).stdout.decode("utf-8", "replace").rstrip("\n") != value:
            ask(where, "config", "--local", name, value)
            changed.append(name)
    done = [f"set {', '.join(changed)}"] if changed else []
    written = [name for name, path in scripts.items() if not _runs_memctl(path) and _write_hook(path, name)]
    return [*done, *([f"hooks: {', '.join(written)}"] if written else [])]


def _check_hook(where: Path, name: str, path: Path) -> None:
    """Whether memctl may write that hook.

    Raises:
        RefusedError: somebody else's is there, or other repositories would run it, too.
    """
    if _calls_memctl(path):
        return
    if os.path.lexists(path):
        hint = f"Add this line to it: `memctl git hook {name} || exit 1`"
        raise RefusedError(f"there is a {name} hook already: {path}", hint=hint)
    common = (where / ask(where, "rev-parse", "--git-common-dir")).resolve()
    if not any(path.resolve().is_relative_to(own) for own in (where.resolve(), common)):
        own_place = shlex.quote(str(common / "hooks"))
        hint = f"Hooks of its own for this repository: `git config --local core.hooksPath {own_place}`, then again."
        raise RefusedError(f"core.hooksPath leads to hooks of other repositories, too: {path.parent}", hint=hint)


def _calls_memctl(path: Path) -> bool:
    found = atomic.read_given(path) or b""
    return b"memctl" in found and b"git hook" in found


def _runs_memctl(path: Path) -> bool:
    """Whether git runs it, too: one without the right to be run is passed over."""
    return _calls_memctl(path) and os.access(path, os.X_OK)


def _write_hook(path: Path, name: str) -> bool:
    """Write a hook; one that calls memctl already only gets the right to be run."""
    if not _calls_memctl(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_script(name), "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return True


def _script(name: str) -> str:
    missing = f'echo "memctl is not there: the {name} hook did nothing" >&2'
    script = f'#!/bin/sh\n{_MARK}\n{_found()}\n"$M" --version >/dev/null 2>&1 || {{ {missing}; exit 0; }}\n'
    return script + f'exec "$M" git hook {name}\n'


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
    hooked = [name for name in HOOKS if _runs_memctl(_git_path(where, f"hooks/{name}"))]
    told = ", ".join(hooked) or "none (optional)"
    yield Finding("hooks", len(hooked) == len(HOOKS), told, "memctl git install --hooks", wanted=False)
    seen = call(folder.root, "check-ignore", "--quiet", document.FILE_NAME).returncode != 0
    yield Finding("memory.json", seen, "seen by git" if seen else "ignored by git", "take it out of .gitignore")
    yield _private(folder)
    yield merges(folder)


def _private(folder: UserFolder) -> Finding:
    if call(folder.root, "ls-files", "--", *_PRIVATE).stdout:
        return Finding("private files", False, "tracked", "git rm -r --cached .memctl sessions")
    if not _ignores_private(folder) and _attributes(folder).ok:  # else that is told, and mended by the same command
        return Finding("private files", False, "not in .gitignore", "memctl git init")
    return Finding("private files", True, "not tracked")


_PRIVATE = (".memctl", "sessions")


def _ignores_private(folder: UserFolder) -> bool:
    asked = (call(folder.root, "check-ignore", "--quiet", "--no-index", f"{name}/file") for name in _PRIVATE)
    return not any(done.returncode for done in asked)


def complete(folders: Iterable[UserFolder]) -> list[str]:
    """Write the ignore and attributes files where they are missing: of a user who came after `memctl git init`.

    Returns:
        the files written.
    """
    lacking = [folder for folder in folders if not (_attributes(folder).ok and _ignores_private(folder))]
    return [f"{folder.name}/{name}" for folder in lacking for name in layout.prepare_git(folder)]


def _attributes(folder: UserFolder) -> Finding:
    names = (document.FILE_NAME, f"{reflections.FOLDER}a/b.md", folder.feedback_log.name)
    said = ask(folder.root, "check-attr", "merge", "--", *names)
    missing = [name for name in names if f"{name}: merge: {DRIVER}" not in said]
    told = f"missing for {', '.join(missing)}" if missing else "name the driver"
    return Finding("attributes", not missing, told, "memctl git init")


def merges(folder: UserFolder) -> Finding:
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
    form = "--format=%h%x1f%ad%x1f%an%x1f%s"
    if call(folder.root, "rev-parse", "--verify", "--quiet", "HEAD").returncode:
        return []
    said = ask(folder.root, "log", f"--max-count={most}", "--date=short", form, "--", ".")
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
    places = [f":(literal){folder.root}" for folder in folders]
    told = message or _counts(folders)
    ask(where, "add", "--all", "--", *places)
    going = under_way(where)
    if _git_path(where, "rebase-apply").exists():
        hint = f"All is added: `git {going} --continue` commits it, with the message and the author it came with."
        raise RefusedError(f"git commits this itself, in a {going}", hint=hint)
    if going != "merge" and call(where, "diff", "--cached", "--quiet", "--", *places).returncode == 0:
        return _nothing(going)
    # During a merge git commits everything or nothing, and has made up a message.
    made_up = bool(going) and _git_path(where, "MERGE_MSG").exists()
    says = "--no-edit" if made_up and not message else f"--message={told}"
    done = call(where, "commit", "--quiet", says, *([] if made_up else ["--", *places]), spoken=True)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).decode("utf-8", "replace")
        raise RefusedError("git did not commit", hint=said)
    name, _, subject = ask(where, "log", "--max-count=1", "--format=%h %s").partition(" ")
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
    waiting = unsettled(atomic.read(folder.memory_file) or document.empty(folder.name))
    if allow_unsettled:
        return
    if waiting and (under_way(folder.root) or document.FILE_NAME in _unmerged(folder)):
        many = "1 conflict is" if len(waiting) == 1 else f"{len(waiting)} conflicts are"
        hint = "`memctl conflicts` shows what to decide; --unsettled commits it as it is, to settle it later."
        raise RefusedError(f"{many} not settled in {folder.name}/{document.FILE_NAME}", hint=hint)
    for place in _marked_in(folder, [*_unmerged(folder), *_changed_texts(folder)]):
        hint = "Keep what is right, delete the lines with marks; --unsettled commits it as it is."
        raise RefusedError(f"{folder.name}/{place}: holds git conflict markers", hint=hint)


def _changed_texts(folder: UserFolder) -> list[str]:
    """Reflections that are different from the last commit."""
    return _names(call(folder.root, "diff", "--name-only", "--relative", "-z", "HEAD", "--", reflections.FOLDER).stdout)


def _marked_in(folder: UserFolder, names: Iterable[str]) -> Iterator[str]:
    """The places (file and line) of conflict markers in the folder's files of these names."""
    for name in dict.fromkeys(names):
        text = (atomic.read(folder.root / name) or b"").decode("utf-8", "replace")
        if line := document.conflict_line(text):
            yield f"{name}:{line}"


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
        data, conflict, told = _merged(*versions, name)
    except (InvalidDataError, RecursionError) as problem:
        data, conflict = by_lines(*versions)[0], True
        told = f"merged by lines, for a side cannot be read: {problem}"
    ours.write_bytes(data)
    return int(conflict), f"{name}: {told}" if told else ""


def _merged(base: bytes, ours: bytes, theirs: bytes, name: str) -> tuple[bytes, bool, str]:
    """The merged file, whether it holds a conflict, and what to tell."""
    if name.endswith(".jsonl"):
        return merge_texts.log(base, ours, theirs), False, ""
    if name.endswith(".md"):
        data, marked = merge_texts.reflection(base, ours, theirs, by_lines)
        return data, marked, "both sides changed the same lines; settle them by hand" if marked else ""
    done = merge.memory_file(base, ours, theirs)
    if places := "; ".join(_told(entry) for entry in done.conflicts):
        then = "`memctl conflicts` settles it; then `memctl git commit`, or `git add`"
        return done.data, True, f"{places} ({then})"
    keys = ", ".join(_newly_open(done.data, ours, theirs))
    return done.data, False, f"both sides gave a value to {keys} (`memctl conflicts` shows them)" if keys else ""


def _newly_open(merged: bytes, *sides: bytes) -> list[str]:
    """Keys of facts that have one value on each side, and several together."""
    if not (found := _open_values(merged)):
        return []
    return sorted(found.difference(*(_open_values(merge.settled(side)) for side in sides)))


def _open_values(data: bytes) -> set[str]:
    """Keys of facts that have more than one active value."""
    values: dict[str, set[str]] = {}
    for memory in document.parse(data).memories.values():
        if memory.key and memory.status == ACTIVE:
            values.setdefault(memory.key, set()).add(merge_values.json_text(memory.value))
    return {key for key, said in values.items() if len(said) > 1}


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
        raise StorageError(f"git merge-file: {_complaint(done.stderr)[0]}")
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
    """What became of files with conflict markers: their names, conflicts that are left, and where copies are kept.

    `by_hand` are the places of markers in reflections, whose text only a person can settle.
    """

    files: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()


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
            merged = _settled_log(folder, data) if path == folder.feedback_log else _settled_memories(folder, data)
            copy = folder.displaced / f"conflict-{codec.digest(data)[:12]}{path.suffix}"
            atomic.replace(copy, data)
            atomic.replace(path, merged)
            files.append(path.name)
            kept.append(str(copy.relative_to(folder.root)))
    left = unsettled(atomic.read(folder.memory_file) or document.empty(folder.name))
    names = sorted(path.relative_to(folder.root).as_posix() for path in folder.reflections.rglob("*.md"))
    return Settled(tuple(files), tuple(left), tuple(kept), tuple(_marked_in(folder, names)))


def _settled_log(folder: UserFolder, marked: bytes) -> bytes:
    base, ours, theirs, _ = _sides(folder.root, folder.feedback_log.name, marked)
    return merge_texts.log(base, ours, theirs)


def _settled_memories(folder: UserFolder, marked: bytes) -> bytes:
    base, ours, theirs, known = _sides(folder.root, document.FILE_NAME, marked)
    try:
        return merge.memory_file(base, ours, theirs, base_known=known).data
    except InvalidDataError:
        # Markers within markers that were committed once: what git merged can be read where its result cannot.
        first, mine, yours = _staged(folder.root, document.FILE_NAME)
        if mine is None or yours is None:
            raise
        return merge.memory_file(first, mine, yours).data


def _sides(folder: Path, name: str, marked: bytes) -> tuple[bytes | None, bytes, bytes, bool]:
    """Base, ours, theirs, and whether the base is known: a marked file need not tell it."""
    base, ours, theirs = merge_texts.marked_sides(marked)
    first, mine, yours = _staged(folder, name)
    if mine is None or yours is None:
        return base, ours, theirs, base is not None
    if merge_texts.marked_sides(by_lines(first or b"", mine, yours)[0])[1:] == (ours, theirs):
        return first, mine, yours, True  # nobody has touched it since
    return (base if base is not None else first), ours, theirs, True


def _staged(folder: Path, name: str) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Base, ours and theirs as git keeps them while a merge waits; None where it has none."""
    if not _in_repository(folder):
        return None, None, None
    return content(folder, ":1", name), content(folder, ":2", name), content(folder, ":3", name)


def _in_repository(folder: Path) -> bool:
    return shutil.which("git") is not None and top(folder) is not None


# Hooks


def staged(where: Path) -> tuple[list[str], list[str]]:
    """What is about to be committed: memory files, by their attributes; and users' other files, such as documents."""
    done = call(where, "diff", "--cached", "--name-only", "-z", "--diff-filter=ACMRT", hook=True)
    if done.returncode:
        raise StorageError("git does not tell what is to be committed", hint=_complaint(done.stderr)[0])
    names = _names(done.stdout)
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
    return [name for name in dict.fromkeys(_names(said)) if _is_ours(where, name)]


def initialise(root: Path, folders: Sequence[UserFolder]) -> tuple[Path, bool, list[str]]:
    """Make folders ready for git; a repository is made where they are in none.

    Args:
        root: where it is made.

    Returns:
        the working tree, whether it is new, and the files written.
    """
    where = top(root)
    if where is None:
        ask(root, "init", "--quiet")
        if call(root, "config", "init.defaultBranch").returncode:
            ask(root, "symbolic-ref", "HEAD", "refs/heads/main")
    written = []
    for folder in folders:
        layout.ensure_private(folder)
        written += [f"{folder.name}/{name}" for name in layout.prepare_git(folder)]
    return where or need(root), where is None, written

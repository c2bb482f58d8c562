"""Paths: a store, its users, and the files of one user."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from memctl.core import models
from memctl.core.formats import document
from memctl.core.names import check_user_name
from memctl.errors import NotFoundError, RefusedError, StorageError, UsageError, argument
from memctl.storage.files import atomic, signing

CONFIG_NAME = "memctl.yaml"
STORE_VARIABLE = "MEMCTL_STORE"
USER_VARIABLE = "MEMCTL_USER"

GITATTRIBUTES = """\
memory.json text eol=lf merge=memctl diff=memctl
reflections/**/*.md text eol=lf merge=memctl
feedback.jsonl text eol=lf merge=memctl
"""
GITIGNORE = ".memctl/\nsessions/\n.memctl-tmp-*\n"


PRIVATE = ".memctl/"
COUNTED = ".memctl/state/counted"
TRASH = ".memctl/state/trash/"


def path_of(text: str) -> str:
    """The path of a text that a change names, relative to the user's folder."""
    if text == models.COUNTED:
        return COUNTED
    return f"{TRASH}{text.removeprefix(models.TRASH)}.json" if text.startswith(models.TRASH) else text


def text_of(path: str) -> str:
    """The name of the text at a path; the inverse of `path_of`.

    Raises:
        ValueError: changes do not write to this path.
    """
    if path == COUNTED:
        return models.COUNTED
    if path.startswith(TRASH) and path.endswith(".json"):
        return models.TRASH + path.removeprefix(TRASH).removesuffix(".json")
    if path_of(path) != path:
        raise ValueError(path)
    return path


_SEEN = r"[^/.\0][^/\0]*"
"""A name that is not hidden (git's own folder is)."""

_STEPS = re.compile(
    rf"memory\.json|feedback\.jsonl|reflections/(?:{_SEEN}/)*{_SEEN}\.md|knowledge/(?:{_SEEN}/)*{_SEEN}"
    rf"|{re.escape(COUNTED)}|transcripts/[\w.-]+\.jsonl|{re.escape(TRASH)}[^/\0]+\.json"
)
"""Paths that changes may write, relative to the user's folder; a log cannot name others."""

_ERASABLE = re.compile(
    rf"reflections/(?:{_SEEN}/)*{_SEEN}\.md|sessions/(?:{_SEEN}/)*{_SEEN}|\.memctl/state/(?:trash|drafts|displaced|unverified)/[^\0]+"
    r"|(?:feedback|transcripts/[\w.-]+|\.memctl/state/(?:operations|receipts|receipts\.old))\.jsonl/[0-9a-f]{32}"
    r"|transcripts/attachments/[0-9a-f]{32}\.txt"
)
"""What a purge may remove: whole files, and lines of logs by their hash."""


@dataclass(frozen=True)
class UserFolder:
    """The files of one user, below `root`.

    Args:
        key_file: has the key with which this machine's user signs local state.
    """

    root: Path
    key_file: Path = field(default_factory=signing.key_file, compare=False)

    @cached_property
    def signer(self) -> signing.Signer:
        return signing.Signer(self.state / "id", self.key_file)

    @cached_property
    def name(self) -> str:
        return self.root.name

    @cached_property
    def memory_file(self) -> Path:
        return self.root / document.FILE_NAME

    @cached_property
    def reflections(self) -> Path:
        return self.root / "reflections"

    @cached_property
    def sessions(self) -> Path:
        return self.root / "sessions"

    @cached_property
    def pending(self) -> Path:
        return self.sessions / "pending"

    @cached_property
    def knowledge(self) -> Path:
        return self.root / "knowledge"

    @cached_property
    def transcripts(self) -> Path:
        return self.root / "transcripts"

    @cached_property
    def transcripts_decision(self) -> Path:
        """The signed file that says whether this machine's user put the transcripts under git."""
        return self.state / "transcripts-in-git"

    @cached_property
    def feedback_log(self) -> Path:
        return self.root / "feedback.jsonl"

    @cached_property
    def private(self) -> Path:
        return self.root / ".memctl"

    @cached_property
    def cache(self) -> Path:
        return self.private / "cache"

    @cached_property
    def state(self) -> Path:
        return self.private / "state"

    @cached_property
    def lock(self) -> Path:
        return self.state / "lock"

    @cached_property
    def operations(self) -> Path:
        return self.state / "operations.jsonl"

    @cached_property
    def receipts(self) -> Path:
        return self.state / "receipts.jsonl"

    @cached_property
    def session_locks(self) -> Path:
        return self.state / "locks"

    @cached_property
    def trash(self) -> Path:
        return self.state / "trash"

    @cached_property
    def drafts(self) -> Path:
        return self.state / "drafts"

    @cached_property
    def displaced(self) -> Path:
        return self.state / "displaced"

    @cached_property
    def unverified(self) -> Path:
        """Entries that this machine's user did not write; they were moved here."""
        return self.state / "unverified"

    def step(self, relative: str) -> Path:
        """The path of a file that a change or a line of the log names.

        Raises:
            RefusedError: changes do not write there, or the path leads out of the folder.
        """
        if not _STEPS.fullmatch(relative):
            raise RefusedError(f"{relative!r} is not a file that memctl changes in the folder of user {self.name!r}")
        return self.resolve(relative)

    def erasable(self, relative: str) -> Path:
        """The path of a file, or of a line of a log, that a purge names.

        Raises:
            RefusedError: a purge does not remove it, or the path leads out of the folder.
        """
        if not _ERASABLE.fullmatch(relative):
            raise RefusedError(f"{relative!r} is not a file that a purge removes in the folder of user {self.name!r}")
        return self.resolve(relative)

    def resolve(self, relative: str) -> Path:
        """A path inside the folder.

        Raises:
            RefusedError: it leads out of the folder: by `..`, as an absolute path, or through a symbolic link.
        """
        path = self.root / relative
        try:
            inside = path.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError, ValueError):
            inside = False
        if os.path.isabs(relative) or ".." in Path(relative).parts or not inside:
            raise RefusedError(f"{relative!r} leads out of the folder of user {self.name!r}")
        return path


def check_private(folder: UserFolder) -> None:
    """Check that memctl's own folders are real folders: through a link, it would write elsewhere.

    Raises:
        RefusedError: one is a link, or not a folder.
    """
    inner = (folder.trash, folder.drafts, folder.displaced, folder.session_locks, folder.unverified)
    for place in (folder.private, folder.state, folder.cache, *inner):
        if os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place)):  # noqa: PTH112, PTH114
            hint = "Delete it, or put the real folder there; memctl makes a new one, and no memory is lost."
            raise RefusedError(f"{place} is a link, or no folder: memctl does not keep its files there", hint=hint)


def find_store(given: str | Path | None, environment: Mapping[str, str]) -> Path:
    """The store's folder: the given one, `MEMCTL_STORE`, the nearest parent with a `memctl.yaml`, else `~/.memctl`.

    Raises:
        UsageError: the given store is an address or blank.
        StorageError: the working directory counts, and is gone.
    """
    if chosen := given or environment.get(STORE_VARIABLE):
        if not str(chosen).strip():
            raise UsageError("the store's name is blank", hint="Name a folder with --store or MEMCTL_STORE.")
        _refuse_address(str(chosen))
        path = Path(chosen).expanduser()
        return path if path.is_absolute() else _working_directory() / path
    here = _working_directory()
    for folder in (here, *here.parents):
        if (folder / CONFIG_NAME).is_file():
            return folder
    return Path("~/.memctl").expanduser()


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        hint = "Go to a folder that exists (`cd ~`), or name the store by its whole path with --store."
        raise StorageError("the working directory was deleted", hint=hint) from None


_ADDRESS = re.compile(
    r"""\s*(?:(?P<scheme>[a-z][a-z0-9+.-]+):(?:[a-z0-9+.:-]*/|\\)      # https://…, s3:/…, jdbc:postgresql://…
        |(?P<known>file|https?|ftps?|sftp|ssh|git|s3|gs|az|jdbc|odbc|sqlite3?|duckdb|libsql|postgres(?:ql)?|pgsql|mysql
        |mariadb|mssql|oracle|mongodb|redis|rediss|data|memory)(?:\+\w+)?:
        |[^\s/@:]+@[^\s/@:]+:                                           # git@host:path
        |(?://)?[^\s/@:\\]*:[^\s/@\\]*@[^\s/@]+)                         # user:password@host/path""",
    re.VERBOSE | re.IGNORECASE,
)


def _refuse_address(given: str) -> None:
    """Refuse a text that looks like an address. The error quotes only its scheme: the rest may hold a password.

    Raises:
        UsageError: it looks like an address.
    """
    if match := _ADDRESS.match(given):
        scheme = match["scheme"] or match["known"]
        shown = f"{scheme.lower()}:…" if scheme else "user@host:…"
        hint = "Write ./ before the name if a folder is really called so."
        reason = f"the store is given as an address ({shown}); it must be a folder, or postgresql://USER@HOST/DATABASE"
        raise UsageError(reason, hint=hint)


def users(store: Path) -> list[str]:
    """The names of the users in a store: folders with a `memory.json` or reflections."""
    if not store.is_dir():
        return []
    try:
        return sorted(entry.name for entry in _folders(store) if _is_user(store / entry.name))
    except OSError as problem:
        raise StorageError(f"cannot read {store}: {problem.strerror}", hint="Check its permissions.") from None


def _folders(store: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(store) as entries:
        yield from (entry for entry in entries if not entry.name.startswith(".") and entry.is_dir())


def _is_user(folder: Path) -> bool:
    try:
        return (folder / document.FILE_NAME).exists() or (folder / ".memctl").is_dir()
    except OSError as problem:
        raise StorageError(f"cannot read {folder}: {problem.strerror}", hint="Check its permissions.") from None


def find_user(store: Path, name: str) -> UserFolder:
    """An existing user's folder.

    Raises:
        NotFoundError: no such user; similar names are suggested.
    """
    folder = UserFolder(store / check_user_name(name))
    if _is_user(folder.root):
        return folder
    known = users(store)
    if not known and not (store / CONFIG_NAME).exists():
        raise NotFoundError(f"there is no memory store in {store}", hint="Make one with `memctl init`.")
    raise NotFoundError(f"no user {name!r} in {store}", hint=_user_hint(name, known))


def _user_hint(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    if near := get_close_matches(name, known, 3):
        return f"Did you mean {' or '.join(near)}?"
    listing = f"Users here: {', '.join(known[:8])}. " if known else ""
    return f"{listing}Create the user with `memctl user add {argument(name)}`."


def create_user(store: Path, name: str) -> UserFolder:
    """Create a user's folder with an empty `memory.json`; missing parts of an existing one are added."""
    folder = UserFolder(store / check_user_name(name))
    for directory in (folder.root, folder.reflections, folder.state, folder.cache):
        atomic.make_directory(directory)
    if not folder.memory_file.exists():
        atomic.create(folder.memory_file, document.empty(folder.name))
    ensure_private(folder)
    return folder


def ensure_private(folder: UserFolder) -> None:
    """Keep `.memctl/` out of git, also in folders made by hand.

    Raises:
        RefusedError: it is a link, through which this would write elsewhere.
    """
    check_private(folder)
    marker = folder.private / ".gitignore"
    if not marker.exists():
        atomic.create(marker, b"*\n")


def prepare_git(folder: UserFolder) -> list[str]:
    """Write the ignore and attributes files, or their missing lines; returns the names written."""
    files = ((".gitattributes", GITATTRIBUTES), (".gitignore", GITIGNORE))
    return [name for name, text in files if add_lines(folder, name, text)]


def add_lines(folder: UserFolder, name: str, text: str) -> bool:
    """Add the missing lines to one of git's files; False if none was missing."""
    there = (atomic.read(folder.root / name) or b"").decode("utf-8", "surrogateescape")
    known = {line.strip() for line in there.splitlines()}
    lines = [line for line in text.splitlines() if line not in known]
    if lines:
        begun = there if not there or there.endswith("\n") else there + "\n"
        new = begun + "".join(f"{line}\n" for line in lines)
        atomic.replace(folder.root / name, new.encode("utf-8", "surrogateescape"))
    return bool(lines)

"""Where things are: a store, its users, and the files of one user."""

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
    """Where a text that a change names lies, relative to the user's folder."""
    if text == models.COUNTED:
        return COUNTED
    return f"{TRASH}{text.removeprefix(models.TRASH)}.json" if text.startswith(models.TRASH) else text


def text_of(path: str) -> str:
    """The name of the text that lies there; the other way round than `path_of`.

    Raises:
        ValueError: no change writes there.
    """
    if path == COUNTED:
        return models.COUNTED
    if path.startswith(TRASH) and path.endswith(".json"):
        return models.TRASH + path.removeprefix(TRASH).removesuffix(".json")
    if path_of(path) != path:
        raise ValueError(path)
    return path


_SEEN = r"[^/.\0][^/\0]*"
"""A name that is not hidden, as git's own folder is."""

_STEPS = re.compile(
    rf"memory\.json|feedback\.jsonl|reflections/(?:{_SEEN}/)*{_SEEN}\.md|knowledge/(?:{_SEEN}/)*{_SEEN}"
    rf"|{re.escape(COUNTED)}|transcripts/[\w.-]+\.jsonl|{re.escape(TRASH)}[^/\0]+\.json"
)
"""Where changes write, relative to the user's folder; nothing else is written because a log says so."""

_ERASABLE = re.compile(
    rf"reflections/(?:{_SEEN}/)*{_SEEN}\.md|sessions/(?:{_SEEN}/)*{_SEEN}|\.memctl/state/(?:trash|drafts|displaced|unverified)/[^\0]+"
    r"|(?:feedback|transcripts/[\w.-]+|\.memctl/state/(?:operations|receipts|receipts\.old))\.jsonl/[0-9a-f]{32}"
    r"|transcripts/attachments/[0-9a-f]{32}\.txt"
)
"""What a purge takes: files as a whole, and lines of logs, by their hash."""


@dataclass(frozen=True)
class UserFolder:
    """The files of one user, below `root`.

    Args:
        key_file: holds the key that this machine's user signs local state with.
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
        """Says, signed, that this machine's user put the transcripts under git."""
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
        """Entries that this machine's user did not write, moved out of the way."""
        return self.state / "unverified"

    def step(self, relative: str) -> Path:
        """A file that a change, or a line of the log, names: one of the few places where changes write.

        Raises:
            RefusedError: it is none of them, or leads out of the folder.
        """
        if not _STEPS.fullmatch(relative):
            raise RefusedError(f"{relative!r} is no file that memctl changes in the folder of user {self.name!r}")
        return self.resolve(relative)

    def erasable(self, relative: str) -> Path:
        """A file, or a line of a log, that a purge or its line in the log names.

        Raises:
            RefusedError: it is none that a purge takes, or leads out of the folder.
        """
        if not _ERASABLE.fullmatch(relative):
            raise RefusedError(f"{relative!r} is no file that a purge takes in the folder of user {self.name!r}")
        return self.resolve(relative)

    def resolve(self, relative: str) -> Path:
        """A path inside the folder.

        Raises:
            RefusedError: it leads out of the folder, by `..`, as an absolute path, or through a symbolic link.
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
    """Whether what memctl keeps for itself lies in the folder: through a link, it would write elsewhere.

    Raises:
        RefusedError: a folder of it is a link, or no folder.
    """
    inner = (folder.trash, folder.drafts, folder.displaced, folder.session_locks, folder.unverified)
    for place in (folder.private, folder.state, folder.cache, *inner):
        if os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place)):  # noqa: PTH112, PTH114
            hint = "Delete it, or put the real folder there; memctl makes a new one, and no memory is lost."
            raise RefusedError(f"{place} is a link, or no folder: memctl does not keep its files there", hint=hint)


def find_store(given: str | Path | None, environment: Mapping[str, str], here: Path) -> Path:
    """The store's folder: what was given, `MEMCTL_STORE`, the nearest parent with a `memctl.yaml`, else `~/.memctl`.

    Raises:
        UsageError: what was given is an address, or blank, not a folder.
    """
    if chosen := given or environment.get(STORE_VARIABLE):
        if not str(chosen).strip():
            raise UsageError("the store's name is blank", hint="Name a folder with --store or MEMCTL_STORE.")
        _refuse_address(str(chosen))
        return Path(chosen).expanduser().absolute()
    for folder in (here, *here.parents):
        if (folder / CONFIG_NAME).is_file():
            return folder
    return Path("~/.memctl").expanduser()


_ADDRESS = re.compile(
    r"""\s*(?:(?P<scheme>[a-z][a-z0-9+.-]+):(?:[a-z0-9+.:-]*/|\\)      # https://…, s3:/…, jdbc:postgresql://…
        |(?P<known>file|https?|ftps?|sftp|ssh|git|s3|gs|az|jdbc|odbc|sqlite3?|duckdb|libsql|postgres(?:ql)?|pgsql|mysql
        |mariadb|mssql|oracle|mongodb|redis|rediss|data|memory)(?:\+\w+)?:
        |[^\s/@:]+@[^\s/@:]+:                                           # git@host:path
        |(?://)?[^\s/@:\\]*:[^\s/@\\]*@[^\s/@]+)                         # user:password@host/path""",
    re.VERBOSE | re.IGNORECASE,
)


def _refuse_address(given: str) -> None:
    """Refuse what begins like an address, and repeat no more of it than its scheme: it may hold a password.

    Raises:
        UsageError: it does.
    """
    if match := _ADDRESS.match(given):
        scheme = match["scheme"] or match["known"]
        shown = f"{scheme.lower()}:…" if scheme else "user@host:…"
        hint = "Name a folder with --store or MEMCTL_STORE; one that is really called so is written with ./ before it."
        raise UsageError(f"the store is given as an address ({shown}), but a store is a folder", hint=hint)


def users(store: Path) -> list[str]:
    """Names of the users in a store: folders that hold a `memory.json` or reflections."""
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
        NotFoundError: there is none; near names are suggested.
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
    """Make a user's folder with an empty `memory.json`; one that exists is completed, never emptied."""
    folder = UserFolder(store / check_user_name(name))
    for directory in (folder.root, folder.reflections, folder.state, folder.cache):
        atomic.make_directory(directory)
    if not folder.memory_file.exists():
        atomic.create(folder.memory_file, document.empty(folder.name))
    ensure_private(folder)
    return folder


def ensure_private(folder: UserFolder) -> None:
    """Keep `.memctl/` out of git, in folders made by hand too.

    Raises:
        RefusedError: it is a link, through which this would write elsewhere.
    """
    check_private(folder)
    marker = folder.private / ".gitignore"
    if not marker.exists():
        atomic.create(marker, b"*\n")


def prepare_git(folder: UserFolder) -> list[str]:
    """Write the ignore and attributes files, or the lines they lack; returns the names written."""
    files = ((".gitattributes", GITATTRIBUTES), (".gitignore", GITIGNORE))
    return [name for name, text in files if add_lines(folder, name, text)]


def add_lines(folder: UserFolder, name: str, text: str) -> bool:
    """Add the lines that a file of git's lacks; says whether there were any."""
    there = (atomic.read(folder.root / name) or b"").decode("utf-8", "surrogateescape")
    known = {line.strip() for line in there.splitlines()}
    lines = [line for line in text.splitlines() if line not in known]
    if lines:
        begun = there if not there or there.endswith("\n") else there + "\n"
        new = begun + "".join(f"{line}\n" for line in lines)
        atomic.replace(folder.root / name, new.encode("utf-8", "surrogateescape"))
    return bool(lines)

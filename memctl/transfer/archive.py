"""A user's whole folder as one file, byte for byte: written, verified, and brought back all at once or not at all.

An archive is a tar in gzip. `folder/…` holds the user's files, `memctl.yaml` the store's settings, and `MANIFEST.json`,
which comes last, the size and SHA-256 of each. Names stand in their order and times are 0, so equal folders make equal
archives. An archive may come from anybody: nothing in it is written before everything in it was checked.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import io
import json
import os
import secrets
import shutil
import stat
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from memctl.errors import (
    FormatVersionError,
    InvalidDataError,
    MemctlError,
    NotFoundError,
    RefusedError,
    StorageError,
    UsageError,
)
from memctl.files import atomic, document, layout, lock
from memctl.files.layout import CONFIG_NAME, UserFolder

FORMAT = "memctl-archive/1"
FOLDER, MANIFEST = "folder/", "MANIFEST.json"

MEGABYTE = 1024 * 1024
LARGEST_MEMBER = 512 * MEGABYTE
LARGEST_TOTAL = 16 * 1024 * MEGABYTE
LARGEST_MANIFEST = 64 * MEGABYTE
MOST_MEMBERS = 200_000
MOST_EXPANDED, EXPANSION_FROM = 250, 64 * MEGABYTE
"""Text is packed into a twentieth; what unpacks to so many times its size, past so many bytes, is a bomb."""

_BLOCK = 512
_CHUNK = 1024 * 1024
_LONGEST_PATH, _LONGEST_NAME, _LARGEST_HEADER = 2_000, 255, 64 * 1024
_STAGE = f"{atomic.TEMPORARY_PREFIX}import-"

_BROKEN = "Nothing was written. Use another copy of the archive, or export it again."


@dataclass(frozen=True)
class Entry:
    """A file in an archive; `path` is relative to the user's folder."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Archive:
    """What an archive holds.

    Args:
        settings: the store's `memctl.yaml`, None where there was none.
        sha256: of the archive itself.
        left_out: files that cannot be in an archive, each with the reason; known only when it is written.
    """

    user: str
    entries: tuple[Entry, ...]
    settings: bytes | None
    sha256: str
    left_out: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.entries)


# Writing


def write(folder: UserFolder, target: Path, *, with_log: bool = False) -> Archive:
    """Write a user's folder into an archive, and read it back. Call it with the folder's locks held.

    Args:
        with_log: also the operation log, from which `undo` and `log` live; it holds what was changed and forgotten.

    Raises:
        StorageError, InvalidDataError: a file cannot be read, or is too large; there is no archive then.
    """
    if target.absolute().resolve().is_relative_to(folder.root.resolve()):
        raise UsageError(f"{target} lies in the folder that is to be archived", hint="Name a file elsewhere.")
    if not target.absolute().parent.is_dir():
        raise NotFoundError(f"no folder {target.absolute().parent}")
    left_out: list[str] = []
    with atomic.streamed(target.absolute()) as file:
        # The level and an empty name and time keep equal folders equal.
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed, tarfile.open(
            fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT
        ) as tar:  # fmt: skip
            _write_members(tar, folder, with_log, left_out)
        file.flush()
        archive = verify(Path(file.name))
    return Archive(archive.user, archive.entries, archive.settings, archive.sha256, tuple(left_out))


def _write_members(tar: tarfile.TarFile, folder: UserFolder, with_log: bool, left_out: list[str]) -> None:
    listed = []
    for path in _files(folder, with_log, left_out):
        data = _content(folder.root / path)
        _add(tar, FOLDER + path, data)
        listed.append([path, len(data), hashlib.sha256(data).hexdigest()])
    settings = atomic.read(folder.root.parent / CONFIG_NAME)
    if settings is not None:
        _add(tar, CONFIG_NAME, settings)
    manifest: dict[str, Any] = {"format": FORMAT, "user": folder.name, "files": listed}
    if settings is not None:
        manifest["settings"] = [len(settings), hashlib.sha256(settings).hexdigest()]
    _add(tar, MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1).encode() + b"\n")


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), atomic.FILE_MODE
    tar.addfile(info, io.BytesIO(data))


def _content(path: Path) -> bytes:
    data = atomic.read(path)
    if data is None:
        raise InvalidDataError("was removed while it was archived", path=str(path), hint="Run the command again.")
    if len(data) > LARGEST_MEMBER:
        raise InvalidDataError(f"is larger than {LARGEST_MEMBER // MEGABYTE} MiB", path=str(path))
    return data


def _files(folder: UserFolder, with_log: bool, left_out: list[str]) -> list[str]:
    """Paths of the files that belong into an archive, in their order."""
    found = []
    for directory, names, files in os.walk(folder.root):
        place = Path(directory)
        linked = [name for name in names if (place / name).is_symlink()]
        names[:] = [name for name in names if name not in linked]
        for path in (place / name for name in (*linked, *files)):
            relative = path.relative_to(folder.root).as_posix()
            if is_left_out(relative) or (not with_log and path == folder.operations):
                continue
            if reason := _unfit(path, relative):
                left_out.append(f"{relative}: {reason}")
            else:
                found.append(relative)
    return sorted(found)


def _unfit(path: Path, relative: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in relative):
        return "its name is not valid UTF-8"
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    return "" if stat.S_ISREG(mode) else "is no regular file"


def is_left_out(path: str) -> bool:
    """Whether a file is derived, belongs to running processes, or to git: in no archive, and taken from none."""
    parts = path.split("/")
    private = parts[:2] == [".memctl", "cache"] or parts[:3] in (
        [".memctl", "state", "lock"],
        [".memctl", "state", "lock.turn"],
        [".memctl", "state", "locks"],
    )
    return private or any(p.lower() == ".git" or p.startswith(atomic.TEMPORARY_PREFIX) for p in parts)


# Reading


def verify(path: Path) -> Archive:
    """Read an archive to its end and check everything in it.

    Raises:
        NotFoundError: no such file.
        InvalidDataError: it is none, is damaged or cut off, or holds what no archive of memctl's holds.
        FormatVersionError: it was made by a newer memctl.
    """
    with _reading(path):
        found, kept = _taken_in(path)
        digest = _digest_of(path)
    if MANIFEST not in kept:
        raise _invalid(path, f"holds no {MANIFEST}: it is cut off, or no archive of memctl's")
    user, entries = _checked(_parsed(kept[MANIFEST], path), found, path)
    return Archive(user, entries, kept.get(CONFIG_NAME), digest)


def _taken_in(path: Path) -> tuple[dict[str, tuple[int, str]], dict[str, bytes]]:
    """Size and SHA-256 of each member; and the content of those beside the folder."""
    found: dict[str, tuple[int, str]] = {}
    kept: dict[str, bytes] = {}
    for name, size, chunks in _members(path):
        if name in (MANIFEST, CONFIG_NAME):
            kept[name] = b"".join(chunks)
            chunks = (kept[name],)
        else:
            _check_path(name, path)
        digest = hashlib.sha256()
        for chunk in chunks:
            digest.update(chunk)
        found[name] = size, digest.hexdigest()
    return found, kept


def _invalid(path: Path, reason: str) -> InvalidDataError:
    return InvalidDataError(reason, path=str(path), hint=_BROKEN)


def _digest_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_path(name: str, archive: Path) -> None:
    """Refuse a name that leads elsewhere, or to what memctl and git run."""
    relative = name.removeprefix(FOLDER)
    parts = relative.split("/")
    inside = name.startswith(FOLDER) and all(part not in ("", ".", "..") for part in parts)
    short = len(relative.encode()) <= _LONGEST_PATH and all(len(part.encode()) <= _LONGEST_NAME for part in parts)
    if not (inside and short) or "\0" in name or "\\" in name or is_left_out(relative):
        raise _invalid(archive, f"holds a file that no archive of memctl's holds: {name[:200]!r}")


def _parsed(manifest: bytes, path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(manifest)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _invalid(path, f"its {MANIFEST} cannot be read")
    if found.get("format") != FORMAT:
        form = str(found.get("format"))[:100]
        raise FormatVersionError(
            f"has format {form!r}, which this memctl does not know", path=str(path), hint="Upgrade memctl."
        )
    return found


def _checked(
    manifest: Mapping[str, Any], found: Mapping[str, tuple[int, str]], path: Path
) -> tuple[str, tuple[Entry, ...]]:
    """The user and the files, if the manifest lists exactly what was found."""
    try:
        user = layout.check_user_name(manifest["user"])
        entries = tuple(Entry(str(name), int(size), str(digest)) for name, size, digest in manifest["files"])
        listed = {FOLDER + entry.path: (entry.size, entry.sha256) for entry in entries}
        if "settings" in manifest:
            size, digest = manifest["settings"]
            listed[CONFIG_NAME] = int(size), str(digest)
    except (KeyError, TypeError, ValueError, UsageError):
        raise _invalid(path, f"its {MANIFEST} cannot be read") from None
    held = {name: value for name, value in found.items() if name != MANIFEST}
    for name in sorted(listed.keys() | held.keys()):
        if listed.get(name) != held.get(name):
            reason = "is missing" if name not in held else "is not listed" if name not in listed else "is damaged"
            raise _invalid(path, f"{name[:200]!r} in it {reason}")
    return user, entries


def _members(path: Path) -> Iterator[tuple[str, int, Iterable[bytes]]]:
    """Name, size and content of each member, in order. The content must be taken before the next is asked for."""
    with open(path, "rb") as raw, gzip.GzipFile(fileobj=raw) as packed:
        yield from _tar_members(_Bounded(packed, raw, path), path)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say in memctl's errors what is wrong with an archive that is being read."""
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError(f"no file {path}") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder; an archive is one file") from None
    except (gzip.BadGzipFile, zlib.error):
        raise _invalid(path, "is no archive, or is damaged") from None
    except EOFError:
        raise _invalid(path, "is cut off") from None
    except OSError as problem:
        raise StorageError(f"cannot read {path}: {problem.strerror}", hint="Check its permissions.") from None


class _Bounded:
    """What an archive unpacks to, read in order, with a limit."""

    def __init__(self, packed: gzip.GzipFile, raw: IO[bytes], path: Path) -> None:
        self._packed, self._raw, self._path, self._count = packed, raw, path, 0

    def exactly(self, size: int) -> bytes:
        """The next bytes; fewer only at the end."""
        parts, left = [], size
        while left and (part := self._packed.read(min(left, _CHUNK))):
            parts.append(part)
            left -= len(part)
            self._counted(len(part))
        return b"".join(parts)

    def chunks(self, size: int) -> Iterator[bytes]:
        while size:
            chunk = self.exactly(min(size, _CHUNK))
            if not chunk:
                raise EOFError
            size -= len(chunk)
            yield chunk

    def _counted(self, size: int) -> None:
        self._count += size
        expanded = self._count > EXPANSION_FROM and self._count > MOST_EXPANDED * max(self._raw.tell(), 1)
        if expanded or self._count > LARGEST_TOTAL:
            raise _invalid(self._path, "unpacks to far more than an archive of memctl's")


def _tar_members(source: _Bounded, path: Path) -> Iterator[tuple[str, int, Iterable[bytes]]]:
    """The regular files of a tar; anything else in it is refused. (tarfile would follow what a header says.)"""
    seen: set[str] = set()
    named = ""
    while (header := source.exactly(_BLOCK)) and header.strip(b"\0"):
        info = _header(header, path)
        if info.type == tarfile.XHDTYPE and not named:
            named = _long_name(_padded(source, info.size, _LARGEST_HEADER, path), path)
            continue
        name, named = named or info.name, ""
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.linkname:
            raise _invalid(path, f"{name[:200]!r} in it is no regular file")
        if name in seen or any(name.startswith(f"{other}/") for other in _parents(name) & seen):
            raise _invalid(path, f"{name[:200]!r} stands twice in it")
        seen.add(name)
        limit = LARGEST_MANIFEST if name in (MANIFEST, CONFIG_NAME) else LARGEST_MEMBER
        if len(seen) > MOST_MEMBERS or not 0 <= info.size <= limit:
            raise _invalid(path, f"{name[:200]!r} in it is too much")
        content = source.chunks(info.size)
        yield name, info.size, content
        for _ in content:
            pass
        source.exactly(-info.size % _BLOCK)
    while source.exactly(_CHUNK):  # to the end, where gzip keeps its checksum
        pass


def _parents(name: str) -> set[str]:
    parts = name.split("/")
    return {"/".join(parts[:end]) for end in range(1, len(parts))}


def _header(block: bytes, path: Path) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, ValueError):
        raise _invalid(path, "is no archive, or is damaged") from None


def _padded(source: _Bounded, size: int, limit: int, path: Path) -> bytes:
    if not 0 <= size <= limit:
        raise _invalid(path, "is no archive of memctl's: a header is too large")
    data = source.exactly(size)
    source.exactly(-size % _BLOCK)
    return data


def _long_name(header: bytes, path: Path) -> str:
    """The name in an extended header, which may hold nothing else (`26 path=folder/小林.md\\n`)."""
    length, _, rest = header.partition(b" ")
    key, _, value = rest.partition(b"=")
    try:
        if key == b"path" and int(length) == len(header) and value.endswith(b"\n"):
            return value[:-1].decode()
    except ValueError:
        pass
    raise _invalid(path, "is no archive of memctl's: a header says something unknown")


# Bringing back


def restore(path: Path, store: Path, user: str = "", *, with_settings: bool = False) -> tuple[UserFolder, Archive]:
    """Bring an archive back as a user of a store. Until all of it is there, nothing of it is.

    Args:
        user: under which name; the one in the archive otherwise.
        with_settings: also take the settings of the store it comes from; only where this store sets nothing itself.

    Raises:
        RefusedError: the user has something already, or the store has other settings.
        InvalidDataError: as `verify`.
    """
    archive = verify(path)
    folder = UserFolder(store / layout.check_user_name(user or archive.user))
    check_free(folder)
    settings = _settings(store, archive) if with_settings else None
    atomic.make_directory(store)
    clear_stages(store)
    with _stage(store) as stage:
        _unpack(path, archive, stage / "folder")
        _put_in_place(folder, stage)
    if settings is not None:
        atomic.replace(store / CONFIG_NAME, settings)
    return folder, archive


def check_free(folder: UserFolder) -> None:
    """Refuse to write over anything: an archive becomes a new user, or one that is still empty.

    Raises:
        RefusedError: there is something.
    """
    refusal = RefusedError(
        f"the user {folder.name} is there already, with files; an archive never writes over any",
        hint=f"Name another user with --user; or move {folder.root} away first.",
    )
    if folder.root.is_symlink() or (folder.root.exists() and not folder.root.is_dir()):
        raise refusal
    for directory, _, files in os.walk(folder.root):
        for name in files:
            path = Path(directory) / name
            relative = path.relative_to(folder.root).as_posix()
            if relative != document.FILE_NAME and not _is_trivial(relative):
                raise refusal
    data = atomic.read(folder.memory_file)
    if data is not None and not _holds_nothing(data):
        raise refusal


def _is_trivial(path: str) -> bool:
    """Whether a file says nothing: made by `init`, or by a command that found nothing."""
    return path in (".gitignore", ".gitattributes", ".memctl/.gitignore") or (
        is_left_out(path) and ".git" not in path.split("/")
    )


def _holds_nothing(data: bytes) -> bool:
    try:
        parsed = document.parse(data)
    except MemctlError:
        return False
    return not parsed.records and not any(parsed.header.get(name) for name in ("tombstones", "conflicts"))


def _settings(store: Path, archive: Archive) -> bytes | None:
    present = atomic.read(store / CONFIG_NAME)
    if archive.settings is None or present == archive.settings:
        return None
    lines = (present or b"").decode("utf-8", "replace").splitlines()
    if any(line.strip() and not line.lstrip().startswith("#") for line in lines):
        raise RefusedError(
            f"{store / CONFIG_NAME} has settings of its own; nothing was written",
            hint="Leave --with-settings out, and compare the two by hand: `tar -xzOf ARCHIVE memctl.yaml`.",
        )
    return archive.settings


@contextmanager
def _stage(store: Path) -> Iterator[Path]:
    """A folder beside the users to unpack into; held by a lock, so that what a killed import left can be told."""
    stage = store / (_STAGE + secrets.token_hex(6))
    try:
        atomic.make_directory(stage)
        handle = os.open(stage, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield stage
        finally:
            os.close(handle)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def clear_stages(store: Path) -> None:
    """Remove what killed imports left behind."""
    for stage in store.glob(f"{_STAGE}*"):
        handle = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(stage, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(handle)


def _unpack(path: Path, archive: Archive, target: Path) -> None:
    """Write what was verified; the file is read again, and must be the same."""
    wanted = {FOLDER + entry.path: entry for entry in archive.entries}
    with _reading(path):
        for name, _, chunks in _members(path):
            data = b"".join(chunks)
            entry = wanted.pop(name, None)
            if entry is not None and hashlib.sha256(data).hexdigest() == entry.sha256:
                atomic.write_new(target / entry.path, data)
            elif name not in (MANIFEST, CONFIG_NAME):
                raise _invalid(path, "was changed while it was read")
    if wanted:
        raise _invalid(path, "was changed while it was read")
    made = UserFolder(target)
    for directory in (made.root, made.reflections, made.state, made.cache):
        atomic.make_directory(directory)
    layout.ensure_private(made)
    _sync_directories(target)


def _sync_directories(root: Path) -> None:
    for directory, _, _ in os.walk(root):
        with atomic.told(Path(directory)):
            atomic.fsync_directory(Path(directory))


def _put_in_place(folder: UserFolder, stage: Path) -> None:
    """Make the unpacked folder the user's. An empty one that is there is moved aside, and deleted with the stage."""
    if not folder.root.exists():
        atomic.move_directory(stage / "folder", folder.root)
        return
    with lock.exclusive(folder.lock, timeout=1):
        check_free(folder)
        atomic.move_directory(folder.root, stage / "before")
        try:
            atomic.move_directory(stage / "folder", folder.root)
        except BaseException:
            with atomic.told(folder.root):
                (stage / "before").rename(folder.root)
            raise

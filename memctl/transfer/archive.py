"""A user's whole folder as one file, byte for byte: written and verified.

An archive is a tar in gzip. `folder/…` holds the user's files, `memctl.yaml` the store's settings, and `MANIFEST.json`,
which comes last, the size and SHA-256 of each. Names stand in their order and times are 0, so equal folders make equal
archives. `restoring` brings them back.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from memctl import distribution
from memctl.core.names import check_user_name
from memctl.errors import FormatVersionError, InvalidDataError, NotFoundError, UsageError
from memctl.storage.files import atomic
from memctl.storage.files.layout import CONFIG_NAME, UserFolder
from memctl.transfer.archive_members import LARGEST_MEMBER, MANIFEST, MEGABYTE, invalid, members, reading

FORMAT = "memctl-archive/1"
FOLDER = "folder/"

_LONGEST_PATH, _LONGEST_NAME = 2_000, 255


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
    fit = []
    for directory, names, files in os.walk(folder.root):
        linked = [name for name in names if Path(directory, name).is_symlink()]
        for path in (Path(directory, name) for name in (*linked, *files)):
            relative = path.relative_to(folder.root).as_posix()
            if is_left_out(relative) or (not with_log and path == folder.operations):
                continue
            if reason := _unfit(path, relative):
                left_out.append(f"{relative}: {reason}")
            else:
                fit.append(relative)
    return sorted(fit)


def _unfit(path: Path, relative: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in relative):
        return "its name is not valid UTF-8"
    if is_left_out(_folded(relative)):
        return "its name is one of memctl's or git's on other systems"
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    return "" if stat.S_ISREG(mode) else "is no regular file"


def is_left_out(path: str) -> bool:
    """Whether a file is derived, belongs to running processes, or to git: in no archive, and taken from none."""
    parts = path.split("/")
    private = parts[:2] == [".memctl", "cache"] or parts[:3] in (
        [".memctl", "state", "id"],  # it makes a folder this machine's own
        [".memctl", "state", "lock"],
        [".memctl", "state", "lock.turn"],
        [".memctl", "state", "locks"],
        [".memctl", "state", "transcripts-in-git"],  # what a user of another machine decided
    )
    return private or any(p.lower() == ".git" or p.startswith(atomic.TEMPORARY_PREFIX) for p in parts)


def _folded(path: str) -> str:
    """A path as macOS compares it, to which `.MEMCTL` is `.memctl`, and a joiner in `.git` is not there."""
    return "".join(c for c in path.lower() if unicodedata.category(c) != "Cf")


# Reading


def verify(path: Path) -> Archive:
    """Read an archive to its end and check everything in it.

    Raises:
        NotFoundError: no such file.
        InvalidDataError: it is none, is damaged or cut off, or holds what no archive of memctl's holds.
        FormatVersionError: it was made by a newer memctl.
    """
    with reading(path):
        held, beside = _taken_in(path)
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    if MANIFEST not in beside:
        raise invalid(path, f"holds no {MANIFEST}: it is cut off, or no archive of memctl's")
    user, entries = _checked(_parsed(beside[MANIFEST], path), held, path)
    return Archive(user, entries, beside.get(CONFIG_NAME), digest)


def _taken_in(path: Path) -> tuple[dict[str, tuple[int, str]], dict[str, bytes]]:
    """Size and SHA-256 of each member but the manifest; and the content of those beside the folder."""
    held: dict[str, tuple[int, str]] = {}
    beside: dict[str, bytes] = {}
    for name, size, chunks in members(path):
        if name in (MANIFEST, CONFIG_NAME):
            beside[name] = b"".join(chunks)
            chunks = (beside[name],)
        else:
            _check_path(name, path)
        digest = hashlib.sha256()
        for chunk in chunks:
            digest.update(chunk)
        held[name] = size, digest.hexdigest()
    for file, next_one in pairwise(sorted(held, key=lambda name: name.replace("/", "\0"))):
        if next_one.startswith(f"{file}/"):
            raise invalid(path, f"{file[:200]!r} in it is a file and a folder")
    _check_no_repository([_folded(name) for name in held], path)
    held.pop(MANIFEST, None)
    return held, beside


def _check_no_repository(names: Sequence[str], archive: Path) -> None:
    """Refuse files that git would take for a repository, and whose settings it would follow."""
    files = set(names)
    folders = {parent.as_posix() for name in names for parent in PurePosixPath(name).parents}
    for place in (name.removesuffix("/head") for name in files if name.endswith("/head")):
        if f"{place}/commondir" in files or {f"{place}/objects", f"{place}/refs"} <= folders:
            raise invalid(archive, f"{place[:200]!r} in it is a git repository")


def _check_path(name: str, archive: Path) -> None:
    """Refuse a name that leads elsewhere, or to what memctl and git run."""
    relative = name.removeprefix(FOLDER)
    parts = relative.split("/")
    inside = name.startswith(FOLDER) and all(part not in ("", ".", "..") for part in parts)
    short = len(relative.encode()) <= _LONGEST_PATH and all(len(part.encode()) <= _LONGEST_NAME for part in parts)
    if not (inside and short) or "\0" in name or "\\" in name or is_left_out(_folded(relative)):
        raise invalid(archive, f"holds a file that no archive of memctl's holds: {name[:200]!r}")


def _parsed(manifest: bytes, path: Path) -> Mapping[str, Any]:
    try:
        parsed = json.loads(manifest)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise invalid(path, f"its {MANIFEST} cannot be read")
    if (form := parsed.get("format")) != FORMAT:
        reason = f"has format {str(form)[:100]!r}, which this memctl does not know"
        raise FormatVersionError(reason, path=str(path), hint=distribution.UPGRADE)
    return parsed


def _checked(
    manifest: Mapping[str, Any], held: Mapping[str, tuple[int, str]], path: Path
) -> tuple[str, tuple[Entry, ...]]:
    """The user and the files, if the manifest lists exactly what the archive holds."""
    try:
        user = check_user_name(manifest["user"])
        entries = tuple(Entry(str(name), _size(size), str(digest)) for name, size, digest in manifest["files"])
        listed = {FOLDER + entry.path: (entry.size, entry.sha256) for entry in entries}
        if "settings" in manifest:
            size, digest = manifest["settings"]
            listed[CONFIG_NAME] = _size(size), str(digest)
    except (KeyError, TypeError, ValueError, UsageError):
        raise invalid(path, f"its {MANIFEST} cannot be read") from None
    for name in sorted(listed.keys() | held.keys()):
        if listed.get(name) != held.get(name):
            reason = "is missing" if name not in held else "is not listed" if name not in listed else "is damaged"
            raise invalid(path, f"{name[:200]!r} in it {reason}")
    return user, entries


def _size(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value

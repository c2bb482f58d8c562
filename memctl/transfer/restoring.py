"""Bringing an archive back as a user of a store: all at once or not at all.

An archive may come from anybody: nothing in it is written before everything in it was checked.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memctl.core.formats import document
from memctl.core.names import check_user_name
from memctl.errors import MemctlError, RefusedError
from memctl.storage.files import atomic, layout, lock, transcripts
from memctl.storage.files.layout import CONFIG_NAME, UserFolder
from memctl.transfer.archive import FOLDER, Archive, is_left_out, verify
from memctl.transfer.archive_members import MANIFEST, invalid, members, reading

_STAGE = f"{atomic.TEMPORARY_PREFIX}import-"


def restore(path: Path, store: Path, user: str = "", *, with_settings: bool = False) -> tuple[UserFolder, Archive]:
    """Bring an archive back as a user of a store. Until all of it is there, nothing of it is.

    Args:
        user: under which name; the one in the archive otherwise.
        with_settings: also take the settings of the store it comes from; only where this store sets nothing itself.

    Raises:
        RefusedError: the user has something already, or the store has other settings.
        InvalidDataError: as `archive.verify`.
    """
    archive = verify(path)
    folder = UserFolder(store / check_user_name(user or archive.user))
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
        with atomic.writing(stage):
            handle = os.open(stage, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with atomic.writing(stage):
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield stage
        finally:
            os.close(handle)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def clear_stages(store: Path) -> None:
    """Remove what killed imports left behind."""
    for stage in store.glob(f"{_STAGE}*"):
        try:
            handle = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # no folder, or gone since: no import made it
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(stage, ignore_errors=True)
        except OSError:  # somebody's import is at work, or it cannot be known
            continue
        finally:
            os.close(handle)


def _unpack(path: Path, archive: Archive, target: Path) -> None:
    """Write what was verified; the file is read again, and must be the same."""
    wanted = {FOLDER + entry.path: entry for entry in archive.entries}
    changed = invalid(path, "was changed while it was read")
    with reading(path):
        for name, _, chunks in members(path):
            data = b"".join(chunks)
            entry = wanted.pop(name, None)
            if entry is not None and hashlib.sha256(data).hexdigest() == entry.sha256:
                atomic.write_new(target / entry.path, data)
            elif name not in (MANIFEST, CONFIG_NAME):
                raise changed
    if wanted:
        raise changed
    made = UserFolder(target)
    for directory in (made.root, made.reflections, made.state, made.cache):
        atomic.make_directory(directory)
    layout.ensure_private(made)
    if made.transcripts.is_dir():
        transcripts.ensure_private(made)
    if (displaced := made.displaced / made.memory_file.name).exists():
        with atomic.writing(displaced):  # its new times must not look as if somebody had written into it meanwhile
            os.utime(displaced, (0, 0))
    _sync_directories(target)


def _sync_directories(root: Path) -> None:
    for directory, _, _ in os.walk(root):
        with atomic.writing(Path(directory)):
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
            with atomic.writing(folder.root):
                (stage / "before").rename(folder.root)
            raise

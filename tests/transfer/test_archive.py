"""Backups: what an archive holds, that it comes back byte for byte or not at all, and that a hostile one does nothing."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import random
import shutil
import stat
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from conftest import cases, same_as_rebuilt
from hypothesis import given
from hypothesis import strategies as st

from memctl import MemoryStore, open_store
from memctl.doctor import codes
from memctl.doctor.examining import examine
from memctl.errors import InvalidDataError, MemctlError, NotFoundError, RefusedError, StorageError, UsageError
from memctl.storage.files import atomic
from memctl.storage.files.layout import UserFolder
from memctl.transfer import archive, restoring


def tree(root: Path) -> dict[str, bytes]:
    """Every file that belongs into an archive, by its path."""
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in found.items()
        if not archive.is_left_out(name) and name != ".memctl/.gitignore" and not path.is_symlink()
    }


def written(root: Path, name: str, data: bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


# Round trips

NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0\\", exclude_categories=("Cs",)), min_size=1, max_size=60
)
PLACES = st.sampled_from(
    [
        "",
        "reflections/",
        "knowledge/",
        "knowledge/a/b/",
        "sessions/",
        "sessions/pending/",
        ".memctl/state/trash/",
        "own/",
    ]
)
FILES = st.dictionaries(st.tuples(PLACES, NAMES), st.binary(max_size=2000), max_size=8)


def placeable(place: str, name: str) -> bool:
    whole = place + name
    first = name in ("memory.json", "reflections", "knowledge", "sessions", "own", ".memctl", "pending", "a", "b")
    return name not in (".", "..") and len(name.encode()) < 200 and not first and not archive.is_left_out(whole)


@given(files=FILES, log=st.booleans())
@cases(40)
def test_a_folder_comes_back_byte_for_byte(tmp_path_factory: pytest.TempPathFactory, files, log) -> None:
    root = tmp_path_factory.mktemp("archive")
    with open_store(root / "store", "alice", create=True) as store:
        store.add("Alice prefers tea", category="preference")
        store.add("Clara keeps bees", detail="# Bees\r\n\r\nTwo hives.\r\n")
        for (place, name), data in files.items():
            if placeable(place, name):
                written(store.folder.root, place + name, data)
        before = tree(store.folder.root)
        store.export_archive(root / "a.memctl", with_log=log)
        store.export_archive(root / "b.memctl", with_log=log)
    assert (root / "a.memctl").read_bytes() == (root / "b.memctl").read_bytes(), "equal folders make equal archives"

    folder, _ = restoring.restore(root / "a.memctl", root / "new")

    wanted = {name: data for name, data in before.items() if log or name != ".memctl/state/operations.jsonl"}
    assert tree(folder.root) == wanted
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.root.rglob("*") if path.is_file()} == {0o600}
    assert not list((root / "new").glob(".memctl-tmp-*"))


@pytest.mark.parametrize("log", [False, True])
def test_what_comes_back_is_no_hand_edit(log: bool, store: MemoryStore, tmp_path: Path) -> None:
    store.add("Alice prefers tea")
    store.add("Alice prefers jam")
    store.export_archive(tmp_path / "a.memctl", with_log=log)
    restoring.restore(tmp_path / "a.memctl", tmp_path / "new")
    with open_store(tmp_path / "new", "alice", environment={}) as back:
        back.add("Alice prefers milk")
        assert {problem.code for problem in examine(back)} == ({codes.FOREIGN} if log else set())
        back.local_state.adopt()
        assert examine(back) == []
        assert (back.undo().command, len(back.all())) == ("add", 2)
        assert len(back.history.undo(2).done) == (2 if log else 0)


def test_hand_edits_unknown_fields_and_broken_files_come_back(store: MemoryStore, tmp_path: Path) -> None:
    memory = store.add("Alice prefers tea").memory
    text = store.folder.memory_file.read_text("utf-8").replace('"content"', '"mood": {"x": [1.50]},\n      "content"')
    store.folder.memory_file.write_bytes(text.replace("\n", "\r\n").encode())
    written(store.folder.root, "reflections/broken.md", b"---\nno: [end\n---\n\xff\xfe")
    written(store.folder.root, "sessions/pending/evt_1.json", b"{}")
    before = tree(store.folder.root)
    store.export_archive(tmp_path / "a.memctl")

    folder, held = restoring.restore(tmp_path / "a.memctl", tmp_path / "new", "bob")

    assert folder.name == "bob"
    assert held.user == "alice"
    assert tree(folder.root) == {name: data for name, data in before.items() if not name.endswith("operations.jsonl")}
    with open_store(tmp_path / "new", "bob") as back:
        assert back.get(memory.memory_id).extra == {"mood": {"x": [1.5]}}
        same_as_rebuilt(back)


def test_the_log_comes_along_when_wanted(store: MemoryStore, tmp_path: Path) -> None:
    store.add("Alice prefers tea")
    store.export_archive(tmp_path / "a.memctl", with_log=True)
    restoring.restore(tmp_path / "a.memctl", tmp_path / "new")

    with open_store(tmp_path / "new", "alice") as back:
        with pytest.raises(NotFoundError):
            back.undo()
        back.local_state.adopt()
        back.undo()
        assert list(back.all()) == []


def test_what_cannot_be_in_an_archive_is_told(store: MemoryStore, tmp_path: Path) -> None:
    root = store.folder.root
    (root / "knowledge").mkdir()
    (root / "knowledge" / "link.md").symlink_to(tmp_path)
    os.mkfifo(root / "knowledge" / "pipe.md")
    with open(os.fsencode(root / "knowledge") + b"/\xff.md", "wb"):
        pass
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("x")
    done = store.export_archive(tmp_path / "a.memctl")

    assert sorted(text.partition(": ")[2] for text in done.left_out) == [
        "is a symbolic link", "is not a regular file", "its name is not valid UTF-8"
    ]  # fmt: skip
    assert [entry.path for entry in done.entries] == [".memctl/.gitignore", "memory.json"]


def test_an_archive_is_written_whole_or_not_at_all(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "a.memctl").write_bytes(b"earlier")
    with pytest.raises(UsageError):
        store.export_archive(store.folder.root / "a.memctl")
    with pytest.raises(NotFoundError):
        store.export_archive(tmp_path / "nowhere" / "a.memctl")
    (store.folder.root / "memory.json").unlink()
    (store.folder.root / "memory.json").mkdir()
    (store.folder.root / "notes").write_bytes(b"x")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "LARGEST_MEMBER", 0)
        with pytest.raises(InvalidDataError):
            store.export_archive(tmp_path / "a.memctl")

    assert (tmp_path / "a.memctl").read_bytes() == b"earlier"
    assert not list(tmp_path.glob(".memctl-tmp-*"))


# Bringing back


@pytest.fixture
def backup(store: MemoryStore, tmp_path: Path) -> Path:
    """An archive of a small folder."""
    store.add("Alice prefers tea", detail="# Tea")
    (store.folder.root.parent / "memctl.yaml").write_text("query_top: 3\n")
    store.export_archive(tmp_path / "a.memctl")
    return tmp_path / "a.memctl"


def test_nothing_is_written_over(backup: Path, tmp_path: Path) -> None:
    with open_store(tmp_path / "new", "alice", create=True) as there:
        there.add("Bob was here")
        before = tree(there.folder.root)
        with pytest.raises(RefusedError, match="never overwrites"):
            restoring.restore(backup, tmp_path / "new")
        assert tree(there.folder.root) == before
    folder, _ = restoring.restore(backup, tmp_path / "new", "alice2")
    assert folder.name == "alice2"


@pytest.mark.parametrize("name", ["notes.txt", "reflections/a.md", ".memctl/state/trash/x.json", ".git/config"])
def test_any_file_of_a_user_is_in_the_way(backup: Path, tmp_path: Path, name: str) -> None:
    with open_store(tmp_path / "new", "alice", create=True) as there:
        written(there.folder.root, name, b"x")
    with pytest.raises(RefusedError):
        restoring.restore(backup, tmp_path / "new")


def test_an_empty_user_is_filled(backup: Path, tmp_path: Path) -> None:
    open_store(tmp_path / "new", "alice", create=True).close()
    restoring.restore(backup, tmp_path / "new")
    with open_store(tmp_path / "new", "alice") as back:
        assert [memory.content for memory in back.all()] == ["Alice prefers tea"]
        same_as_rebuilt(back)


def test_settings_are_taken_only_when_asked_for(backup: Path, tmp_path: Path) -> None:
    restoring.restore(backup, tmp_path / "one")
    assert not (tmp_path / "one" / "memctl.yaml").exists()
    restoring.restore(backup, tmp_path / "two", with_settings=True)
    assert (tmp_path / "two" / "memctl.yaml").read_text() == "query_top: 3\n"
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "memctl.yaml").write_text("query_top: 4\n")
    with pytest.raises(RefusedError, match="its own settings"):
        restoring.restore(backup, tmp_path / "three", with_settings=True)
    assert not (tmp_path / "three" / "alice").exists()


@pytest.mark.parametrize("empty", [False, True])
def test_all_or_nothing_when_a_write_fails(backup: Path, tmp_path: Path, empty: bool) -> None:
    """Each write and each rename fails in turn; the store is as it was."""
    new = tmp_path / "new"
    new.mkdir()
    if empty:
        open_store(new, "alice", create=True).close()
    before = tree(new / "alice")
    for name in ("write_all", "fsync_directory", "move_directory"):
        real, failed = getattr(atomic, name), 0
        while True:
            calls = 0

            def failing(*given, real=real, name=name, upto=failed):
                nonlocal calls
                calls += 1
                if calls == upto + 1:
                    raise OSError(28, "No space left on device") if name != "move_directory" else StorageError("no")
                return real(*given)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(atomic, name, failing)
                try:
                    restoring.restore(backup, new)
                except (MemctlError, OSError):
                    assert not list(new.glob(".memctl-tmp-*"))
                    if not (new / "alice").exists() or tree(new / "alice") == before:
                        failed += 1
                        continue
                    # The rename was done and only its sync failed: then all of it is there.
                assert (new / "alice" / "memory.json").read_bytes().count(b"Alice prefers tea") == 1
            assert failed > 0
            break
        shutil.rmtree(new / "alice")
        if empty:
            open_store(new, "alice", create=True).close()


def test_what_only_looks_like_a_killed_import_is_in_nobodys_way(backup: Path, tmp_path: Path) -> None:
    store = tmp_path / "other"
    store.mkdir()
    (store / ".memctl-tmp-import-file").write_text("mine")
    (store / ".memctl-tmp-import-link").symlink_to(tmp_path)
    restoring.restore(backup, store)
    assert (store / ".memctl-tmp-import-file").read_text() == "mine"


def test_what_a_killed_import_left_is_removed(backup: Path, tmp_path: Path) -> None:
    left = tmp_path / "new" / ".memctl-tmp-import-0123456789ab"
    written(left, "folder/memory.json", b"half")
    restoring.restore(backup, tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["alice"]


# Hostile archives


def packed(members: list[tuple[tarfile.TarInfo, bytes]], manifest: object = None) -> bytes:
    """An archive as somebody might forge it; its manifest is right unless given."""
    files = [[info.name.removeprefix("folder/"), len(data), hashlib.sha256(data).hexdigest()] for info, data in members]
    forged = {"format": archive.FORMAT, "user": "alice", "files": files} if manifest is None else manifest
    text = json.dumps(forged).encode()
    last = tarfile.TarInfo("MANIFEST.json")
    last.size = len(text)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in [*members, (last, text)]:
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


def member(name: str, data: bytes = b"x", **more: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in more.items():
        setattr(info, field, value)
    return info, data


GOOD = member("folder/memory.json", b'{"format": "memctl/1", "user_id": "alice", "memories": []}')

HOSTILE: Mapping[str, bytes | Callable[[], bytes]] = {
    "a path out": packed([GOOD, member("folder/../../evil")]),
    "an absolute path": packed([GOOD, member("/etc/evil")]),
    "an absolute path inside": packed([GOOD, member("folder//etc/evil")]),
    "a path beside": packed([GOOD, member("evil")]),
    "a backslash": packed([GOOD, member("folder/..\\evil")]),
    "a hook of git": packed([GOOD, member("folder/.git/hooks/post-checkout")]),
    "a hook of git, in capitals": packed([GOOD, member("folder/x/.GIT/config")]),
    "a repository": packed([GOOD, *(member(f"folder/{name}") for name in ("HEAD", "config", "objects/a", "refs/heads/main"))]),
    "a repository below": packed([GOOD, *(member(f"folder/knowledge/{name}") for name in ("Head", "objects/a", "REFS/a"))]),
    "a repository that shares": packed([GOOD, member("folder/x/HEAD"), member("folder/x/commondir")]),
    "an index": packed([GOOD, member("folder/.memctl/cache/index.sqlite")]),
    "a lock": packed([GOOD, member("folder/.memctl/state/lock")]),
    "a name twice": packed([GOOD, GOOD]),
    "a file as a folder": packed([member("folder/a"), member("folder/a/b")]),
    "a folder as a file": packed([GOOD, member("folder/a/b"), member("folder/a.b"), member("folder/a")]),
    "a hook of git, with a joiner": packed([GOOD, member("folder/.g\u200cit/hooks/post-checkout")]),
    "an index, in capitals": packed([GOOD, member("folder/.MEMCTL/Cache/index.sqlite")]),
    "a size without end": packed([GOOD], {"format": archive.FORMAT, "user": "alice", "files": [["memory.json", float("inf"), "0" * 64]]}),
    "a size in a text": packed([GOOD], {"format": archive.FORMAT, "user": "alice", "files": [["memory.json", "57", "0" * 64]]}),
    "a symbolic link": packed([GOOD, member("folder/l", b"", type=tarfile.SYMTYPE, linkname="/etc")]),
    "a hard link": packed([GOOD, member("folder/l", b"", type=tarfile.LNKTYPE, linkname="folder/memory.json")]),
    "a device": packed([GOOD, member("folder/d", b"", type=tarfile.CHRTYPE)]),
    "a pipe": packed([GOOD, member("folder/d", b"", type=tarfile.FIFOTYPE)]),
    "a folder": packed([GOOD, member("folder/d", b"", type=tarfile.DIRTYPE)]),
    "a sparse file": packed([GOOD, member("folder/d", b"", type=tarfile.GNUTYPE_SPARSE)]),
    "a long name": packed([GOOD, member("folder/" + "x" * 300)]),
    "a deep path": packed([GOOD, member("folder/" + "x/" * 1500 + "y")]),
    "an extended header with more": packed([GOOD, member("folder/x", pax_headers={"GNU.sparse.size": "9"})]),
    "a wrong checksum": packed([GOOD], {"format": archive.FORMAT, "user": "alice", "files": [["memory.json", len(GOOD[1]), "0" * 64]]}),
    "a file that is not listed": packed([GOOD], {"format": archive.FORMAT, "user": "alice", "files": []}),
    "a file that is missing": packed([], {"format": archive.FORMAT, "user": "alice", "files": [["a", 1, "0" * 64]]}),
    "a user that is a path": packed([GOOD], {"format": archive.FORMAT, "user": "../x", "files": []}),
    "a newer format": packed([GOOD], {"format": "memctl-archive/2", "user": "alice", "files": []}),
    "a manifest that is a list": packed([GOOD], []),
    "a manifest of nonsense": packed([GOOD], {"format": archive.FORMAT, "user": 3, "files": [[]]}),
    "no manifest": gzip.compress(b"\0" * 1024),
    "no archive": b"PK\3\4 something else",
    "nothing": b"",
    "a zip bomb": lambda: gzip.compress(b"\0" * (300 * 1024 * 1024), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_writes_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / "evil.memctl"
    hostile = HOSTILE[name]
    path.write_bytes(hostile if isinstance(hostile, bytes) else hostile())
    (tmp_path / "store").mkdir()
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(InvalidDataError):
        restoring.restore(path, tmp_path / "store")
    assert sorted(tmp_path.rglob("*")) == before


def test_verifying_alone_notices_a_wrong_checksum(tmp_path: Path) -> None:
    """And the last words of gzip's own, behind everything that the manifest lists."""
    for name in ("a wrong checksum", "a file that is not listed", "a file that is missing"):
        (tmp_path / "evil.memctl").write_bytes(HOSTILE[name])
        with pytest.raises(InvalidDataError, match=r"is damaged|is not listed|is missing"):
            archive.verify(tmp_path / "evil.memctl")
    good = packed([GOOD])
    for at in range(1, 9):
        spoilt = bytearray(good)
        spoilt[-at] ^= 1
        (tmp_path / "evil.memctl").write_bytes(spoilt)
        with pytest.raises(InvalidDataError):
            archive.verify(tmp_path / "evil.memctl")


def test_a_bomb_is_not_unpacked_to_its_end(tmp_path: Path) -> None:
    """What is packed as tightly as nothing that people write is let be, long before the sizes it may have."""
    (tmp_path / "evil.memctl").write_bytes(gzip.compress(bytes(96 * 1024 * 1024), 9))
    with pytest.raises(InvalidDataError, match="expands to far more"):
        archive.verify(tmp_path / "evil.memctl")


def test_an_archive_that_changes_while_it_is_read(tmp_path: Path) -> None:
    """What was verified is what is written: the file is looked at again, byte for byte."""
    path = tmp_path / "a.memctl"
    path.write_bytes(packed([GOOD]))
    verified = archive.verify(path)
    path.write_bytes(packed([member(GOOD[0].name, GOOD[1].replace(b"alice", b"mallo"))]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restoring, "verify", lambda path: verified)
        with pytest.raises(InvalidDataError, match="was changed while it was being read"):
            restoring.restore(path, tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []


def test_a_forged_archive_is_refused_for_what_is_wrong_with_it_alone(tmp_path: Path) -> None:
    (tmp_path / "good.memctl").write_bytes(packed([GOOD]))
    assert archive.verify(tmp_path / "good.memctl").user == "alice"


@given(data=st.data())
@cases(150)
def test_a_damaged_archive_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any byte changed, any end cut off; but for bits that gzip does not use, and then nothing else is read."""
    root = tmp_path_factory.mktemp("damaged")
    whole = packed([GOOD, member("folder/reflections/小林.md", random.Random(1).randbytes(3000))])
    at = data.draw(st.integers(10, len(whole) - 1))  # before that stand times and names nobody reads
    cut = data.draw(st.booleans())
    damaged = whole[:at] if cut else whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    (root / "a").write_bytes(damaged)
    try:
        held = archive.verify(root / "a")
    except InvalidDataError:
        return
    (root / "whole").write_bytes(whole)
    assert not cut
    assert held.entries == archive.verify(root / "whole").entries


@given(junk=st.binary(max_size=3000))
@cases(100)
def test_any_tar_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, junk: bytes) -> None:
    path = tmp_path_factory.mktemp("junk") / "a"
    path.write_bytes(gzip.compress(junk))
    with pytest.raises(InvalidDataError):
        archive.verify(path)


def test_the_folder_of_an_archive_is_never_followed_through_a_link(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "new" / "alice").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError):
        restoring.check_free(UserFolder(tmp_path / "new" / "alice"))
    with pytest.raises(RefusedError):
        restoring.restore(backup, tmp_path / "new")
    assert list((tmp_path / "elsewhere").iterdir()) == []

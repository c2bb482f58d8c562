"""A model of a disk behind a cache that loses its power: what of a trace (shim.c) may be found afterwards.

What it allows is more than any usual file system does:

- Bytes that were not synced may be there, not be there, be there up to any sector, or be there with sectors before them
  missing; each write by itself. A file that was made and never synced may be empty.
- Names that were made, changed or taken away, and whose directory was not synced since, may be as before or as after,
  each by itself and in any order. A file that was synced, in a directory that was not, may have no name.
- A rename or a swap within one directory is one change. One between two directories is two.
- What is mapped into memory (SQLite's `-shm`) may hold anything.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512

Names = dict[str, "Node | None"]
Snapshot = dict[str, tuple[int, bytes | None]]
"""Inode and bytes by path, no bytes for a folder."""


@dataclass
class Node:
    """A file or a directory, as it is for who looks at it now, and as it is on the disk.

    Attributes:
        pending: changes of the bytes since the last sync: where, and what; None for a cut at that place.
        unsynced: changes of names since the last sync.
    """

    inode: int
    directory: bool = False
    now: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    names: dict[str, Node] = field(default_factory=dict)
    durable_names: dict[str, Node] = field(default_factory=dict)
    unsynced: list[Names] = field(default_factory=list)

    def change(self, offset: int, data: bytes | None) -> None:
        _applied(self.now, offset, data)
        self.pending.append((offset, data))

    def rename(self, changes: Names) -> None:
        _renamed(self.names, changes)
        self.unsynced.append(changes)

    def sync(self) -> None:
        self.durable, self.pending = bytes(self.now), []
        self.durable_names, self.unsynced = dict(self.names), []


def _applied(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
    end = offset + len(data or b"")
    content.extend(bytes(max(0, end - len(content))))
    content[offset:end] = data or b""


def _renamed(names: dict[str, Node], changes: Names) -> None:
    for name, node in changes.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


@dataclass(frozen=True)
class Event:
    """A line of the trace."""

    what: str
    inode: int
    offset: int
    one: str
    two: str
    data: bytes


def events(trace: bytes) -> Iterator[Event]:
    """What was done, in order."""
    at = 0
    while at < len(trace):
        end = trace.index(b"\n", at)
        what, inode, offset, length, one, two = trace[at:end].decode().split("\t")
        size = int(length) if what == "write" else 0
        yield Event(what, int(inode), int(offset), one, two, trace[end + 1 : end + 1 + size])
        at = end + 1 + size


def snapshot(root: Path) -> Snapshot:
    """A folder as it is now."""
    found = {}
    for path in (root, *sorted(root.rglob("*"))):
        found[path.relative_to(root).as_posix()] = (path.stat().st_ino, None if path.is_dir() else path.read_bytes())
    return found


class Disk:
    """A folder on such a disk.

    Attributes:
        acknowledged: how many operations had returned.
    """

    def __init__(self, root: Path, snapshot: Snapshot) -> None:
        """A folder as a snapshot tells, all of it synced."""
        self.base = root
        self.inodes: dict[int, Node] = {}
        self.origins: dict[str, int] = {}
        self.acknowledged = 0
        for path, (inode, data) in sorted(snapshot.items()):
            self.inodes[inode] = node = Node(inode, data is None, bytearray(data or b""))
            if path == ".":
                self.root = node
            else:
                folder, name = self._folder(str(root / path))
                folder.names[name] = node
        for node in self.inodes.values():
            node.sync()

    def at(self, path: str) -> Node:
        """What a path names."""
        node = self.root
        for name in Path(path).relative_to(self.base).parts:
            node = node.names[name]
        return node

    def _folder(self, path: str) -> tuple[Node, str]:
        return self.at(str(Path(path).parent)), Path(path).name

    def take(self, event: Event) -> bool:
        """Follow the trace by one event; whether the disk may be another now."""
        act = ACTS.get(event.what)
        if act is not None:
            act(self, event)
        return act is not None

    def _create(self, event: Event) -> None:
        self.inodes[event.inode] = made = Node(event.inode, event.what == "mkdir")
        folder, name = self._folder(event.one)
        folder.rename({name: made})

    def _write(self, event: Event) -> None:
        self.inodes[event.inode].change(event.offset, event.data)

    def _truncate(self, event: Event) -> None:
        self.inodes[event.inode].change(event.offset, None)

    def _sync(self, event: Event) -> None:
        self.inodes[event.inode].sync()

    def _unlink(self, event: Event) -> None:
        folder, name = self._folder(event.one)
        folder.rename({name: None})

    def _link(self, event: Event) -> None:
        folder, name = self._folder(event.two)
        folder.rename({name: self.at(event.one)})

    def _rename(self, event: Event) -> None:
        (source, old), (target, new) = self._folder(event.one), self._folder(event.two)
        moved = source.names[old]
        other = target.names[new] if event.what == "exchange" else None
        if source is target:
            source.rename({old: other, new: moved})
        else:
            target.rename({new: moved})
            source.rename({old: other})

    def _mark(self, event: Event) -> None:
        self.acknowledged += event.one == "acknowledged"

    # After the cut

    def everything(self) -> dict[str, bytes | None]:
        """All that was done is there: what a kill leaves."""
        return self.answered(lambda node: bytes(node.now), lambda node: node.names)

    def nothing(self) -> dict[str, bytes | None]:
        """Only what was synced is there."""
        return self.answered(lambda node: node.durable, lambda node: node.durable_names)

    def something(self, dice: random.Random) -> dict[str, bytes | None]:
        """Any of what may be there: path and bytes, None for a folder."""
        chosen: dict[int, bytes] = {}

        def content(node: Node) -> bytes:
            return chosen.setdefault(id(node), _content(node, dice))

        return self.answered(content, lambda node: _names(node, dice))

    def answered(
        self, content: Callable[[Node], bytes], names: Callable[[Node], dict[str, Node]]
    ) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        self.origins = {}

        def visit(path: str, node: Node, depth: int) -> None:
            if depth > 30:
                return  # a folder that was moved below itself by halves
            found[path] = None if node.directory else content(node)
            self.origins[path] = node.inode
            for name, child in names(node).items() if node.directory else ():
                visit(f"{path}/{name}" if path else name, child, depth + 1)

        visit("", self.root, 0)
        del found[""]
        return found


ACTS: dict[str, Callable[[Disk, Event], None]] = {
    "create": Disk._create,
    "mkdir": Disk._create,
    "write": Disk._write,
    "truncate": Disk._truncate,
    "fsync": Disk._sync,
    "unlink": Disk._unlink,
    "link": Disk._link,
    "rename": Disk._rename,
    "exchange": Disk._rename,
    "mark": Disk._mark,
}


def _content(node: Node, dice: random.Random) -> bytes:
    """What is left of a file: all, nothing, a beginning, or some of the writes since it was synced."""
    how = dice.choice(("all", "none", "beginning", "some", "length"))
    if how == "all" or not node.pending:
        return bytes(node.now)
    found = bytearray(node.durable)
    if how == "length":  # the size reached the disk, the bytes did not
        found.extend(bytes(max(0, len(node.now) - len(found))))
    last = dice.randrange(len(node.pending) + 1)
    for number, (offset, data) in enumerate(node.pending):
        if (how == "beginning" and number < last) or (how == "some" and dice.random() < 0.5):
            _applied(found, offset, data)
        elif how == "beginning" and number == last and data is not None:
            end = (offset + dice.randrange(len(data) + 1)) // SECTOR * SECTOR
            _applied(found, offset, data[: max(0, end - offset)])
    return bytes(found)


def _names(node: Node, dice: random.Random) -> dict[str, Node]:
    found = dict(node.durable_names)
    share = dice.choice((0.0, 0.5, 0.9, 1.0))
    for changes in node.unsynced:
        if dice.random() < share:
            _renamed(found, changes)
    return found


def lay_out(found: dict[str, bytes | None], root: Path) -> None:
    """Make it a real folder."""
    root.mkdir()
    for path, data in found.items():
        if data is None:
            (root / path).mkdir()
        elif path.endswith("-shm"):
            (root / path).write_bytes(os.urandom(len(data)))
        else:
            (root / path).write_bytes(data)

"""Really forgetting: what goes with a memory, and what memctl cannot reach."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memctl.errors import MemctlError
from memctl.files import atomic, codec, reflections, sessions
from memctl.files.erase import Erasure
from memctl.files.layout import UserFolder
from memctl.index.stopwords import stop_terms
from memctl.index.text import terms
from memctl.models import Memory
from memctl.view import View

_LARGEST_SCANNED = 64 * 1024 * 1024


@dataclass(frozen=True)
class PurgeReport:
    """What a purge removed.

    Args:
        removed_from: places that were changed.
        also_removed: records and files that were made from the memories, and went with them.
        still_mentioned: files that hold words which stood only in them.
        git_advice: what git's history still holds, and how to remove it there.
    """

    ids: tuple[str, ...]
    removed_from: tuple[str, ...] = ()
    also_removed: tuple[str, ...] = ()
    still_mentioned: tuple[str, ...] = ()
    git_advice: tuple[str, ...] = ()


def planned(view: View, ids: Sequence[str], trashed: Iterable[Memory]) -> tuple[Erasure, list[Memory]]:
    """What has to go: the memories, the summaries made from them, and the reflections of both.

    Returns:
        the erasure, and the memories in it.
    """
    everything = {memory.memory_id: memory for memory in (*trashed, *view.all())}
    going = {memory_id: everything[memory_id] for memory_id in ids if memory_id in everything}
    while more := [m for m in everything.values() if m.memory_id not in going and set(m.sources) & going.keys()]:
        going |= {memory.memory_id: memory for memory in more}
    files = [path for path in _reflection_paths(view) if _belongs(view, path, going)]
    files += [m.summary_md_ref for m in going.values() if reflections.is_reference(m.summary_md_ref)]
    proposals = [path.removesuffix(".md") + ".proposed.md" for path in files]
    there = [path for path in dict.fromkeys((*files, *proposals)) if (view.folder.root / path).is_file()]
    there += _session_files(view, going)
    return Erasure((*dict.fromkeys((*ids, *going)),), tuple(there)), list(going.values())


def _session_files(view: View, going: Mapping[str, Memory]) -> list[str]:
    """Files of sessions, laid aside or queued, that name one of the memories or hold its text.

    Of the session a memory comes from, also those that hold a word which stood only in the memories that go: a summary
    repeats no sentence as a whole.

    Raises:
        StorageError: one of them cannot be looked at; nothing is purged before it can.
    """
    found = sessions.all_files(view.folder)
    if not found or not going:
        return []
    words = telling_words(going.values(), [m for m in view.all() if m.memory_id not in going], view.header)
    texts = {squashed for memory in going.values() if _tells(squashed := _squashed(memory.content))}
    own = {memory.session_id for memory in going.values()} - {""}
    root = view.folder.root
    return [str(path.relative_to(root)) for path in found if _holds(path, going, texts, own, words)]


def _tells(squashed: str) -> bool:
    """Whether a text is long enough to tell that a file holds it; else its id, or its session, must."""
    return len(squashed) >= (8 if squashed.isascii() else 4)


_ESCAPED = re.compile(r"\\[\\/\"bfnrt]")


def _holds(path: Path, going: Mapping[str, Memory], texts: set[str], own: set[str], words: set[str]) -> bool:
    text = (atomic.read(path) or b"").decode("utf-8", "replace")
    plain = _ESCAPED.sub(" ", text)
    squashed = _squashed(plain)
    named = any(memory_id in text for memory_id in going) or any(wanted in squashed for wanted in texts)
    mine = any(path.name.startswith(f"{i}.") or path.parent.name == f"{i}.d" for i in own)
    return named or (mine and bool(words & set(terms(plain))))


def _squashed(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def _reflection_paths(view: View) -> list[str]:
    root = view.folder.root
    return sorted(str(path.relative_to(root)) for path in view.folder.reflections.rglob("*.md"))


def _belongs(view: View, path: str, going: dict[str, Memory]) -> bool:
    """Whether a reflection's file names one of the memories, as its record or among its sources."""
    try:
        reflection = view.reflection(path)
    except MemctlError:
        data = atomic.read(view.folder.root / path) or b""
        return any(memory_id.encode() in data for memory_id in going)
    if reflection is None:
        return False
    sources = reflection.fields.get("sources")
    named = {reflection.memory_id, *(map(str, sources) if isinstance(sources, list) else ())}
    return bool(named & going.keys()) or any(memory_id in reflection.body for memory_id in going)


def telling_words(gone: Iterable[Memory], kept: Iterable[Memory], header: Mapping[str, object]) -> set[str]:
    """Terms that stood in the purged memories and stand in none that is kept, nor beside them in `memory.json`."""
    common = set(terms(str(dict(header)))) | {
        term for memory in kept for term in terms(codec.dump(codec.encode(memory)))
    }
    words = {term for memory in gone for term in terms(f"{memory.content} {memory.value or ''}")}
    return {word for word in words - common - stop_terms() if len(word) > 2}


def repeated(gone: Iterable[Memory], kept: Iterable[Memory]) -> list[str]:
    """Kept records that hold the same text, in words for the report."""
    texts = {codec.text_hash(memory.content) for memory in gone}
    return [f"{m.memory_id} (the same text)" for m in kept if codec.text_hash(m.content) in texts]


def still_mentioned(folder: UserFolder, words: set[str]) -> list[str]:
    """Lines (`path:line`) of the user's files that hold one of these words: a person must look."""
    files = [p for p in sorted(folder.root.rglob("*")) if _worth_a_look(p, folder)]
    return [f"{path.relative_to(folder.root)}:{line}" for path in files for line in _lines_with(path, words)]


def _worth_a_look(path: Path, folder: UserFolder) -> bool:
    """Any file but the index: editors leave copies under many names."""
    regular = path.is_file() and not path.is_symlink() and not path.is_relative_to(folder.cache)
    return regular and path.stat().st_size <= _LARGEST_SCANNED


def _lines_with(path: Path, words: set[str]) -> list[int]:
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [number for number, line in enumerate(lines, 1) if words & set(terms(line))]


def git_advice(folder: UserFolder, ids: Sequence[str]) -> list[str]:
    """What git's history of the folder still holds; empty outside of git."""
    from memctl.git import asking, process

    try:
        top = asking.top(folder.root) if process.installed() else None
        commits = {line for i in ids for line in _commits_with(folder.root, i)} if top else set()
    except MemctlError as problem:
        told = [f"whether git still holds it is not known: {problem.message}", *problem.hint.splitlines()]
        return [line for line in told if line]
    if not commits:
        return []
    return [
        f"git still holds it in {len(commits)} commits of {top} ({', '.join(sorted(commits)[:5])})",
        "remove it there with `git filter-repo --replace-text FILE` (FILE lists the words), then expire and push:",
        "`git reflog expire --expire=now --all && git gc --prune=now`, and `git push --force` to every copy",
    ]


def _commits_with(folder: Path, memory_id: str) -> list[str]:
    from memctl.git import asking

    return asking.ask(folder, "log", "--all", "--format=%h", f"-S{memory_id}").split()

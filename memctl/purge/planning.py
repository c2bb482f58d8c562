"""Really forgetting: what goes with a memory, and what memctl cannot reach."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memctl.conversations import derived
from memctl.core import kept, kinds, naming
from memctl.core.formats import codec, document, reflections, trash
from memctl.core.kept import KeptMessage
from memctl.core.models import Memory
from memctl.core.provenance import SAID
from memctl.core.text.sentences import sentences
from memctl.core.text.stopwords import stop_terms
from memctl.core.text.terms import words
from memctl.errors import ConflictError, InvalidDataError, MemctlError
from memctl.purge.telling import Concerned, holds_one_of, marks, passages, unescaped
from memctl.storage.files import atomic, erase, layout, local_state, sessions, transcripts
from memctl.storage.files.erase import DISPLACED, FEEDBACK, OPERATIONS, RECEIPTS, Erasure, FileChange
from memctl.storage.files.layout import UserFolder
from memctl.storage.files.replay import displaced_name
from memctl.storage.folder.view import FolderView

_LARGEST_SCANNED = 64 * 1024 * 1024


@dataclass(frozen=True)
class Touched:
    """What a purge does to one file.

    Args:
        action: `deleted`, or `changed` where others' data stays in it.
        detail: what of it goes or changes, in words.
    """

    path: str
    action: str
    detail: str = ""


@dataclass(frozen=True)
class PurgeReport:
    """What a purge removed, or would remove.

    Args:
        files: each file that is touched, and how; the index apart, which is rebuilt.
        also_removed: records and files that were made from the memories, and went with them.
        still_mentioned: places that hold the same text, or words which stood only in it; that will hold it, if it was
            not done yet.
        git_advice: what git's history still holds, and how to remove it there.
    """

    ids: tuple[str, ...]
    files: tuple[Touched, ...] = ()
    also_removed: tuple[str, ...] = ()
    still_mentioned: tuple[str, ...] = ()
    git_advice: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """All that a purge does, worked out before it begins.

    Args:
        changes: what it does to each file that is touched; empty where it has been carried out.
        gone: the memories that go.
        repeating: the memories that stay and hold the same text as one that goes, in words for the report.
        telling: words (`telling.marks`) that are in the memories that go and in none that stays.
    """

    erasure: Erasure
    files: tuple[Touched, ...]
    changes: Mapping[str, FileChange]
    gone: Sequence[Memory]
    repeating: Sequence[str]
    telling: Collection[str]

    def report(self, ids: Sequence[str], left: Iterable[str] = (), advice: Iterable[str] = ()) -> PurgeReport:
        """The plan in the form of a report."""
        made = [i for i in self.erasure.ids if i not in ids]
        whole = [f.path for f in self.files if f.action == DELETED and f.path.startswith(("reflections/", "sessions/"))]
        return PurgeReport(tuple(ids), self.files, (*made, *whole), tuple(left), tuple(advice))


DELETED, CHANGED = "deleted", "changed"


def planned(view: FolderView, ids: Sequence[str], trashed: Iterable[Memory]) -> Plan:
    """What has to go: the memories, the summaries made from them, the reflections of both, and what mentions them.

    Raises:
        StorageError: a file cannot be looked at; nothing is purged before it can.
    """
    raws = view.raws()
    beside = {memory.memory_id: memory for memory in trashed if memory.memory_id not in raws}
    going = _with_summaries(ids, raws, beside)
    gone = list(going.values())
    named = frozenset((*ids, *going))
    staying = {memory_id: raw for memory_id, raw in raws.items() if memory_id not in named}
    kept = _Kept(view, staying, [memory for memory in beside.values() if memory.memory_id not in named])
    telling = kept.without_theirs(telling_words(gone, view.header))
    own = _reflections(view, named, gone, kept)
    traces = _Traces(view.folder, named, frozenset(own), gone, kept, telling)
    files = (*own, *_session_files(traces), *_trash_files(traces), *_drafts(traces), *_displaced(traces))
    said = (*_said(traces, gone),)
    erasure = Erasure((*dict.fromkeys((*ids, *going)),), (*dict.fromkeys((*files, *_lines(traces), *said)),))
    changes = {change.path: change for change in erase.changes(view.folder, erasure)}
    touched = tuple(map(_touched, changes.values()))
    return Plan(erasure, touched, changes, gone, tuple(kept.repeating(gone)), telling)


def _with_summaries(ids: Sequence[str], raws: Mapping[str, bytes], beside: Mapping[str, Memory]) -> dict[str, Memory]:
    """The memories with these ids, what was made from them, and the episodes that repeat one of them."""
    going = {i: beside[i] if i in beside else document.decode_raw(raws[i]) for i in ids if i in beside or i in raws}
    texts = [memory.content for memory in going.values()]
    episodes = [m for m in _those(raws, beside, {SAID}) if m.kind == kinds.EPISODE and SAID in m.metadata]
    going |= {m.memory_id: m for m in episodes if any(derived.repeats(m.content, each) for each in texts)}
    while more := [
        m for m in _those(raws, beside, set(going)) if m.memory_id not in going and set(m.sources) & going.keys()
    ]:
        going |= {memory.memory_id: memory for memory in more}
    return going


def _those(raws: Mapping[str, bytes], beside: Mapping[str, Memory], named: Set[str]) -> Iterator[Memory]:
    """The memories that may name one of these."""
    yield from beside.values()
    yield from (document.decode_raw(raw) for raw in raws.values() if naming.may_be_in(raw, named))


class _Kept:
    """The memories that stay: those of `memory.json`, decoded where it matters, and others, as those in the trash."""

    def __init__(self, view: FolderView, raws: Mapping[str, bytes], beside: Sequence[Memory]) -> None:
        self._view, self._raws, self._beside = view, raws, beside

    def __contains__(self, memory_id: str) -> bool:
        return memory_id in self._raws or any(memory.memory_id == memory_id for memory in self._beside)

    def refer_to(self, path: str) -> bool:
        """Whether one of them has this reflection."""
        others = (memory.summary_md_ref == path for memory in self._beside)
        return not self._raws.keys().isdisjoint(self._view.referring(path)) or any(others)

    def holding(self, concerned: Concerned) -> Iterator[Memory]:
        """Those that a quick look at the record does not rule out."""
        yield from self._beside
        yield from (document.decode_raw(raw) for raw in self._raws.values() if concerned(raw.decode()))

    def without_theirs(self, telling: Collection[str]) -> set[str]:
        """The marks that are in none of them."""
        left, concerned = set(telling), holds_one_of((), telling)
        for text in chain(map(_dumped, self._beside), map(_plain, self._raws.values())):
            if concerned(text) and (theirs := left & marks(text)):
                left -= theirs
                concerned = holds_one_of((), left)
        return left

    def repeating(self, gone: Iterable[Memory]) -> list[str]:
        """Those that hold the same text as one that goes, in words for the report."""
        texts = {codec.text_hash(memory.content): memory.content for memory in gone}
        same = [m.memory_id for m in self._beside if codec.text_hash(m.content) in texts]
        stored = {m.memory_id for text in texts.values() for m in self._view.same_text(text)}
        return [f"{each} (the same text)" for each in (*same, *(i for i in self._raws if i in stored))]


def _dumped(memory: Memory) -> str:
    return codec.dump(codec.encode(memory))


def _plain(raw: bytes) -> str:
    """A record without escaped letters."""
    text = raw.decode()
    return _dumped(document.decode_raw(raw)) if "\\u" in text else text


# Reflections


def _reflections(view: FolderView, named: frozenset[str], gone: Sequence[Memory], kept: _Kept) -> list[str]:
    """Reflections that name one of the memories, or that one of them refers to and no other memory; with proposals."""
    paths = sorted(path.relative_to(view.folder.root).as_posix() for path in view.folder.reflections.rglob("*.md"))
    naming_them = [path for path in paths if naming.in_reflection(view.read(path) or b"", named)]
    referred = [m.summary_md_ref for m in gone if reflections.is_reference(m.summary_md_ref)]
    going = [path for path in referred if not kept.refer_to(path) and _record_of(view, path) not in kept]
    own = dict.fromkeys((*naming_them, *going))
    proposals = (path.removesuffix(".md") + ".proposed.md" for path in own)
    return [*own, *(path for path in proposals if not kept.refer_to(path) and _record_of(view, path) not in kept)]


def _record_of(view: FolderView, path: str) -> str:
    """The id a reflection names as its record; empty where it names none, or cannot be read."""
    try:
        reflection = view.reflection(path)
    except MemctlError:
        return ""
    return reflection.memory_id if reflection else ""


# What mentions a memory


class _Traces:
    """What tells that a file holds one of the memories that go.

    A text tells that only where no memory that stays holds it too; in the memories' own sessions it always does, and so
    does each word that stood only in them.
    """

    def __init__(
        self,
        folder: UserFolder,
        named: frozenset[str],
        paths: frozenset[str],
        gone: Sequence[Memory],
        kept: _Kept,
        telling: Collection[str],
    ) -> None:
        self.folder, self.named, self.paths, self.kept = folder, named, paths, kept
        self.telling, self._a_mark = set(telling), holds_one_of((), telling)
        self.sessions = {memory.session_id for memory in gone} - {""}
        self.texts = texts = Phrases(memory.content for memory in gone if _tells(words(memory.content)))
        shared = {phrase for memory in kept.holding(texts.concerned) for _, phrase in texts.places(memory.content)}
        self.own_texts = Phrases(" ".join(phrase) for phrase in texts.all if phrase not in shared)

    def name(self, text: str) -> bool:
        raw = text.encode("utf-8", "surrogatepass")
        return naming.may_be_in(raw, self.named) and any(naming.in_text(each, self.named) for each in unescaped(text))

    def stand_in(self, text: str) -> bool:
        """Whether a text holds the words of one of the memories."""
        return self.own_texts.stand_within(text)

    def tell_by_a_word(self, text: str) -> bool:
        return any(not self.telling.isdisjoint(marks(each)) for _, each in passages(text, self._a_mark))

    def read(self, path: Path) -> bytes:
        return atomic.read(path) or b""

    def inside(self, directory: Path) -> Iterator[tuple[str, Path]]:
        """The files below a folder, with their paths relative to the user's."""
        paths = sorted(path for path in directory.rglob("*") if path.is_file()) if directory.is_dir() else []
        return ((path.relative_to(self.folder.root).as_posix(), path) for path in paths)


def _tells(phrase: Sequence[str]) -> bool:
    """Whether a text is long enough to tell that a file holds it; else its id, or its session, must."""
    squashed = "".join(phrase)
    return len(squashed) >= (8 if squashed.isascii() else 4)


class Phrases:
    """Texts to look for by their words, whatever stands between these; thousands cost about the same as one."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.all = {phrase for text in texts if (phrase := tuple(words(text)))}
        self._next: dict[str, Any] = {}
        for phrase in self.all:
            node = self._next
            for word in phrase:
                node = node.setdefault(word, {})
            node[""] = phrase
        self.concerned = holds_one_of(self.all)

    def places(self, text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The texts that are in another, each with the line it begins in."""
        begun: list[tuple[int, dict[str, Any]]] = []
        for number, line in enumerate(text.split("\n"), 1) if self.all else ():
            for word in words(line):
                steps = ((start, node[word]) for start, node in (*begun, (number, self._next)) if word in node)
                begun = list(steps)
                yield from ((start, node[""]) for start, node in begun if "" in node)

    def stand_in(self, text: str) -> bool:
        return next(self.places(text), None) is not None

    def stand_within(self, text: str) -> bool:
        """As `stand_in`, of what a file holds."""
        return any(self.stand_in(each) for _, each in passages(text, self.concerned))


def _session_files(traces: _Traces) -> list[str]:
    """Files of sessions, offloaded or queued, that name one of the memories or hold its text.

    Of the session a memory comes from, also those that hold a word which stood only in the memories that go: a summary
    repeats no sentence as a whole.
    """
    paths = traces.inside(traces.folder.sessions)
    return [path for path, full in paths if _session_tells(path, traces.read(full).decode("utf-8", "replace"), traces)]


def _session_tells(path: str, text: str, traces: _Traces) -> bool:
    if traces.name(text) or traces.stand_in(text) or _drew_on(text, traces.named):
        return True
    own = sessions.owner(path) in traces.sessions
    return own and (traces.texts.stand_within(text) or traces.tell_by_a_word(text))


_USED = re.compile(rf'"{naming.USED}"\s*:\s*\[[^\]]*')


def _drew_on(text: str, ids: frozenset[str]) -> bool:
    """Whether a task in a session notes one of the memories as used."""
    return any(naming.in_broken_json(field, ids) for field in _USED.findall(text))


def _trash_files(traces: _Traces) -> Iterator[str]:
    """What lies in the trash of the memories; of what cannot be read, what has the name of one or mentions one."""
    own = {layout.path_of(trash.name_of(memory_id)) for memory_id in traces.named}
    for path, full in (*traces.inside(traces.folder.trash), *traces.inside(traces.folder.unverified / "trash")):
        data = traces.read(full)
        try:
            memory_id = trash.read_trashed(data, path).memory.memory_id
        except InvalidDataError:
            if local_state.origin(path) in own or _broken_tells(data, traces):
                yield path
            continue
        if memory_id in traces.named:
            yield path


def _broken_tells(data: bytes, traces: _Traces) -> bool:
    """Whether a file of JSON, readable or not, has a field that names one of the memories, or holds the text of one."""
    text = data.decode("utf-8", "replace")
    return naming.in_broken_json(text, traces.named) or traces.stand_in(text)


_DRAFT = re.compile(r"[.#]*(?P<stem>.+?)\.(?:md|yaml)(?:\.base)?(?:~|#|\.sw[a-z]|\.bak)?(?:\.\d+)?")


def _drafts(traces: _Traces) -> list[str]:
    """Unfinished edits of the memories, and what an editor left beside them."""
    stems = {reflections.path_for(i).removeprefix(reflections.FOLDER).removesuffix(".md") for i in traces.named}
    paths = (*traces.inside(traces.folder.drafts), *traces.inside(traces.folder.unverified / "drafts"))
    return [path for path, full in paths if (name := _DRAFT.fullmatch(full.name)) and name["stem"] in stems]


# Displaced copies


_KEPT = re.compile(r"(?:hand-edit-\d+-|doctor-[^/]+/|conflict-[0-9a-f]+(?=\.))(?P<of>.*)")
"""A copy that holds what a person saved, and of what: `hand-edit-…-memory.json`, `doctor-…/reflections/x.md`."""


def _displaced(traces: _Traces) -> list[str]:
    """Copies that go as a whole: those of files that go, those that cannot be read and mention a memory, and the one
    that each write leaves behind. Others are cleaned (`erase.cleaned`)."""
    own = {*traces.paths, *map(reflections.path_for, traces.named)}
    names = {name for path in own if not traces.kept.refer_to(path) for name in (path, displaced_name(path))}
    paths = traces.inside(traces.folder.displaced)
    return [path for path, full in paths if _copy_goes(path, traces.read(full), traces, names)]


def _copy_goes(path: str, data: bytes, traces: _Traces, names: set[str]) -> bool:
    inner = path.removeprefix(DISPLACED)
    kept = _KEPT.fullmatch(inner)
    of = kept["of"] if kept else inner
    if of in names:
        return True
    if of.startswith(("knowledge/", "knowledge__")) or of.endswith(".jsonl"):
        return False  # a document is the user's own; a log goes line by line
    if of.endswith(".md"):
        return naming.in_reflection(data, traces.named) or traces.stand_in(data.decode("utf-8", "replace"))
    return _memories_go(path, data, traces, lasting=kept is not None)


def _memories_go(path: str, data: bytes, traces: _Traces, *, lasting: bool) -> bool:
    if not (lasting and _is_document(data)):
        return _broken_tells(data, traces)
    left = erase.cleaned(path, data, Erasure(tuple(traces.named), ()))
    return traces.stand_in(left.decode("utf-8", "replace"))


def _is_document(data: bytes) -> bool:
    try:
        document.parse(data)
    except InvalidDataError:
        return False
    return True


# Lines of logs


def _lines(traces: _Traces) -> list[str]:
    """Lines that lose their text because it mentions the memories: receipts, feedback on others that names one of them,
    records in the operation log that refer to one, and lines that cannot be read."""
    places = (traces.folder.displaced, traces.folder.unverified)
    copies = [path for place in places for path, _ in traces.inside(place) if path.endswith(".jsonl")]
    bare = Erasure(tuple(traces.named), ())
    return [name for path in (OPERATIONS, *RECEIPTS, FEEDBACK, *copies) for name in _lines_of(path, bare, traces)]


def _lines_of(path: str, bare: Erasure, traces: _Traces) -> Iterator[str]:
    for line in traces.read(traces.folder.root / path).splitlines():
        texts = _texts_left(path, line, bare)
        if any(traces.name(text) or traces.stand_in(text) or traces.tell_by_a_word(text) for text in texts):
            yield erase.line_name(path, line)


def _texts_left(path: str, line: bytes, bare: Erasure) -> list[str]:
    """What an erasure by ids alone leaves of a line, as far as the line can lose it."""
    of = local_state.origin(path)
    if of == OPERATIONS and (texts := erase.left_of_steps(line, bare.named)) is not None:
        return texts
    left = erase.cleaned(path, line, bare)
    concerned = of in RECEIPTS or left != line or not erase.readable(line)
    return [left.decode("utf-8", "replace")] if concerned and left else []


# Transcripts


def _said(traces: _Traces, gone: Sequence[Memory]) -> Iterator[str]:
    """Lines of transcripts of the messages that mention the memories, and the large texts that go with them.

    A message that a memory was made from goes where it holds its text, or a word that stood only in memories that go;
    so does one of the session of a memory of which nobody knows the messages. Any other goes where it holds the text,
    or names one.
    """
    sources = _Sources(gone)
    going: list[str] = []
    staying: set[str] = set()
    for path in transcripts.files(traces.folder):
        for line in kept.lines(traces.read(traces.folder.root / path)):
            if line is None or line.message is None:
                continue
            text = transcripts.whole(traces.folder, line.message).text
            large = [f"{transcripts.ATTACHMENTS}{name}.txt" for name in transcripts.attachments_of(line.message)]
            if _message_goes(line.message, text, sources.hold(line.message), traces):
                yield erase.line_name(path, line.raw)
                going += large
            else:
                staying.update(large)
    yield from (path for path in dict.fromkeys(going) if path not in staying)


def _message_goes(message: KeptMessage, text: str, source: bool, traces: _Traces) -> bool:
    if message.message_id in traces.named or traces.name(text) or traces.stand_in(text):
        return True
    return source and (traces.texts.stand_within(text) or traces.tell_by_a_word(text))


class _Sources:
    """The messages that memories were made from: each from a first to a last one of a run, in the order of the file."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        pairs = {memory.memory_id: naming.listed(memory.metadata.get(SAID)) for memory in memories}
        self._last = {pair[0]: pair[-1] for pair in pairs.values() if pair}
        self._sessions = {memory.session_id for memory in memories if not pairs[memory.memory_id]} - {""}
        self._open: dict[str, set[str]] = {}

    def hold(self, message: KeptMessage) -> bool:
        """Whether the message is one of them; asked of each message, in order."""
        running = self._open.setdefault(message.run, set())
        if message.message_id in self._last:
            running.add(self._last[message.message_id])
        inside = bool(running) or message.session in self._sessions
        running.discard(message.message_id)
        return inside


# In words


def _touched(change: FileChange) -> Touched:
    if change.after is None:
        return Touched(change.path, DELETED)
    if change.path == document.FILE_NAME:
        return Touched(change.path, CHANGED, _counted("record", *change.records) or "tombstones")
    if change.path.endswith(".jsonl"):
        before, after = ((data or b"").splitlines() for data in (change.before, change.after))
        changed = (Counter(after) - Counter(before)).total()
        return Touched(change.path, CHANGED, _counted("line", len(before) - len(after), changed))
    return Touched(change.path, CHANGED, "what it says of them")


def _counted(what: str, removed: int, changed: int) -> str:
    """How many go, and how many change."""
    counts = ((removed, "removed"), (changed, "changed"))
    return ", ".join(f"{n} {what}{'s' * (n != 1)} {done}" for n, done in counts if n)


def check_expected(planned: PurgeReport, expected: PurgeReport) -> None:
    """Refuse what was not shown beforehand.

    Raises:
        ConflictError: a file or a memory goes that `expected` does not name.
    """
    if more := sorted(_going(planned) - _going(expected)):
        hint = "Nothing was changed; look at what goes now with --dry-run."
        raise ConflictError(f"{more[0]} would go too, which was not so before", hint=hint)


def _going(report: PurgeReport) -> set[str]:
    return {*report.also_removed, *(each.path for each in report.files if each.action == DELETED)}


def left(folder: UserFolder, plan: Plan) -> list[str]:
    """What still holds the text of the memories that are gone, or words that stood only in them; of a plan that has
    not been carried out, what will hold it then."""
    after = {path: change.after for path, change in plan.changes.items()}
    places = still_mentioned(folder, phrases(plan.gone), plan.telling, frozenset(plan.erasure.ids), after)
    return [*plan.repeating, *places]


def telling_words(gone: Iterable[Memory], header: Mapping[str, object]) -> set[str]:
    """Words that were in the purged memories, and not beside the memories in `memory.json`."""
    telling = {mark for memory in gone for mark in marks(f"{memory.content} {memory.value or ''}")}
    return telling - stop_terms() - marks(str(dict(header)))


def phrases(memories: Iterable[Memory]) -> Phrases:
    """The texts of memories, and each of their sentences that is long enough to tell."""
    texts = [memory.content for memory in memories]
    parts = (part for text in texts for part in sentences(text) if _tells(words(part)))
    return Phrases(chain((text for text in texts if len("".join(words(text))) > 2), parts))


def still_mentioned(
    folder: UserFolder,
    same: Phrases,
    telling: Collection[str],
    ids: frozenset[str],
    after: Mapping[str, bytes | None] = MappingProxyType({}),
) -> list[str]:
    """Lines (`path:line`) of the user's files that hold one of the texts or words, or an id: a person must look.

    Args:
        after: what some of the files are about to hold; None for those that go.
    """
    places, concerned = [], holds_one_of(same.all, telling)
    for path in sorted(folder.root.rglob("*")):
        name = path.relative_to(folder.root).as_posix()
        data = after[name] if name in after else _read(path) if _worth_a_look(path, folder) else None
        if data is not None:
            keeps_ids = path in (folder.memory_file, folder.operations) or kept.is_transcript(name)
            some = frozenset() if keeps_ids else ids  # of what was purged
            lines = _lines_with(data, same, set(telling), some, concerned)
            places += [f"{name}:{line}" for line in sorted(lines)]
    return places


def _read(path: Path) -> bytes | None:
    """A file's content, None where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def _worth_a_look(path: Path, folder: UserFolder) -> bool:
    """Any file but the index: editors leave copies under many names."""
    regular = path.is_file() and not path.is_symlink() and not path.is_relative_to(folder.cache)
    return regular and path.stat().st_size <= _LARGEST_SCANNED


def _lines_with(data: bytes, same: Phrases, telling: set[str], ids: frozenset[str], concerned: Concerned) -> set[int]:
    text = data.decode("utf-8", "replace")
    named = {number for number, line in enumerate(text.split("\n"), 1) if naming.in_text(line, ids)} if ids else set()
    texts = passages(text, concerned)
    return named.union(*(_lines_of_passage(start, each, same, telling) for start, each in texts))


def _lines_of_passage(start: int, text: str, same: Phrases, telling: set[str]) -> Iterator[int]:
    yield from (start + line - 1 for line, _ in same.places(text))
    if telling:
        lines = enumerate(text.split("\n"), start)
        yield from (number for number, line in lines if not telling.isdisjoint(marks(line)))


_IDS_AT_ONCE = 100


def git_advice(folder: UserFolder, ids: Sequence[str]) -> list[str]:
    """What git's history of the folder still holds; empty outside of git."""
    from memctl.git import process, queries

    starts = range(0, len(ids), _IDS_AT_ONCE)
    try:
        top = queries.top(folder.root) if process.installed() else None
        holding = (_commits_with(folder.root, ids[at : at + _IDS_AT_ONCE]) for at in starts) if top else ()
        commits = {commit for each in holding for commit in each}
    except MemctlError as problem:
        advice = [f"whether git still holds it is not known: {problem.message}", *problem.hint.splitlines()]
        return [line for line in advice if line]
    if not commits:
        return []
    many = "1 commit" if len(commits) == 1 else f"{len(commits)} commits"
    return [
        f"git still holds it in {many} of {top} ({', '.join(sorted(commits)[:5])})",
        "remove it there with `git filter-repo --replace-text FILE` (FILE lists the words), then expire and push:",
        "`git reflog expire --expire=now --all && git gc --prune=now`, and `git push --force` to every copy",
    ]


def _commits_with(folder: Path, ids: Iterable[str]) -> list[str]:
    """Commits that brought or took a record, or a reflection, of one of the ids."""
    from memctl.git import queries

    any_of = "|".join(re.sub(r"([][\\.^$*+?(){}|])", r"\\\1", each) for each in ids)
    held = rf'memory_id"?: *"?({any_of})("|,|[]}}[:space:]]|$)'
    return queries.ask(folder, "log", "--all", "--format=%h", "--pickaxe-regex", f"-S{held}").split()

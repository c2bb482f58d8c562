"""Between files and index: what of a record, a reflection, a document or a transcript can be found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from memctl.core.formats import codec, document, knowledge, reflections
from memctl.core.kept import Line
from memctl.core.models import DOCUMENTS, MESSAGES, Memory, Reflection
from memctl.core.searchable import dated, searchable
from memctl.core.times import to_text
from memctl.storage.index import decoding
from memctl.storage.index.decoding import PASSAGE_MARK
from memctl.storage.index.rows import Entry, Row


def record_entry(memory: Memory, raw: bytes) -> Entry:
    return Entry(
        path=document.FILE_NAME,
        ref=memory.memory_id,
        hash=codec.digest(raw),
        raw=raw,
        line=0,
        memory=memory,
        text=searchable(memory),
        memory_id=memory.memory_id,
        text_hash=codec.text_hash(memory.content),
        dated=dated(memory),
    )


def reflection_entry(reflection: Reflection, data: bytes) -> Entry:
    return Entry(
        path=reflection.path,
        ref="",
        hash=codec.digest(data),
        raw=data,
        line=0,
        memory=decoding.reflection(reflection),
        text=f"{reflection.title}\n{reflection.body}",
        memory_id=reflection.memory_id,
        text_hash="",
    )


def passage_entries(data: bytes, path: str) -> list[Entry]:
    """A document's passages. Each is known by what it says, so that one which only moved is the same entry."""
    seen: Counter[str] = Counter()
    entries = []
    for chunk in knowledge.chunks(data, path):
        raw = f"{chunk.heading_path}\n{chunk.text}".encode()
        digest = codec.digest(raw)
        seen[digest] += 1
        shown = decoding.passage(path, raw, chunk.line)
        text = _passage_text(raw, path)
        entries.append(Entry(path, f"{digest}.{seen[digest]}", digest, raw, chunk.line, shown, text))
    return entries


def _passage_text(raw: bytes, path: str) -> str:
    """The words by which a passage is found: its own and those of the headings above; else the name of its file."""
    heading, _, text = raw.decode().partition("\n")
    # Its own heading is in the text too: counted twice, it would make the shortest passage the best.
    above = [part for part in heading.split(knowledge.SEPARATOR) if part not in text]
    return "\n".join([*above, text] if heading else [knowledge.stem(path), text])


LONG_MESSAGE, PASSAGE = 1_600, 800
"""Characters: a longer message is found by its passages, of about this size …"""

MOST_INDEXED, END_INDEXED = 64_000, 8_000
"""… as far as this, and by its end, where the question behind a long paste stands; a tool may answer with megabytes."""


def message_entries(line: Line, path: str, text: str) -> list[Entry]:
    """What of a message can be found: itself, or the passages of a long one.

    Args:
        text: all of it, also what is kept in an attachment.
    """
    message = line.message
    if message is None or not text.strip():
        return []
    parts = [text] if len(text) <= LONG_MESSAGE else [*_passages(text[:MOST_INDEXED]), *_end(text)]
    shared = {"id": message.message_id, "session": message.session, "run": message.run, "role": message.role}
    shared |= {"name": message.name, "source": message.source, "at": to_text(message.at) if message.at else ""}
    shared |= {"received": to_text(message.received) if message.received else ""}
    shared = {name: value for name, value in shared.items() if value}
    entries = []
    for number, part in enumerate(parts):
        several = {"part": number, "parts": len(parts)} if len(parts) > 1 else {}
        raw = json.dumps({**shared, **several, "text": part}, ensure_ascii=False).encode("utf-8", "surrogatepass")
        ref = f"{message.message_id}{PASSAGE_MARK}{number}" if several else message.message_id
        shown = decoding.message(raw)
        searched = f"{message.name}: {part}" if message.name else part
        entries.append(Entry(path, ref, codec.digest(raw), raw, line.offset, shown, searched, dated=dated(shown)))
    return entries


def _passages(text: str) -> Iterator[str]:
    """A long text in parts, cut between paragraphs, lines, sentences or words, whichever lies last in reach."""
    at = 0
    while len(text) - at > LONG_MESSAGE:
        window = text[at : at + LONG_MESSAGE - PASSAGE // 2]
        cut = next((end_at for end in _ENDS if (end_at := window.rfind(end) + len(end)) > PASSAGE // 2), len(window))
        yield text[at : at + cut]
        at += cut
    yield text[at:]


def _end(text: str) -> Iterator[str]:
    """The passages at the end of a text of which not all is found."""
    return _passages(text[max(MOST_INDEXED, len(text) - END_INDEXED) :]) if len(text) > MOST_INDEXED else iter(())


_ENDS = ("\n\n", "\n", "。", ". ", "! ", "? ", "！", "？", "；", "; ", " ")


def searched(row: Row) -> str:
    """The words of an entry, with its date, for full text."""
    if not row.is_record and row.part != MESSAGES:
        return text_of(row)
    memory = row.memory
    return "\n".join(filter(None, (searchable(memory), dated(memory))))


def text_of(row: Row) -> str:
    """The words of an entry, for embedding it later."""
    if row.part == DOCUMENTS:
        return _passage_text(row.raw, row.path)
    if row.is_record or row.part == MESSAGES:
        return searchable(row.memory)
    reflection = reflections.parse(row.raw, row.path)
    return f"{reflection.title}\n{reflection.body}"

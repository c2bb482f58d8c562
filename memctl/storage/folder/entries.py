"""Between files and index: what of a record, a reflection or a document can be found, and how to read it back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from memctl.core.formats import codec, document, knowledge, reflections
from memctl.core.formats.knowledge import Chunk
from memctl.core.kept import Line
from memctl.core.models import KIND_MESSAGE, LAYER_DOCUMENT, LAYER_MESSAGE, LAYER_REFLECTION, Memory, Reflection
from memctl.core.text.language import has_chinese
from memctl.core.times import MONTHS, from_value, to_text
from memctl.storage.files import transcripts
from memctl.storage.index.protocol import Entry, Found


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


def dated(memory: Memory) -> str:
    """The day a memory is about, as a question would name it: `8 May 2023`, in Chinese text `2023年5月8日`."""
    day = memory.when
    if day is None:
        return ""
    if has_chinese(memory.content):
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {MONTHS[day.month - 1].title()} {day.year}"


def searchable(memory: Memory) -> str:
    """The words by which a record is found."""
    about = memory.metadata
    parts = [f"{about['speaker']}: {memory.content}" if about.get("speaker") else memory.content, memory.key]
    parts += [str(about[name]) for name in ("task_description", "approach") if isinstance(about.get(name), str)]
    lessons = about.get("lessons")
    parts += [str(lesson) for lesson in lessons] if isinstance(lessons, list) else []
    return "\n".join([part for part in parts if part] + [tag for tag in memory.tags if ":" not in tag])


def reflection_entry(reflection: Reflection, data: bytes) -> Entry:
    return Entry(
        path=reflection.path,
        ref="",
        hash=codec.digest(data),
        raw=data,
        line=0,
        memory=reflection_memory(reflection),
        text=f"{reflection.title}\n{reflection.body}",
        memory_id=reflection.memory_id,
        text_hash="",
    )


def reflection_memory(reflection: Reflection) -> Memory:
    """A reflection seen as a memory of layer L3, for answers that have no record to show."""
    fields = reflection.fields
    category, tags = fields.get("category"), fields.get("tags")
    return Memory(
        memory_id=reflection.memory_id or reflection.path,
        content=reflection.body.strip() or reflection.title,
        layer=LAYER_REFLECTION,
        kind="knowledge",
        category=category if isinstance(category, str) and category else "life",
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        created_at=_time_or_none(fields.get("created_at")),
        summary_md_ref=reflection.path,
    )


def _time_or_none(value: object) -> datetime | None:
    try:
        return from_value(value) if value else None
    except ValueError:
        return None


def passage_entries(data: bytes, path: str) -> list[Entry]:
    """A document's passages. Each is known by what it says, so that one which only moved is the same entry."""
    seen: Counter[str] = Counter()
    entries = []
    for chunk in knowledge.chunks(data, path):
        raw = f"{chunk.heading_path}\n{chunk.text}".encode()
        digest = codec.digest(raw)
        seen[digest] += 1
        shown = _passage(chunk, path)
        text = _passage_text(raw, path)
        entries.append(Entry(path, f"{digest}.{seen[digest]}", digest, raw, chunk.line, shown, text))
    return entries


def passage_of(found: Found) -> Chunk:
    """A passage as the index keeps it."""
    heading, _, text = found.raw.decode().partition("\n")
    return Chunk(text, heading, found.line, found.line + text.count("\n"))


def _passage(chunk: Chunk, path: str) -> Memory:
    """A passage seen as a memory of layer DOC. It has no category and no date, so filters by these leave it out."""
    place = {"path": path, "heading": chunk.heading_path, "line": chunk.line, "end_line": chunk.end_line}
    return Memory(
        memory_id=f"{path}:{chunk.line}",
        content=chunk.text,
        layer=LAYER_DOCUMENT,
        kind="knowledge",
        category="",
        source="document",
        metadata=place,
    )


def _passage_text(raw: bytes, path: str) -> str:
    """The words by which a passage is found: its own and those of the headings above; else the name of its file."""
    heading, _, text = raw.decode().partition("\n")
    # Its own heading stands in the text too: counted twice, it would make the shortest passage the best.
    above = [part for part in heading.split(knowledge.SEPARATOR) if part not in text]
    return "\n".join([*above, text] if heading else [knowledge.stem(path), text])


LONG_MESSAGE, PASSAGE = 1_600, 800
"""Characters: a longer message is found by its passages, of about this size …"""

MOST_INDEXED, END_INDEXED = 64_000, 8_000
"""… as far as this, and by its end, where the question behind a long paste stands; a tool may answer with megabytes."""

PASSAGE_MARK = "#"
"""Between a message's id and the number of its passage."""


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
        shown = message_memory(raw)
        searched = f"{message.name}: {part}" if message.name else part
        entries.append(Entry(path, ref, codec.digest(raw), raw, line.offset, shown, searched, dated=dated(shown)))
    return entries


def _passages(text: str) -> Iterator[str]:
    """A long text in parts, cut between paragraphs, lines, sentences or words, whichever lies last in reach."""
    at = 0
    while len(text) - at > LONG_MESSAGE:
        window = text[at : at + LONG_MESSAGE - PASSAGE // 2]
        cut = next((found for end in _ENDS if (found := window.rfind(end) + len(end)) > PASSAGE // 2), len(window))
        yield text[at : at + cut]
        at += cut
    yield text[at:]


def _end(text: str) -> Iterator[str]:
    """The passages at the end of a text of which not all is found."""
    return _passages(text[max(MOST_INDEXED, len(text) - END_INDEXED) :]) if len(text) > MOST_INDEXED else iter(())


_ENDS = ("\n\n", "\n", "。", ". ", "! ", "? ", "！", "？", "；", "; ", " ")


def message_memory(raw: bytes) -> Memory:
    """A message, or a passage of one, seen as a memory of layer MSG: it has no category, so filters by these leave it
    out. Its session is the run it was said in."""
    found = json.loads(raw.decode("utf-8", "surrogatepass"))
    at, received = _time_or_none(found.get("at")), _time_or_none(found.get("received"))
    told = {name: found[name] for name in ("role", "session", "part", "parts") if name in found}
    return Memory(
        memory_id=found["id"],
        content=found["text"],
        layer=LAYER_MESSAGE,
        kind=KIND_MESSAGE,
        category="",
        source=found.get("source") or found["role"],
        created_at=received or at,
        occurred_at=at if received else None,
        session_id=found.get("run", ""),
        metadata={**told, "speaker": found["name"]} if found.get("name") else told,
    )


def memory_of(entry: Found) -> Memory:
    """Decode what the index keeps of an entry."""
    if entry.path == document.FILE_NAME:
        return document.decode_raw(entry.raw)
    if transcripts.is_transcript(entry.path):
        return message_memory(entry.raw)
    if knowledge.is_document(entry.path):
        return _passage(passage_of(entry), entry.path)
    return reflection_memory(reflections.parse(entry.raw, entry.path))


def text_of(found: Found) -> str:
    """The words of an entry, for embedding it later."""
    if found.path == document.FILE_NAME:
        return searchable(memory_of(found))
    if knowledge.is_document(found.path):
        return _passage_text(found.raw, found.path)
    if transcripts.is_transcript(found.path):
        return searchable(message_memory(found.raw))
    reflection = reflections.parse(found.raw, found.path)
    return f"{reflection.title}\n{reflection.body}"

"""A message as stored in a transcript: one JSON object on one line. Pure functions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from memctl.core import times
from memctl.core.formats.openai import from_openai
from memctl.core.message_blocks import is_call, is_result, is_text, output_text, text_block, with_output
from memctl.core.messages import SYSTEM, TOOL, Message
from memctl.core.plain_json import as_text
from memctl.core.recalled import forgets, holds_recalled, without_recalled
from memctl.errors import InvalidDataError

DELETED = "deleted"
"""The field of a line that marks the message with its id as deleted, with the time."""

FINAL = "final"
"""The field that says that the text is erased too, and cannot be restored."""

_KNOWN = frozenset(
    ("id", "session", "run", "role", "name", "at", "received", "text", "content", "source", "metadata", DELETED)
)


_TRANSCRIPT = re.compile(r"transcripts/[^\W_][\w.-]*\.jsonl")


@lru_cache(maxsize=4096)
def is_transcript(name: str) -> bool:
    """Whether this is the name of a transcript."""
    return _TRANSCRIPT.fullmatch(name) is not None


@dataclass(frozen=True)
class KeptMessage:
    """One message.

    Args:
        message_id: its own; one message is in a user's transcripts once.
        session: the name of its session; `run`: the id of that session's run, as names such as `main` are reused.
        role: `user`, `assistant`, `tool`, or another program's name for it, in lower case.
        content: blocks, in the form of a session's file.
        at: the time of the message; None if unknown.
        received: when memctl received it, if that differs.
        name: of the speaker, if given.
        source: the class of its source if the role does not show it (`imported`).
        extra: fields unknown to memctl, kept unchanged.
    """

    message_id: str
    session: str
    run: str
    role: str
    content: tuple[Mapping[str, Any], ...] = ()
    at: datetime | None = None
    received: datetime | None = None
    name: str = ""
    source: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def message(self) -> Message:
        """The message in the form of a session's file."""
        state: dict[str, Any] = {
            "id": self.message_id,
            "role": self.role.upper(),
            "content": list(self.content),
            "name": self.name,
        }
        state |= {"timestamp": times.to_text(self.at) if self.at else "", "metadata": dict(self.metadata)}
        return Message({name: value for name, value in state.items() if value not in ("", {})})

    @property
    def text(self) -> str:
        """All its text: what was said, and calls of tools with their results."""
        message = self.message
        calls = (f"{call.name}: {as_text(call.input)}" for call in message.calls)
        return "\n".join(filter(None, (message.text, *calls, *(result.output for result in message.results))))

    @property
    def origin(self) -> str:
        """The class of its source: `user`, `assistant`, `tool`, `imported`."""
        return self.source or self.role


def kept(message: Message, session: str, run: str, now: datetime, *, source: str = "") -> KeptMessage | None:
    """The message to store; None for one that is not stored: a system prompt, a summary of older messages, or one that
    is empty without its recalled memories.

    Args:
        now: when it was received; if it has its own time, that is its time.
    """
    if message.role == SYSTEM or message.is_summary:
        return None
    message = from_openai(message.state)
    blocks = tuple(block for block in map(_without_recalled, message.blocks) if block)
    if not blocks:
        return None
    at, metadata = message.time or now, {k: v for k, v in message.metadata.items() if k != "memctl"}
    role = TOOL if message.results and message.role != TOOL and not message.text else message.role
    return KeptMessage(
        message_id=message.id,
        session=session,
        run=run,
        role=role,
        content=blocks,
        at=at,
        received=now if at != now else None,
        name=message.speaker,
        source=source,
        metadata={key: value for key, value in metadata.items() if key != "speaker"},
    )


def _without_recalled(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """A block without recalled memories: a text, or the output of a tool, which may be memctl's own. Empty if nothing
    remains, and for a call that asks memctl to forget."""
    if is_call(block) and forgets(str(block["name"])):
        return {}
    if is_text(block):
        text = without_recalled(str(block["text"]))
        return {**block, "text": text} if text else {}
    if is_result(block) and holds_recalled(output := output_text(block)):
        remaining = without_recalled(output)
        return with_output(block, remaining) if remaining else {}
    return block


@dataclass(frozen=True)
class Paused:
    """What is currently not stored: no messages at all (`everything`), or none of some sessions."""

    everything: bool = False
    sessions: tuple[str, ...] = ()

    def applies_to(self, session: str) -> bool:
        return self.everything or session in self.sessions


# Ids


def derived_id(*parts: str) -> str:
    """An id derived from these parts, for a message that has none."""
    source = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"msg_{blake2b(source, digest_size=8).hexdigest()}"


def with_derived_ids(messages: Sequence[Message], session: str) -> list[Message]:
    """The messages of a session, with ids for those that had none; derived from session, role, text, time and the
    number of equal messages before it, so always the same."""
    seen: Counter[tuple[str, ...]] = Counter()
    named = []
    for message in messages:
        if not message.id and "id" not in message.state:
            content = (session, message.role, as_text([*message.blocks]), str(message.state.get("timestamp", "")))
            seen[content] += 1
            message = Message({"id": derived_id(*content, str(seen[content])), **message.state})
        named.append(message)
    return named


# Lines


def encode(message: KeptMessage) -> bytes:
    """The message's line, without a line end.

    Raises:
        InvalidDataError: it has a value that JSON cannot represent.
    """
    whole: dict[str, Any] = {
        "id": message.message_id,
        "session": message.session,
        "run": message.run,
        "role": message.role,
        "name": message.name,
        "at": times.to_text(message.at) if message.at else "",
        "received": times.to_text(message.received) if message.received else "",
        **_content(message.content),
        "source": message.source,
        "metadata": dict(message.metadata),
        **message.extra,
    }
    return line({name: value for name, value in whole.items() if value not in ("", {}) or name == "text"})


def _content(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A single text is written as a string, so that people can read the file."""
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} and is_text(blocks[0]):
        return {"text": blocks[0]["text"]}
    return {"content": [dict(block) for block in blocks]}


def deletion(message_id: str, now: datetime, *, final: bool = False) -> bytes:
    """The line that marks a message as deleted, so that an old copy of the file does not restore it.

    Args:
        final: its text was erased too.
    """
    return line({"id": message_id, DELETED: times.to_text(now)} | ({FINAL: True} if final else {}))


def purged(message_id: str) -> bytes:
    """The line that replaces a purged message: only its id."""
    return line({"id": message_id, DELETED: PURGED})


PURGED = "purged"
"""Replaces the time of a deletion after a purge."""


def line(value: Mapping[str, Any]) -> bytes:
    """A JSON object on one line. Escapes lone surrogates, as in a truncated emoji, and line ends that only some
    programs recognise."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidDataError(f"a message cannot be written as JSON: {problem}") from None
    for end in ("\x85", "\u2028", "\u2029"):
        text = text.replace(end, f"\\u{ord(end):04x}")
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, allow_nan=False).encode()


@dataclass(frozen=True)
class Line:
    """A parsed line: its byte offset in the file, and its message. `message` is None for a deletion; then `deleted` is
    the message's id, with the time if readable, and `final` says that its text is erased too."""

    offset: int
    raw: bytes
    message: KeptMessage | None = None
    deleted: str = ""
    deleted_at: datetime | None = None
    final: bool = False


def lines(data: bytes, offset: int = 0) -> Iterator[Line | None]:
    """The lines of a transcript, None for each unreadable one; blank lines are skipped.

    Args:
        offset: the position of `data` in the file.
    """
    at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if raw := data[at:end].strip():
            yield _read(raw, offset + at)
        at = end + 1


def _read(raw: bytes, offset: int) -> Line | None:
    try:
        parsed = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    message_id = parsed.get("id") if isinstance(parsed, dict) else None
    if not isinstance(message_id, str) or not message_id or not isinstance(parsed, dict):
        return None
    if DELETED in parsed:
        final = parsed.get(FINAL) is True or parsed[DELETED] == PURGED
        return Line(offset, raw, None, message_id, times.if_valid(parsed[DELETED]), final)
    message = decode(parsed)
    return Line(offset, raw, message) if message else None


def decode(fields: Mapping[str, Any]) -> KeptMessage | None:
    """The message in a line's object; None if it is not one."""
    role, content = fields.get("role"), fields.get("content")
    blocks = [text_block(fields["text"])] if isinstance(fields.get("text"), str) else content
    whole = isinstance(blocks, list) and all(isinstance(block, Mapping) for block in blocks)
    if not isinstance(role, str) or not role.strip() or not whole or not isinstance(blocks, list):
        return None
    metadata = fields.get("metadata")
    return KeptMessage(
        message_id=_text(fields, "id"),
        session=_text(fields, "session"),
        run=_text(fields, "run") or _text(fields, "session"),
        role=role.strip().lower(),
        content=tuple(blocks),
        at=times.if_valid(fields.get("at")),
        received=times.if_valid(fields.get("received")),
        name=_text(fields, "name"),
        source=_text(fields, "source"),
        metadata=metadata if isinstance(metadata, Mapping) else {},
        extra={name: value for name, value in fields.items() if name not in _KNOWN},
    )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""

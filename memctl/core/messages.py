"""Messages of a conversation, in the form of session files and of OpenAI's API.

A message is a thin view of the JSON object in the file: what it does not know, it gives back unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memctl.core import times
from memctl.errors import InvalidDataError

Count = Callable[[str], int]
"""How many tokens a text has."""

SYSTEM, USER, ASSISTANT, TOOL = ROLES = ("system", "user", "assistant", "tool")

LONGEST_COUNTED = 6_000
"""Characters by which a block that is no text (an image) is counted at most: models do not count its base64."""

_MARK = "memctl"
"""Name in a message's metadata of what memctl itself notes there."""

SUMMARY = "summary"


@dataclass(frozen=True)
class ToolCall:
    """An assistant's call of a tool; `input` are its arguments, or the text a model gave that is no JSON object."""

    id: str
    name: str
    input: Any


@dataclass(frozen=True)
class ToolResult:
    """What a tool answered to the call with this id."""

    call_id: str
    output: str


@dataclass(frozen=True)
class Message:
    """One message; `state` is the object as it is in a session's file.

    Raises:
        InvalidDataError: on `of` and `read`, where it has no role or its content is neither text nor a list of blocks.
    """

    state: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        role: str,
        content: str | Sequence[Mapping[str, Any]] = "",
        *,
        message_id: str = "",
        at: datetime | None = None,
        tokens: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Message:
        """A new message, its content as text or as blocks."""
        blocks = [text_block(content)] if isinstance(content, str) else [dict(block) for block in content]
        state: dict[str, Any] = {"id": message_id, "role": role.strip().upper(), "content": blocks}
        state |= {"timestamp": times.to_text(at) if at else "", "tokens": tokens, "metadata": dict(metadata or {})}
        return cls.read({name: value for name, value in state.items() if value not in ("", None, {})})

    @classmethod
    def read(cls, state: Any) -> Message:
        """The message a session's file holds."""
        if not isinstance(state, Mapping):
            raise InvalidDataError("a message must be an object with `role` and `content`", hint=_HINT)
        if not isinstance(state.get("role"), str) or not state["role"].strip():
            raise InvalidDataError("a message has no `role`", hint=_HINT)
        content = state.get("content")
        whole = isinstance(content, list) and all(isinstance(block, str | Mapping) for block in content)
        if content is not None and not isinstance(content, str) and not whole:
            raise InvalidDataError("the `content` of a message must be text or a list of blocks", hint=_HINT)
        return cls(state)

    # What it says

    @property
    def role(self) -> str:
        """`system`, `user`, `assistant`, `tool`, or what another program calls it, in small letters."""
        return str(self.state["role"]).strip().lower()

    @property
    def blocks(self) -> tuple[Mapping[str, Any], ...]:
        """The content as blocks."""
        content = self.state.get("content") or ()
        parts = [content] if isinstance(content, str) else content
        return tuple(text_block(part) if isinstance(part, str) else part for part in parts)

    @property
    def text(self) -> str:
        """What was said: the text blocks, a line each."""
        return "\n".join(filter(None, map(_text_of, self.blocks)))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of tools in it."""
        return tuple(ToolCall(str(b["id"]), str(b["name"]), b.get("input", {})) for b in self.blocks if is_call(b))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results of tools in it."""
        return tuple(ToolResult(_result_id(b), output_text(b)) for b in self.blocks if _is_result(b))

    @property
    def whole_text(self) -> str:
        """Everything in it that is text, what tools answered included."""
        return "\n".join(filter(None, (self.text, *(result.output for result in self.results))))

    @property
    def pairs(self) -> frozenset[str]:
        """Ids of the calls it makes or answers: messages that share one belong together."""
        return frozenset([call.id for call in self.calls] + [result.call_id for result in self.results])

    # What is noted of it

    @property
    def id(self) -> str:
        """Its own; what memctl gave it, where another program gave one id twice."""
        value = self.noted.get("id") or self.state.get("id")
        return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""

    @property
    def ids(self) -> tuple[str, ...]:
        """Its own id, and those of the messages that were merged into it."""
        merged = self.noted.get("merged")
        return tuple(filter(None, (self.id, *(map(str, merged) if isinstance(merged, list) else ()))))

    @property
    def time(self) -> datetime | None:
        """When it was said; None where it does not say."""
        try:
            return times.from_value(self.state["timestamp"]) if self.state.get("timestamp") else None
        except ValueError:
            return None

    @property
    def metadata(self) -> Mapping[str, Any]:
        value = self.state.get("metadata")
        return value if isinstance(value, Mapping) else {}

    @property
    def noted(self) -> Mapping[str, Any]:
        """What memctl noted in the metadata."""
        value = self.metadata.get(_MARK)
        return value if isinstance(value, Mapping) else {}

    @property
    def speaker(self) -> str:
        """The name of the person who said it; empty where nobody gave one."""
        named = self.state.get("name") or self.metadata.get("speaker")
        return named if isinstance(named, str) else ""

    @property
    def is_summary(self) -> bool:
        """Whether memctl wrote it in the place of older ones."""
        return self.noted.get("kind") == SUMMARY

    @property
    def is_unrecorded(self) -> bool:
        """Whether it is in the window alone: it was said while recording was paused."""
        return self.noted.get("recorded") is False

    def tokens(self, count: Count) -> int:
        """How many tokens it has: what its writer noted, else counted."""
        given = self.state.get("tokens")
        if isinstance(given, int) and not isinstance(given, bool) and given > 0:
            return given
        return sum(count(_counted(block)) for block in self.blocks)

    # Changed

    def at(self, now: datetime) -> Message:
        """Itself with a time, where it has none."""
        return self if self.state.get("timestamp") else Message({**self.state, "timestamp": times.to_text(now)})

    def with_blocks(self, blocks: Sequence[Mapping[str, Any]]) -> Message:
        """Itself with another content, of which nobody knows the tokens."""
        kept = {name: value for name, value in self.state.items() if name != "tokens"}
        return Message({**kept, "content": list(blocks)})

    def with_note(self, **notes: Any) -> Message:
        """Itself with something noted in its metadata."""
        return Message({**self.state, "metadata": {**self.metadata, _MARK: {**self.noted, **notes}}})


_HINT = 'Messages look like {"role": "user", "content": "…"}.'


def text_block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def summary_message(text: str, message_id: str, at: datetime | None, replaced: int, tokens: int) -> Message:
    """The message that stands for older ones. It is the assistant's: what it repeats of anybody must not rank as an
    instruction of the system, nor be learned as the user's own words."""
    message = Message.of(ASSISTANT, text, message_id=message_id, at=at)
    return message.with_note(kind=SUMMARY, replaced=replaced, replaced_tokens=tokens)


# Blocks


def _text_of(block: Mapping[str, Any]) -> str:
    value = block.get("text")
    return value if block.get("type", "text") == "text" and isinstance(value, str) else ""


def is_call(block: Mapping[str, Any]) -> bool:
    named = isinstance(block.get("id"), str | int) and isinstance(block.get("name"), str)
    return named and ("input" in block or block.get("type") == "tool_use")


def _is_result(block: Mapping[str, Any]) -> bool:
    return bool(_result_id(block))


def _result_id(block: Mapping[str, Any]) -> str:
    """`toolUseId` of session files, or Anthropic's `tool_use_id`."""
    value = block.get("toolUseId", block.get("tool_use_id"))
    return str(value) if isinstance(value, str | int) else ""


def output_name(block: Mapping[str, Any]) -> str:
    """Where a result has its output."""
    return "output" if "output" in block else "content"


def output_text(block: Mapping[str, Any]) -> str:
    """What a tool answered, as text."""
    value = block.get(output_name(block))
    if isinstance(value, list):
        return "\n".join(filter(None, (part if isinstance(part, str) else _output_part(part) for part in value)))
    return value if isinstance(value, str) else "" if value is None else _json(value)


def _output_part(part: Any) -> str:
    return _text_of(part) if isinstance(part, Mapping) else _json(part)


def with_output(block: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A result with another output in text; what is no text in it stays."""
    name = output_name(block)
    value = block.get(name)
    if not isinstance(value, list):
        return {**block, name: text}
    others = [part for part in value if isinstance(part, Mapping) and part.get("type", "text") != "text"]
    return {**block, name: [text_block(text), *others]}


def is_text(block: Mapping[str, Any]) -> bool:
    return bool(_text_of(block)) or (block.get("type") == "text" and isinstance(block.get("text"), str))


def is_result(block: Mapping[str, Any]) -> bool:
    return _is_result(block)


def _counted(block: Mapping[str, Any]) -> str:
    """A block as it weighs in a prompt."""
    if is_text(block):
        return _text_of(block)
    if is_call(block):
        return f"{block['name']} {_json(block.get('input', {}))}"
    if _is_result(block):
        held = block.get(output_name(block))
        parts = held if isinstance(held, list | tuple) else ()
        others = [part for part in parts if isinstance(part, Mapping) and not is_text(part)]
        return "\n".join([output_text(block), *(_json(other)[:LONGEST_COUNTED] for other in others)])
    return _json(block)[:LONGEST_COUNTED]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# A component's state


def from_state(state: Any) -> tuple[Message, ...]:
    """The messages of a Memory component.

    Raises:
        InvalidDataError: its `messages` are not a list of messages.
    """
    value = state.get("messages", []) if isinstance(state, Mapping) else None
    if not isinstance(value, list):
        raise InvalidDataError("a Memory component must hold `messages`, a list", hint=_HINT)
    return tuple(map(Message.read, value))


def to_state(messages: Sequence[Message], before: Any = None) -> dict[str, Any]:
    """The state of a Memory component; other fields of the state it had stay."""
    held = dict(before) if isinstance(before, Mapping) else {}
    return {**held, "messages": [dict(message.state) for message in messages]}


# OpenAI's form


def from_openai(message: Mapping[str, Any]) -> Message:
    """A message as OpenAI's API has it; fields that are not of that form are kept as they are.

    Raises:
        InvalidDataError: it has no role, or a content that is neither text nor a list of parts.
    """
    read = Message.read(message)
    if not {"tool_calls", "tool_call_id"} & message.keys():
        blocks = list(read.blocks)
    elif "tool_call_id" in message:
        output = message.get("content")
        blocks = [{"type": "tool_result", "toolUseId": str(message["tool_call_id"]), "output": _output(output)}]
    else:
        blocks = [*read.blocks, *map(_call_block, message.get("tool_calls") or ())]
    rest = {name: value for name, value in message.items() if name not in ("tool_calls", "tool_call_id")}
    return Message({**rest, "role": read.role.upper(), "content": blocks})


def _output(content: Any) -> list[Any]:
    return [text_block(content)] if isinstance(content, str) else list(content or [])


def _call_block(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function", {}) if isinstance(call, Mapping) else {}
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InvalidDataError("a tool call has no `function` with a `name`", hint=_HINT)
    given = function.get("arguments", {})
    return {"type": "tool_use", "id": str(call.get("id", "")), "name": function["name"], "input": _arguments(given)}


def _arguments(given: Any) -> Any:
    """Arguments come as a text of JSON; a text that is none, as models give at times, stays a text."""
    if not isinstance(given, str):
        return given
    try:
        parsed = json.loads(given)
    except (ValueError, RecursionError):
        return given
    return parsed if isinstance(parsed, dict) else given


def to_openai(message: Message) -> list[dict[str, Any]]:
    """A message as OpenAI's API wants it: one for each result of a tool, and one for the rest."""
    outputs = [{"role": TOOL, "tool_call_id": result.call_id, "content": result.output} for result in message.results]
    others = [block for block in message.blocks if not _is_result(block) and not is_call(block)]
    if not others and not message.calls:
        return outputs
    whole: dict[str, Any] = {"role": message.role, "content": _openai_content(others)}
    if message.calls:
        whole["tool_calls"] = [*map(_openai_call, message.calls)]
    return [*outputs, whole]


def _openai_content(blocks: Sequence[Mapping[str, Any]]) -> Any:
    if not blocks:
        return None
    if all(map(is_text, blocks)):
        return "\n".join(_text_of(block) for block in blocks)
    return [dict(block) for block in blocks]


def _openai_call(call: ToolCall) -> dict[str, Any]:
    given = call.input if isinstance(call.input, str) else _json(call.input)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": given}}


def identified(messages: Sequence[Message], new_id: Iterator[str]) -> tuple[Message, ...]:
    """The messages, each with an id of its own: those of other programs come without."""
    known: set[str] = set()
    named = []
    for message in messages:
        if not message.id and "id" not in message.state:
            message = Message({"id": next(new_id), **message.state})
        elif not message.id or message.id in known:
            message = message.with_note(id=next(new_id))
        known.add(message.id)
        named.append(message)
    return tuple(named)


def cleaned(message: Message, clean: Callable[[str], str]) -> Message:
    """The message with each of its texts passed through `clean`, such as to take out what was recalled into it."""
    return message.with_blocks([{**b, "text": clean(_text_of(b))} if is_text(b) else b for b in message.blocks])

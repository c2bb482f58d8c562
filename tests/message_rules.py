"""The rules by which OpenAI's and Anthropic's servers accept messages, as their API references state them.

Each function returns what is wrong, a sentence each; nothing for messages that a server accepts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
PARTS = {
    "user": {"text", "image_url", "input_audio", "file"},
    "system": {"text"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}


def openai(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Chat Completions: roles, contents, and that each call is answered by the tool messages right after it."""
    found = [problem for at, message in enumerate(messages) for problem in _openai_message(at, message)]
    ids = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    found += ["two calls have one id"] * (len(ids) != len(set(ids)))
    waiting: list[str] = []
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                found.append(f"{at}: a result without a call right before it")
            else:
                waiting.remove(message["tool_call_id"])
            continue
        found += [f"{at}: call {call_id} has no result right after it" for call_id in waiting]
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    return [*found, *(f"the end: call {call_id} has no result" for call_id in waiting)]


def _openai_message(at: int, message: Mapping[str, Any]) -> Iterator[str]:
    role, content, calls = message.get("role"), message.get("content"), message.get("tool_calls")
    if role not in PARTS:
        yield f"{at}: there is no role {role!r}"
        return
    if "tool_calls" in message and (role != "assistant" or not calls):
        yield f"{at}: tool_calls must be the assistant's, and not empty"
    if content is None and not calls:
        yield f"{at}: no content"
    if isinstance(content, str) and not content.strip():
        yield f"{at}: empty content"
    if isinstance(content, list):
        kinds = {part.get("type") for part in content}
        if not content or not kinds <= PARTS[role]:
            yield f"{at}: parts {kinds} in a message of role {role}"
    for call in calls or ():
        function = call.get("function", {})
        if call.get("type") != "function" or not isinstance(call.get("id"), str) or not call["id"]:
            yield f"{at}: a call without type or id"
        if not isinstance(function.get("name"), str) or not function["name"]:
            yield f"{at}: a call without a name"
        try:
            if not isinstance(json.loads(function["arguments"]), dict):
                yield f"{at}: arguments are no object"
        except (KeyError, TypeError, ValueError):
            yield f"{at}: arguments are no JSON text"


def anthropic(request: Mapping[str, Any]) -> list[str]:
    """Messages: turns alternate, the user's first; results stand first in the turn right after their calls."""
    found: list[str] = []
    if "system" in request and not (isinstance(request["system"], str) and request["system"].strip()):
        found.append("system must be a text that is not empty")
    turns = request["messages"]
    roles = [turn.get("role") for turn in turns]
    if any(role != ("user", "assistant")[at % 2] for at, role in enumerate(roles)):
        found.append(f"roles do not alternate from user: {roles}")
    ids = [block.get("id") for turn in turns for block in turn["content"] if block.get("type") == "tool_use"]
    found += ["two calls have one id"] * (len(ids) != len(set(ids)))
    waiting: list[str] = []
    for at, turn in enumerate(turns):
        blocks = turn["content"]
        results = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
        if sorted(results) != sorted(waiting):
            found.append(f"{at}: results {results} for calls {waiting}")
        if [block.get("type") for block in blocks[: len(results)]] != ["tool_result"] * len(results):
            found.append(f"{at}: results do not stand first")
        waiting = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        found += [f"{at}: {problem}" for block in blocks for problem in _anthropic_block(turn["role"], block)]
        found += [f"{at}: no content"] * (not blocks)
    if waiting:
        found.append(f"the end: calls {waiting} have no result")
    if turns and turns[-1]["role"] == "assistant":
        last = turns[-1]["content"][-1]
        found += ["the last text ends in a blank"] * (last.get("text", "") != last.get("text", "").rstrip())
    return found


def _anthropic_block(role: str, block: Mapping[str, Any]) -> Iterator[str]:
    kind = block.get("type")
    allowed = {"user": {"text", "image", "tool_result"}, "assistant": {"text", "tool_use"}}[role]
    if kind not in allowed:
        yield f"a block {kind!r} in a turn of role {role}"
    if kind == "text" and not block["text"].strip():
        yield "an empty text"
    if kind == "tool_use":
        if not _ID.fullmatch(block["id"]) or not _NAME.fullmatch(block["name"]):
            yield f"a call's id or name: {block['id']!r}, {block['name']!r}"
        if not isinstance(block["input"], dict):
            yield "a call's input is no object"
    if kind == "image" and set(block) != {"type", "source"}:
        yield "an image without a source"

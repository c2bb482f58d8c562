"""The tools as a model sees them: one table of names, descriptions and JSON Schema; the forms of function calling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from memctl.errors import UsageError
from memctl.models import KINDS

_MOST_ITEMS, _LONGEST, _MOST_HITS = 20, 8_000, 50


@dataclass(frozen=True)
class Tool:
    """A tool as a model sees it; the method of `Toolbox` with its name does the work.

    `destructive` says that it may take something away; what only adds does not.
    """

    name: str
    description: str
    properties: Mapping[str, Any]
    required: tuple[str, ...] = ()
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }


def _text(about: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "string", **({"description": about} if about else {}), **more}


def _texts(about: str, most: int = _MOST_ITEMS) -> dict[str, Any]:
    items = {"type": "string", "maxLength": _LONGEST}
    return {"type": "array", "items": items, "minItems": 1, "maxItems": most, "description": about}


def _object(about: str) -> dict[str, Any]:
    return {"type": "object", "description": about}


TASK_ACTIONS = ("start", "step", "note", "complete", "fail", "show")

_FULL = {"type": "boolean", "description": "Uncut."}

TOOLS: tuple[Tool, ...] = (
    Tool(
        "record_to_memory",
        "Save what will matter in later conversations: lasting facts about the user, preferences, decisions with their "
        "reasons, what worked or failed. Not small talk, secrets, or what memory told you.",
        {
            "thinking": _text("Why this is worth keeping."),
            "content": _texts("One self-contained sentence each, with names and dates instead of 'he' or 'today'."),
        },
        ("thinking", "content"),
    ),
    Tool(
        "retrieve_from_memory",
        "Recall what is known about some keywords. Use it before you ask the user something, and when a task begins.",
        {"keywords": _texts("Names, topics, dates.")},
        ("keywords",),
        read_only=True,
    ),
    Tool(
        "search_memory",
        "Ask memory a question, with filters.",
        {
            "query": _text("A question or keywords.", maxLength=_LONGEST),
            "limit": {"type": "integer", "minimum": 1, "maximum": _MOST_HITS, "default": 5},
            "category": _text("Such as work, life, preference, emotion, strategy."),
            "kind": _text(enum=list(KINDS)),
            "tag": _text(),
            "user": _text("Only this user's memories: yours, or one shared with you."),
            "full": _FULL,
        },
        ("query",),
        read_only=True,
    ),
    Tool(
        "show_memory",
        "Show one memory with its details and its reflection, or a passage of a document.",
        {"id": _text("Its id, as an answer names it."), "full": _FULL},
        ("id",),
        read_only=True,
    ),
    Tool(
        "give_feedback",
        "Say that memories were right and helped (up), or were wrong, outdated or misleading (down).",
        {
            "ids": _texts("The memories."),
            "judgement": _text(enum=["up", "down"]),
            "reason": _text("What was wrong or helpful.", maxLength=_LONGEST),
            "receipt": _text("Receipt of the answer they stood in."),
        },
        ("ids", "judgement"),
    ),
    Tool(
        "forget_memory",
        "Move memories to the trash, when the user asks you to forget. A person can restore them.",
        {"ids": _texts("The memories."), "reason": _text()},
        ("ids",),
        destructive=True,
    ),
    Tool(
        "suggest_strategy",
        "After a tool call failed: what mended the same error before.",
        {
            "tool": _text("The tool that failed."),
            "error": _text("The error's type, such as ValueError."),
            "message": _text("The error's message."),
            "arguments": _object("The arguments that failed."),
            "context": _object("What else you know."),
        },
        ("tool", "error"),
        read_only=True,
    ),
    Tool(
        "record_strategy",
        "After you mended a failed tool call: remember how.",
        {
            "tool": _text(),
            "error": _text("The error's type."),
            "message": _text("The error's message."),
            "original": _object("All arguments that failed."),
            "fixed": _object("All arguments that worked."),
            "context": _object("What you knew."),
        },
        ("tool", "error", "original", "fixed"),
    ),
    Tool(
        "strategy_outcome",
        "Say whether a suggested strategy helped.",
        {"id": _text("The strategy."), "success": {"type": "boolean"}, "reason": _text("Why it failed.")},
        ("id", "success"),
    ),
    Tool(
        "task",
        "Keep track of a task of several steps: it survives a restart, and what it taught is kept. Start it, tell of "
        "each step, then complete it or say that it failed.",
        {
            "action": _text(enum=list(TASK_ACTIONS)),
            "text": _text("The request (start), the step, the finding (note), or what came of it (complete, fail)."),
            "plan": _texts("With start: the steps."),
            "tool": _text("With step: the tool that was used."),
            "arguments": _object("Its arguments."),
            "result": _text("With step: what it gave.", maxLength=_LONGEST),
            "error": _text("With step: how it failed.", maxLength=_LONGEST),
            "lessons": _texts("With complete or fail: what to do next time."),
            "session": _text("The conversation, where there are several."),
        },
        ("action",),
    ),
    Tool(
        "read_offloaded",
        "Read a long content that was taken out of the conversation; a reference stands in its place.",
        {
            "reference": _text("As it stands in the conversation."),
            "offset": {"type": "integer", "minimum": 0, "maximum": 10**9, "description": "Character to begin at."},
            "full": _FULL,
        },
        ("reference",),
        read_only=True,
    ),
)


def named(name: str) -> Tool:
    """The tool of that name.

    Raises:
        UsageError: there is none.
    """
    known = {tool.name: tool for tool in TOOLS}
    if name in known:
        return known[name]
    near = get_close_matches(name, known, 1)
    guess = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f"there is no tool {name!r}", hint=f"Tools: {', '.join(known)}.{guess}")


def as_openai() -> list[dict[str, Any]]:
    """The tools for OpenAI-style function calling."""
    return [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.schema}}
        for t in TOOLS
    ]


def as_anthropic() -> list[dict[str, Any]]:
    """The tools for Anthropic-style tool use."""
    return [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in TOOLS]

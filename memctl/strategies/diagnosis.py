"""What a language model is asked about a call that failed, and how its answer is read.

The failure goes into the prompt as JSON inside of a fence, without secrets: an error's message may hold anybody's text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memctl.context.fence import fenced
from memctl.core.models import Memory
from memctl.core.tagged import as_json
from memctl.providers.asking import conversation

TAG = "failed_call"

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "fixable": {"type": "boolean", "description": "whether other arguments can make the call succeed"},
        "arguments": {"type": "object", "description": "all arguments of the corrected call"},
        "explanations": {"type": "object", "additionalProperties": {"type": "string"}},
        "reason": {"type": "string", "description": "what is wrong, in one sentence"},
    },
    "required": ["fixable", "reason"],
}

_SYSTEM = """You analyse a call of a tool that failed, and correct its arguments.
Use only values that stand in the call, in its context, or in the tool's definition; never invent any. Change as little
as you can. If no arguments could help (a permission, a missing service), say that it is not fixable. `explanations`
says for each argument you changed why. Leave `[redacted]` where it stands. Answer in the language of the error's
message."""


@dataclass(frozen=True)
class Diagnosis:
    """A model's answer. `arguments` is None where it sees nothing that could be corrected."""

    arguments: dict[str, Any] | None
    explanations: Mapping[str, str]
    reason: str


def messages(failed: Mapping[str, Any], related: Sequence[Memory]) -> list[dict[str, str]]:
    """The conversation.

    Args:
        failed: the failure in plain JSON, without secrets.
        related: strategies that are like it.
    """
    known = f"\n\nWhat helped in cases that may be alike:\n{fenced(related)}" if related else ""
    return conversation(_SYSTEM, f"{as_json(TAG, failed)}{known}")


def read(answer: Any) -> Diagnosis:
    """The model's answer.

    Raises:
        ValueError: it is not of the form that was asked for.
    """
    if not isinstance(answer, Mapping) or not isinstance(answer.get("fixable"), bool):
        raise ValueError("it cannot be understood")
    found, told, reason = answer.get("arguments"), answer.get("explanations"), answer.get("reason")
    arguments = dict(found) if answer["fixable"] and isinstance(found, Mapping) else None
    texts = (
        {str(name): text for name, text in told.items() if isinstance(text, str)} if isinstance(told, Mapping) else {}
    )
    return Diagnosis(arguments, texts, reason if isinstance(reason, str) else "")

"""Likely secrets in memories: refused or masked before they are stored, by setting."""

from __future__ import annotations

from dataclasses import replace

from memctl import secrets
from memctl.errors import RefusedError
from memctl.files import codec
from memctl.models import Memory

_FIELDS = ("content", "key", "subcategory", "tags", "metadata", "extra")


def guarded(memory: Memory, policy: str, *, before: Memory | None = None) -> Memory:
    """A memory as it may be stored: as it is, or with its likely secrets masked.

    Args:
        policy: `refuse`, `mask` or `allow`.
        before: the record it replaces; what it holds already is left.

    Raises:
        RefusedError: it holds a likely secret, and these are refused. The message does not repeat it.
    """
    if policy == secrets.ALLOW:
        return memory
    known = codec.dump(codec.encode(before)) if before else ""
    fields = {name: secrets.guarded(getattr(memory, name), policy, _said(name), known=known) for name in _FIELDS}
    value = secrets.guarded(memory.value, policy, "the value", name=memory.key, known=known)
    return replace(memory, **fields, value=value)


def _said(name: str) -> str:
    return "the text" if name == "content" else f"the field {name}"


def refused(memory: Memory, detail: str = "") -> str:
    """Why a memory, or the Markdown that goes with it, is not to be stored; empty where it may be."""
    try:
        guarded(memory, secrets.REFUSE)
        secrets.guarded(detail, secrets.REFUSE, "its Markdown")
    except RefusedError as problem:
        return problem.message.partition(";")[0]
    return ""

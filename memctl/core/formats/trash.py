"""Forgetting to the trash, and back. (Purging is in `memctl/purge`.)"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, count
from typing import Any

from memctl.core import times
from memctl.core.formats import codec, reflections
from memctl.core.models import TRASH, Memory, TextEdit
from memctl.errors import InvalidDataError

FORGOTTEN, EXPIRED = "forgotten", "expired"


@dataclass(frozen=True)
class Trashed:
    """A memory in the trash, with the reflection that went with it."""

    memory: Memory
    trashed_at: datetime
    reason: str
    reflection: bytes | None = None


def name_of(memory_id: str) -> str:
    """The text that a forgotten memory is."""
    return TRASH + reflections.path_for(memory_id).removeprefix(reflections.FOLDER).removesuffix(".md")


def to_trash(
    memory: Memory, reflection: bytes | None, in_trash: bytes | None, reason: str, now: datetime
) -> list[TextEdit]:
    """The file edits that move a memory to the trash, its own reflection with it.

    Args:
        reflection: content of the reflection that goes too; None where there is none or others refer to it.
        in_trash: what lies in the trash under this name already.
    """
    value: dict[str, Any] = {"memory": codec.encode(memory), "trashed_at": times.to_text(now), "reason": reason}
    edits = []
    if reflection is not None:
        value["reflection"] = codec.pack(reflection)
        edits.append(TextEdit(memory.summary_md_ref, reflection, None))
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return [*edits, TextEdit(name_of(memory.memory_id), in_trash, text.encode())]


def read_trashed(data: bytes, path: str) -> Trashed:
    """A file of the trash.

    Raises:
        InvalidDataError: it is not one.
    """
    try:
        parsed = json.loads(data)
        memory = codec.decode(parsed["memory"])
        reflection = codec.unpack(parsed.get("reflection"))
        return Trashed(memory, times.from_value(parsed["trashed_at"]), str(parsed.get("reason", "")), reflection)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        hint = "Mend the file by hand; nothing was changed."
        raise InvalidDataError(f"is no memory that was forgotten: {problem}", path=path, hint=hint) from None


def from_trash(trashed: Trashed, in_trash: bytes, read: Callable[[str], bytes | None]) -> tuple[Memory, list[TextEdit]]:
    """A memory as it comes back, and the file edits that bring it.

    Where something else has been written in the place of its reflection meanwhile, both stay: the one that comes back
    is put beside it, and the memory refers to that.

    Args:
        read: a file's content; None where there is none.
    """
    memory, reflection = trashed.memory, trashed.reflection
    edits = [TextEdit(name_of(memory.memory_id), in_trash, None)]
    if reflection is None or not reflections.is_reference(memory.summary_md_ref):
        return memory, edits
    own = reflections.path_for(memory.memory_id)
    others = (own if n == 1 else f"{own.removesuffix('.md')}-{n}.md" for n in count(1))
    path = next(path for path in chain((memory.summary_md_ref,), others) if read(path) in (None, reflection))
    if read(path) is None:
        edits.append(TextEdit(path, None, reflection))
    return replace(memory, summary_md_ref=path), edits

"""Moving memories to the trash and restoring them. (For purging, see `memctl/purge`.)"""

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
    """A memory in the trash, with its reflection."""

    memory: Memory
    trashed_at: datetime
    reason: str
    reflection: bytes | None = None


def name_of(memory_id: str) -> str:
    """The name of a forgotten memory's text."""
    return TRASH + reflections.path_for(memory_id).removeprefix(reflections.FOLDER).removesuffix(".md")


def to_trash(
    memory: Memory, reflection: bytes | None, in_trash: bytes | None, reason: str, now: datetime
) -> list[TextEdit]:
    """The file edits that move a memory and its own reflection to the trash.

    Args:
        reflection: content of the reflection to move; None if there is none or other memories use it.
        in_trash: the existing trash file of this name.
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
        hint = "Correct the file by hand; nothing was changed."
        raise InvalidDataError(f"is not a forgotten memory: {problem}", path=path, hint=hint) from None


def from_trash(trashed: Trashed, in_trash: bytes, read: Callable[[str], bytes | None]) -> tuple[Memory, list[TextEdit]]:
    """A restored memory, and the file edits that restore it.

    If its reflection's path is in use by now, the restored reflection gets another path, and the memory refers to that.

    Args:
        read: a file's content; None if it does not exist.
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

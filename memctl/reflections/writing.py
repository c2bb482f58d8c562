"""Writing what memctl made into a reflection's file; where a person edited that, a proposal goes beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memctl.core import records
from memctl.core.formats import reflections
from memctl.core.models import Memory, Reflection, TextEdit
from memctl.errors import InvalidDataError
from memctl.storage.ports.view import View

WRITTEN, REFRESHED, UNCHANGED, PROPOSED = "written", "refreshed", "unchanged", "proposed"

MOST_LISTED = 500


@dataclass(frozen=True)
class Written:
    """What became of a body.

    Args:
        outcome: `written`, `refreshed`, `unchanged`, or `proposed`, where a person had edited the file.
        path: of the file, or of the proposal.
        edits: the change of that file; none where it says the same already.
    """

    outcome: str
    path: str
    edits: tuple[TextEdit, ...] = ()


def written(
    view: View,
    record: Memory,
    body: str,
    now: datetime,
    fixed: Mapping[str, Any] | None = None,
    *,
    beside_broken: bool = False,
) -> Written:
    """Write the body of a record's reflection.

    Args:
        fixed: fields of the front matter to set; else what is in the file stays.
        beside_broken: lay a proposal beside a file that cannot be read, too.

    Raises:
        InvalidDataError: the file is there and cannot be read.
    """
    path, own = record.summary_md_ref, {**(fixed or {}), "sources": listed(record.sources)}
    before = view.read(path)
    if before is None:
        data = reflections.render_generated({**records.front_matter(record), **own}, body)
        return Written(WRITTEN, path, (TextEdit(path, None, data),))
    current = _read(before, path) if beside_broken else reflections.parse(before, path)
    fields = {**records.front_matter(record), **(current.fields if current else {}), **own, "updated_at": now}
    data = reflections.render_generated(fields, body, before if current else None)
    if current is None or reflections.hand_edited(current):
        path = proposal_path(path)
        beside = view.read(path)
        same = beside is not None and (proposal := _read(beside, path)) and proposal.body.strip() == body.strip()
        return Written(PROPOSED, path, () if same else (TextEdit(path, beside, data),))
    if current.body.strip() == body.strip() and _made_of_the_same(current.fields, own):
        return Written(UNCHANGED, path)
    return Written(REFRESHED, path, (TextEdit(path, before, data),))


def _read(data: bytes, path: str) -> Reflection | None:
    try:
        return reflections.parse(data, path)
    except InvalidDataError:
        return None


def proposal_path(path: str) -> str:
    return path.removesuffix(".md") + ".proposed.md"


def listed(sources: Sequence[str]) -> list[str]:
    """Sources as they are in a file; of very many only the record keeps the list: front matter has a limit."""
    return list(sources) if len(sources) <= MOST_LISTED else []


def _made_of_the_same(held: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    digest = own.get("sources_hash")
    return bool(held.get("sources", []) == own["sources"] and held.get("sources_hash", digest) == digest)

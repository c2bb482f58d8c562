"""Reflections whose file was renamed."""

from __future__ import annotations

from memctl.core.formats import reflections
from memctl.storage.folder.view import FolderView


def relinks(view: FolderView) -> dict[str, str]:
    """Maps records whose reflection is missing to the one file whose front matter has their id: it was renamed, or
    written by hand."""
    named: dict[str, list[str]] = {}
    for row in view.unreferred():
        named.setdefault(row.memory_id, []).append(row.path)
    return {name: paths[0] for name, paths in named.items() if len(paths) == 1 and not has_reflection(view, name)}


def has_reflection(view: FolderView, memory_id: str) -> bool:
    """Whether the reflection that a record refers to exists."""
    path = view.need(memory_id).summary_md_ref
    return reflections.is_reference(path) and (view.folder.root / path).exists()

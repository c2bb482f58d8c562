"""Documents: rendered, edited with a preview, and removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memctl.core.formats import knowledge
from memctl.documents.service import Document
from memctl.errors import NotFoundError, RefusedError, UsageError
from memctl.web import moments
from memctl.web.asking import Action, Asked, Done, Form, Page, Shown, command
from memctl.web.editing import LARGEST
from memctl.web.reflecting import made_of

MARKDOWN = (".md", ".markdown")


def values(asked: Asked) -> Mapping[str, Any]:
    """The values of the list."""
    then = asked.past()
    changed = {path: data for path, data in then.files.items() if knowledge.is_document(path)} if then else {}
    kept = [each for each in asked.store.documents.all() if each.path not in changed]
    past = [Document(path, len(data), 0) for path, data in changed.items() if data is not None]
    return {
        "documents": sorted((*kept, *past), key=lambda each: each.path),
        "commands": ("memctl knowledge list",),
    }  # fmt: skip


def one(asked: Asked) -> Mapping[str, Any]:
    """The values of the page of one document."""
    path = knowledge.FOLDER + asked.path["name"]
    text = _text(asked, path)
    return {
        "path": path, "text": text, "rendered": path.lower().endswith(MARKDOWN) and not asked.one("plain"),
        "made": made_of(text), "editable": len(text) <= LARGEST,
        "commands": (command("knowledge", "show", path.removeprefix(knowledge.FOLDER)),),
    }  # fmt: skip


def _text(asked: Asked, path: str) -> str:
    """The text of a document at the moment that is looked at.

    Raises:
        NotFoundError: there is none of that name.
        InvalidDataError: it cannot be read.
    """
    if not asked.moment.past:
        return asked.store.documents.show(path).text
    data = moments.text(asked.store, asked.past(), path) if knowledge.is_document(path) else None
    if data is None:
        raise NotFoundError(f"There was no document {path!r} at that time.")
    return knowledge.decode(data, path)


def edit(asked: Asked) -> Mapping[str, Any]:
    """The values of the editor."""
    path = knowledge.FOLDER + asked.path["name"]
    text = _text(asked, path)
    if len(text) > LARGEST:
        raise UsageError("This document is too large for a field of a page.", hint="Open its file in your editor.")
    return _editor(path, text, text)


def _editor(path: str, text: str, present: str, problem: str = "", secret: bool = False) -> Mapping[str, Any]:
    return {
        "title_of": path, "where": f"/{path}", "text": text, "made": made_of(present), "present": present,
        "problem": problem, "secret": secret, "action": "save-document",
    }  # fmt: skip


def _save(asked: Asked, form: Form) -> Done | Shown:
    """Save the text of a document; show both where the file was changed meanwhile."""
    path, text = form.get("path", ""), form.get("text", "").replace("\r\n", "\n")
    present = asked.store.documents.show(path).text
    if made_of(present) != form.get("made"):
        problem = "This document was changed since you began. Nothing was saved: look at both."
        return Shown("editor.html", _editor(path, text, present, problem))
    if text == present:
        return Done(f"/{path}", "Nothing was changed.")
    secret = bool(form.get("allow_secret"))
    try:
        asked.store.documents.save(path, text, expected=present, allow_secret=secret, now=asked.now)
    except RefusedError as refused:
        if "secret" not in refused.hint:
            raise
        return Shown("editor.html", _editor(path, text, present, f"{refused.message}. {refused.hint}", True), 422)
    return Done(f"/{path}")


def _remove(asked: Asked, form: Form) -> Done:
    """Remove a document, if it is still what the page has shown."""
    path = form.get("path", "")
    if made_of(asked.store.documents.show(path).text) != form.get("made"):
        raise RefusedError(f"{path} was changed since this page was made.", hint="Look at it again.")
    asked.store.documents.remove([path], now=asked.now)
    return Done("/documents")


PAGES = (
    Page("/documents", "documents.html", values, "Documents"),
    Page("/edit-document/{name:path}", "editor.html", edit, "Documents", present=True),
    Page("/knowledge/{name:path}", "document.html", one, "Documents"),
)
ACTIONS = (Action("save-document", _save), Action("remove-document", _remove))

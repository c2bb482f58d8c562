"""Reflections: rendered beside their sources, edited with a preview, and the proposals beside those a person edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memctl.core.formats import codec, reflections
from memctl.core.models import Memory, Reflection
from memctl.errors import ConflictError, MemctlError, NotFoundError, RefusedError
from memctl.store import MemoryStore
from memctl.web import moments
from memctl.web.asking import Action, Asked, Done, Form, Page, Shown, back, command
from memctl.web.changing import named, version

LISTED = 60


@dataclass(frozen=True)
class Listed:
    """A reflection in the list: its file, its title, its record, and what is to be said of it."""

    path: str
    title: str
    memory: Memory | None
    edited: bool
    proposed: bool
    problem: str = ""


def values(asked: Asked) -> Mapping[str, Any]:
    """The values of the list."""
    then, view = asked.past(), asked.store.engine.view()
    names = sorted({*view.texts((reflections.FOLDER,)), *(then.files if then else ())})
    paths = [name for name in names if reflections.is_reference(name)]
    offset = asked.number("offset", 0, 10**7)
    listed = [each for path in paths[offset : offset + LISTED] if (each := _listed(asked, path))]
    stale = {each.path: each.why for each in (() if asked.moment.past else asked.check("stale").value or ())}
    return {
        "listed_reflections": listed, "stale": stale, "total": len(paths), "offset": offset, "listed": LISTED,
        "commands": ("memctl reflect --stale --dry-run",),
    }  # fmt: skip


def _listed(asked: Asked, path: str) -> Listed | None:
    try:
        reflection = _reflection(asked, path)
        proposed = not asked.moment.past and asked.store.reflections.proposal(path) is not None
    except NotFoundError:
        return None
    except MemctlError as problem:
        return Listed(path, path, None, False, False, problem.message)
    edited = reflections.hand_edited(reflection)
    return Listed(path, reflection.title, _record(asked.store, reflection), edited, proposed)


def _reflection(asked: Asked, path: str) -> Reflection:
    """A reflection at the moment that is looked at.

    Raises:
        NotFoundError: there is none.
        InvalidDataError: it cannot be read.
    """
    data = moments.text(asked.store, asked.past(), path) if reflections.is_reference(path) else None
    if data is None:
        raise NotFoundError(f"There is no reflection {path!r}.", hint="`memctl reflect` writes them.")
    return reflections.parse(data, path)


def _record(store: MemoryStore, reflection: Reflection) -> Memory | None:
    view = store.engine.view()
    if reflection.memory_id and (memory := view.get(reflection.memory_id)):
        return memory
    return next((view.get(each) for each in sorted(view.referring(reflection.path))), None)


def one(asked: Asked) -> Mapping[str, Any]:
    """The values of the page of one reflection."""
    path = reflections.FOLDER + asked.path["name"]
    reflection = _reflection(asked, path)
    memory = _record(asked.store, reflection)
    proposal = None if asked.moment.past else asked.store.reflections.proposal(path)
    stale = {each.path: each.why for each in (() if asked.moment.past else asked.check("stale").value or ())}
    return {
        "path": path, "reflection": reflection, "memory": memory, "sources": _sources(asked.store, memory, reflection),
        "edited": reflections.hand_edited(reflection), "proposal": proposal, "stale": stale.get(path, ""),
        "made": made_of(proposal.body) if proposal else "",
        "version": lambda memory: version(asked.store, memory.memory_id),
        "commands": (command("show", memory.memory_id),) if memory else (),
    }  # fmt: skip


def _sources(store: MemoryStore, memory: Memory | None, reflection: Reflection) -> list[Memory]:
    named_in = reflection.fields.get("sources")
    ids: Sequence[Any] = memory.sources if memory and memory.sources else named_in if isinstance(named_in, list) else ()
    view = store.engine.view()
    return [source for each in ids if (source := view.get(str(each)))]


def made_of(text: str) -> str:
    """What names a text that a page was made from."""
    return codec.digest(text.strip().encode("utf-8", "surrogatepass"))


# Editing


def edit(asked: Asked) -> Mapping[str, Any]:
    """The values of the editor."""
    path = reflections.FOLDER + asked.path["name"]
    reflection = _reflection(asked, path)
    memory = _record(asked.store, reflection)
    commands = (f"{command('edit', memory.memory_id)} --reflection",) if memory else ()
    return {**_editor(path, reflection.body, reflection.body), "commands": commands}


def _editor(path: str, text: str, present: str, problem: str = "", secret: bool = False) -> Mapping[str, Any]:
    """
    Args:
        present: what the file says now, where that is not what the text was made from.
    """
    return {
        "title_of": path, "where": f"/{path}", "text": text, "made": made_of(present), "present": present,
        "problem": problem, "secret": secret, "action": "save-reflection",
    }  # fmt: skip


def _save(asked: Asked, form: Form) -> Done | Shown:
    """Save the Markdown of a reflection; show both where the file was changed meanwhile."""
    path, text = form.get("path", ""), form.get("text", "").replace("\r\n", "\n")
    reflection = _reflection(asked, path)
    if made_of(reflection.body) != form.get("made"):
        problem = "This file was changed since you began. Nothing was saved: look at both."
        return Shown("editor.html", _editor(path, text, reflection.body, problem))
    memory = _record(asked.store, reflection)
    if memory is None:
        hint = "The next change of a memory gives it one, and so does `memctl doctor --fix`."
        raise NotFoundError(f"{path} has no record yet.", hint=hint)
    if made_of(text) == made_of(reflection.body):
        return Done(f"/{path}", "Nothing was changed.")
    try:
        asked.store.write_reflection(
            memory, text, expected=reflection.body, allow_secret=bool(form.get("allow_secret")), now=asked.now
        )
    except ConflictError:
        raise
    except RefusedError as refused:
        return Shown(
            "editor.html", _editor(path, text, reflection.body, f"{refused.message}. {refused.hint}", True), 422
        )
    return Done(f"/{path}")


def _reflect(asked: Asked, form: Form) -> Done:
    """Rebuild a reflection from its sources; one that a person edited gets a proposal beside it."""
    done = asked.store.reflections.write([named(asked, form)], now=asked.now)
    return Done(back(form, f"/{done.path}"), f"It is up to date: {done.path}")


def _settle(asked: Asked, form: Form) -> Done:
    """Take a proposal, or throw it away."""
    path = form.get("path", "")
    proposal = asked.store.reflections.proposal(path) if reflections.is_reference(path) else None
    if proposal is None or made_of(proposal.body) != form.get("made"):
        raise ConflictError(f"The proposal beside {path} has changed.", hint="Look at it again.")
    accept = bool(form.get("accept"))
    asked.store.reflections.settle_proposal(path, accept=accept, expected=proposal.body, now=asked.now)
    return Done(f"/{path}")


def _preview(asked: Asked, form: Form) -> Shown:
    """A text as it will look; nothing is written."""
    return Shown("preview.html", {"text": form.get("text", "")}, 200)


PAGES = (
    Page("/reflections", "reflections.html", values, "Reflections"),
    Page("/edit-reflection/{name:path}", "editor.html", edit, "Reflections", present=True),
    Page("/reflections/{name:path}", "reflection.html", one, "Reflections"),
)
ACTIONS = (
    Action("save-reflection", _save),
    Action("reflect", _reflect),
    Action("settle-proposal", _settle),
    Action("preview", _preview),
)

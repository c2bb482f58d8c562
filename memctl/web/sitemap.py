"""All pages and actions of the site."""

from __future__ import annotations

from memctl.web import (
    changing,
    conversations,
    documents,
    editing,
    history,
    memory,
    reflecting,
    searching,
    storing,
    tasks,
    today,
    undoing,
)
from memctl.web.requests import Action, Page

NAVIGATION = (
    ("Today", "/"), ("Search", "/search"), ("Conversations", "/conversations"), ("Tasks", "/tasks"),
    ("Reflections", "/reflections"), ("Documents", "/documents"), ("History", "/history"), ("Store", "/store"),
)  # fmt: skip

_MODULES = (today, searching, memory, editing, conversations, tasks, reflecting, documents, history, storing)
_ACTING = (today, changing, editing, reflecting, documents, undoing)

PAGES: tuple[Page, ...] = tuple(page for module in _MODULES for page in module.PAGES)
ACTIONS: tuple[Action, ...] = tuple(action for module in _ACTING for action in module.ACTIONS)

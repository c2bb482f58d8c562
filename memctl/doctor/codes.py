"""What a finding is called, by which it is mended."""

from __future__ import annotations

UNREADABLE = "unreadable"
GONE = "gone"
BAD_RECORD = "bad-record"
REPEATED = "repeated-id"
PURGED = "purged"
INCOMPLETE = "incomplete"
CIRCLE = "circle"
DANGLING = "dangling"
ORPHAN = "orphan"
MISSING_REFLECTION = "missing-reflection"
PERMISSION = "permission"
LEFTOVER = "leftover"
LOCKED = "locked"
WAITING = "waiting"
FORM = "form"
CHANGED_ID = "changed-id"
SESSION = "session"
NAME = "name"
INDEX = "index"
KIND = "kind"
SECRET = "secret"
OWN_WORD = "own-word"

BROKEN = frozenset({UNREADABLE, GONE, BAD_RECORD, REPEATED, PURGED, KIND, CIRCLE})
"""Findings because of which a memory is not in any answer, or cannot be written."""

"""What is wrong with transcripts and their attachments, and repairing what has one meaning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from memctl.core.formats import document
from memctl.core.models import Problem
from memctl.doctor.codes import (
    ATTACHMENT,
    BAD_RECORD,
    COPY,
    MISPLACED,
    PERMISSION,
    TORN,
    TRACKED,
    UNUSED,
    VERSIONS,
)
from memctl.errors import MemctlError
from memctl.git import transcripts as in_git
from memctl.storage.files import transcript_scan, transcripts
from memctl.storage.files.layout import UserFolder
from memctl.storage.files.transcript_scan import Place

REPAIRED = frozenset({TORN, COPY, UNUSED})
"""Findings that `repair` takes care of."""

_SHOWN = 20
"""How many findings of one sort are listed; the last one says how many more there are."""


def findings(folder: UserFolder) -> Iterator[Problem]:
    """All of it, in the order of the files."""
    if folder.transcripts.is_symlink() or not folder.transcripts.is_dir():
        return
    yield from _in_git(folder)
    places = [*transcript_scan.places(folder)]
    yield from _limited([*_unreadable(folder, places)])
    yield from _limited([*_repeated(places)])
    yield from _limited([*_misplaced(places)])
    yield from _limited([*_attachments(folder, places)])


def _limited(problems: Sequence[Problem]) -> Iterator[Problem]:
    """As many as a person reads; but all that can be repaired count as one sort."""
    yield from problems[:_SHOWN]
    if len(problems) > _SHOWN:
        last = problems[_SHOWN]
        yield Problem(last.path, f"and {len(problems) - _SHOWN} more of this kind", code=last.code, fix=last.fix)


def _in_git(folder: UserFolder) -> Iterator[Problem]:
    try:
        state = in_git.state(folder)
    except MemctlError as problem:
        yield Problem(transcripts.MARK, problem.message, code=PERMISSION)
        return
    if state.files and not state.shared and not state.private:
        yield Problem("transcripts", "is not kept out of git", 0, f"write {transcripts.MARK}", PERMISSION)
    elif state.problem:
        way = "`memctl git transcripts` shows what to do"
        yield Problem("transcripts", f"{state.problem} ({way})", code=TRACKED)


def _unreadable(folder: UserFolder, places: Sequence[Place]) -> Iterator[Problem]:
    for place in places:
        if place.read is not None:
            continue
        if transcript_scan.is_torn(folder, place):
            yield Problem(place.path, "ends in a line that a crash cut off", place.number, "remove it", TORN)
        elif document.conflict_line(place.raw.decode("utf-8", "replace")):
            message = "holds git conflict markers: `memctl git settle` merges the two sides"
            yield Problem(place.path, message, place.number, code=BAD_RECORD)
        else:
            message = "cannot be read as a message (left as it is, not in answers)"
            yield Problem(place.path, message, place.number, code=BAD_RECORD)


def _repeated(places: Sequence[Place]) -> Iterator[Problem]:
    for each in transcript_scan.repeated(places):
        last = each.versions[-1]
        for place in each.copies:
            yield Problem(
                place.path, f"{each.message_id} stands again in {last}", place.number, "remove the copy", COPY
            )
        for place in each.versions[:-1]:
            message = (
                f"{each.message_id} says something different in {last}, which is in answers: delete one of the two"
            )
            yield Problem(place.path, message, place.number, code=VERSIONS)


def _misplaced(places: Sequence[Place]) -> Iterator[Problem]:
    for place in places:
        if place.read and place.read.message and transcript_scan.misplaced(place):
            message = f"{place.read.message.message_id} was received in another month (it is found all the same)"
            yield Problem(place.path, message, place.number, code=MISPLACED)


def _attachments(folder: UserFolder, places: Sequence[Place]) -> Iterator[Problem]:
    named: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        for name in transcripts.attachments_of(place.read.message) if place.read and place.read.message else ():
            named[name].append(place)
    for name, users in named.items():
        if problem := transcript_scan.attachment_problem(folder, name):
            message = f"the attachment {name} {problem}; only the beginning of the text is left"
            yield Problem(users[0].path, message, users[0].number, code=ATTACHMENT)
    for name in transcript_scan.unused_attachments(folder):
        yield Problem(transcripts.attachment(name), "is named by no message", 0, "delete it", UNUSED)


def repair(folder: UserFolder, codes: set[str], *, timeout: float) -> None:
    """Repair what is repaired without a choice: what a crash cut off, lines that say the same, attachments that no
    message names. Everything is looked at again with the lock held, in which messages are added."""
    with transcripts.locked(folder, timeout=timeout):
        if TORN in codes:
            for path in transcripts.files(folder):
                transcripts.clear_torn_end(folder, path)
        if COPY in codes:
            transcript_scan.without_copies(folder)
        if UNUSED in codes:
            transcript_scan.remove_attachments(folder, transcript_scan.unused_attachments(folder))

"""`add --extract`: learning from a conversation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memctl.cli import options, render
from memctl.cli.options import current
from memctl.present import plain, reports

if TYPE_CHECKING:
    from memctl.extraction.extract import Extracted, ExtractReport, Utterance

_ENDINGS = (".txt", ".md", ".json", ".jsonl", ".log")


def learn(text: list[str], dry_run: bool, allow_secret: bool = False) -> None:
    """Learn from a conversation: `-` for standard input, a file, or the text itself."""
    given, path = _given(text)
    with options.opened() as store:
        said = _conversation(given, path, store.user)
        report = store.extraction.run(said, dry_run=dry_run, allow_secret=allow_secret)
    if current.json:
        render.as_json(reports.extraction(report, dry_run))
        return
    render.table(("", "confidence", "what", "text"), [_row(found) for found in report.proposals], right=(1,))
    for note in report.notes:
        render.warn(f"note: {note}")
    render.say(_summary(report, dry_run))


def _conversation(text: str, path: str, user: str) -> tuple[Utterance, ...]:
    from memctl.extraction import conversations

    return conversations.parse(text, user, path)


def _given(text: list[str]) -> tuple[str, str]:
    """The conversation's text, and the file it stands in."""
    from memctl.errors import NotFoundError, UsageError

    if text == ["-"]:
        return options.standard_input(), ""
    if not text:
        raise UsageError("nothing to extract from", hint="memctl add --extract chat.txt, or - to read standard input")
    if len(text) == 1 and os.path.isdir(text[0]):  # noqa: PTH112 (a long text is no possible name: Path would raise)
        raise UsageError(
            f"{text[0]} is a folder", hint="Name one file, or pipe several: cat *.txt | memctl add --extract -"
        )
    if len(text) == 1 and os.path.isfile(text[0]):  # noqa: PTH113
        return _read(Path(text[0])), text[0]
    if len(text) == 1 and text[0].endswith(_ENDINGS) and not any(mark in text[0] for mark in " \n"):
        raise NotFoundError(f"no file {text[0]}")
    return " ".join(text), ""


def _read(path: Path) -> str:
    from memctl.errors import InvalidDataError
    from memctl.storage.files import atomic

    try:
        return (atomic.read_given(path) or b"").decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise InvalidDataError(f"is not valid UTF-8 (byte {problem.start})", path=str(path)) from None


def _row(found: Extracted) -> tuple[str, ...]:
    proposal = found.proposal
    place = "/".join(filter(None, (proposal.category, proposal.subcategory or proposal.kind)))
    what = f"{place} {proposal.key} = {_shown(proposal.value)}" if proposal.key else place
    until = f" (for {proposal.expires_in_days} days)" if proposal.expires_in_days else ""
    rivals = ", ".join(found.memory.conflicts_with) if found.memory else ""
    against = (
        f" (against {rivals})" if rivals else f" (instead of {', '.join(found.replaced)})" if found.replaced else ""
    )
    return (found.outcome, f"{proposal.confidence:.2f}", what + until + against, plain.one_line(proposal.content, 100))


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else plain.one_line(str(value), 60)


def _summary(report: ExtractReport, dry_run: bool) -> str:
    if not report.proposals:
        return f"nothing to remember (by {report.origin})"
    counts = {name: report.counted(name) for name in dict.fromkeys(found.outcome for found in report.proposals)}
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    if dry_run:
        return f"dry run, nothing was written: {told} (by {report.origin})"
    waiting = "; `memctl list --candidates`, then `memctl confirm ID` or `memctl reject ID`"
    return f"{told} (by {report.origin}){waiting if counts.get('candidate') else ''}"

"""`memctl transcripts`: what was said, word for word: what is kept of it, and how it is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli import options, render
from memctl.cli.options import DryRun, Now, Since, Until, current
from memctl.present import plain, reports, shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.conversations.service import Summary
    from memctl.core.kept import KeptMessage
    from memctl.core.models import Memory
    from memctl.storage.ports.messages import Run
    from memctl.store import MemoryStore

MANY = 20
"""From so many messages on, a deletion must be confirmed."""


def complete_message(incomplete: str) -> list[str]:
    """Ids of messages for the shell."""
    try:
        with options.opened(quiet=True) as store:
            store.refresh()
            return store.conversations.ids_starting(incomplete)[:50]
    except Exception:
        return []


def complete_run(incomplete: str) -> list[str]:
    """Ids of runs for the shell."""
    try:
        with options.opened(quiet=True) as store:
            return [run.run for run in store.conversations.runs() if run.run.startswith(incomplete)]
    except Exception:
        return []


def complete_kept_session(incomplete: str) -> list[str]:
    """Names of the sessions of which messages are kept, for the shell."""
    try:
        with options.opened(quiet=True) as store:
            names = dict.fromkeys(run.session for run in store.conversations.runs())
            return [name for name in names if name.startswith(incomplete)]
    except Exception:
        return []


def complete_shown(incomplete: str) -> list[str]:
    """What `show` takes, for the shell: sessions, runs and, from the first letters on, messages."""
    named = [*complete_kept_session(incomplete), *complete_run(incomplete)]
    return named + (complete_message(incomplete) if incomplete else [])


Session = Annotated[
    str, typer.Option("--session", help="Only this session.", autocompletion=complete_kept_session, metavar="ID")
]


def show(
    which: Annotated[
        str,
        typer.Argument(
            help="A session (its last run), a run, or a message; what is kept at all otherwise.",
            autocompletion=complete_shown, metavar="[SESSION|RUN|MESSAGE]",
        ),
    ] = "",
    around: Annotated[
        int, typer.Option("--around", help="Of a message, how many before and after it.", min=0, metavar="N")
    ] = 2,
    last: Annotated[int, typer.Option("--last", "-n", min=0, help="Only the last so many messages; 0 for all.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Print messages whole.")] = False,
    now: Now = None,
) -> None:  # fmt: skip
    """Print what was said, or what is kept of it, since when, and how large it is.

    Example: memctl transcripts show main --last 10
    """
    with options.opened() as store:
        if not which:
            _say_summary(store.conversations.summary(store.sessions.messages_in_use(), now=options.moment(now)))
            return
        messages, asked, others = _chosen(store, which, around)
        messages = messages[-last:] if last else messages
        if full:
            messages = [store.conversations.message(message.message_id) for message in messages]
    if current.json:
        render.as_json({"messages": [shapes.message_json(message) for message in messages]})
        return
    from memctl.present.pages import conversation

    render.lines(conversation(messages, full, asked=asked))
    if others:
        many = "1 other run" if others == 1 else f"{others} other runs"
        render.say(f"{many} of this session: `memctl transcripts` lists them")


def _chosen(store: MemoryStore, which: str, around: int) -> tuple[list[KeptMessage], str, int]:
    """The messages meant, the one that was asked for, and how many other runs the session has.

    Raises:
        NotFoundError: there is no such session, run or message.
    """
    conversations = store.conversations
    if found := conversations.run(which):
        return found, "", 0
    if runs := conversations.runs(which):
        return conversations.run(runs[-1].run), "", len(runs) - 1
    if message_id := conversations.full_id(which):
        return conversations.neighbours(message_id, around, around), message_id, 0
    from memctl.errors import NotFoundError

    hint = "`memctl transcripts` lists the sessions and their runs; `memctl query --only messages` finds messages."
    raise NotFoundError(f"no session, run or message {which!r} is kept on this machine", hint=hint)


def _alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        show()


def _say_summary(found: Summary) -> None:
    if current.json:
        render.as_json(reports.transcripts(found))
        return
    sessions = {run.session for run in found.runs}
    firsts = [run.first for run in found.runs if run.first]
    since = f" since {plain.day(min(firsts))}" if firsts else ""
    told = (_counted(found.messages, "message"), _counted(len(found.runs), "run"), _counted(len(sessions), "session"))
    render.say(f"{told[0]}{since}, in {told[1]} of {told[2]}; {plain.size(found.size)} in transcripts/")
    render.say(_PRIVACY[found.privacy])
    for line in _keeping(found):
        render.say(line)
    columns = ("run", "first", "last", "messages", "size", "session")
    render.table(columns, [_row(run) for run in found.runs], right=(3, 4))


_PRIVACY = {
    "private": "private: kept out of git",
    "in git": "under git: `memctl git transcripts off` takes them out",
    "unmarked": "not marked as private, as the folder came so: the next message marks them, and keeps them out of git",
}


def _keeping(found: Summary) -> list[str]:
    """Whether what is said is kept, and for how long."""
    from memctl.conversations.retention import announcement
    from memctl.core import times

    if not found.keeping:
        lines = ["nothing is kept at present: the setting `keep_messages` is false"]
    elif found.paused.everything:
        lines = ["nothing is kept at present: paused; `memctl transcripts resume` goes on"]
    else:
        lines = ["kept for ever" if found.days == 0 else _kept_for(found.days)]
        lines += [
            f"nothing is kept at present of session {name}: `memctl transcripts resume --session {name}` goes on"
            for name in found.paused.sessions
        ]
    return lines + list(announcement(found.plan, times.utc_now()))


def _kept_for(days: float) -> str:
    return "kept until the session has ended" if days < 0 else f"kept for {days:g} {'day' if days == 1 else 'days'}"


def _row(run: Run) -> tuple[str, ...]:
    session = plain.one_line(run.session, 40)
    return (run.run, plain.day(run.first), plain.day(run.last), str(run.messages), plain.size(run.size), session)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def delete(
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Ids of messages.", autocompletion=complete_message, metavar="[MESSAGE...]"),
    ] = None,
    session: Session = "",
    run: Annotated[
        str, typer.Option("--run", help="Only this run.", autocompletion=complete_run, metavar="RUN")
    ] = "",
    since: Since = None,
    until: Until = None,
    every: Annotated[bool, typer.Option("--all", help="Everything that is kept.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: DryRun = False,
    now: Now = None,
) -> None:  # fmt: skip
    """Delete what was said: messages by their ids, a session, a run, or a time.

    Nothing is learned from it any more. What was learned before stays; `memctl forget` deletes that. `memctl undo`
    brings the messages back for 30 days (setting `transcript_deleted_days`).

    Example: memctl transcripts delete --session main --until 2026-01-01 --dry-run
    """
    with options.opened() as store:
        wanted = _wanted(store, ids or [], session, run, since, until, every)
        learned = store.conversations.learned_from(wanted)
        if not dry_run:
            _confirm(len(wanted), yes)
            wanted = store.sessions.delete_messages(wanted, now=options.moment(now))
    _say_deleted(wanted, learned, dry_run)


def _wanted(
    store: MemoryStore, ids: list[str], session: str, run: str, since: str | None, until: str | None, every: bool
) -> list[str]:
    """The ids of the messages that are meant.

    Raises:
        UsageError: nothing says which, or too much does.
        NotFoundError: there are none.
    """
    from memctl.errors import NotFoundError, UsageError

    limits = bool(session or run or since or until)
    if bool(ids) + limits + every != 1:
        hint = "Name messages, or give --session, --run, --since and --until, or --all."
        named = bool(ids or limits or every)
        raise UsageError("name the messages in one way" if named else "which messages are to be deleted?", hint=hint)
    if ids:
        found = [store.conversations.full_id(given) for given in ids]
        unknown = [given for given, name in zip(ids, found, strict=True) if not name]
    else:
        moments = {"since": options.moment(since), "until": options.moment(until)}
        found = store.conversations.ids(session=session, run=run, **moments)
        unknown = [] if found else [session or run or "of that time"]
    if unknown:
        hint = "`memctl transcripts` lists what is kept."
        raise NotFoundError(f"no such message is kept on this machine: {unknown[0]!r}", hint=hint)
    return found


def _confirm(messages: int, yes: bool) -> None:
    """Ask before much is deleted.

    Raises:
        RefusedError: nobody can be asked, or they do not want it.
    """
    import sys

    from memctl.errors import RefusedError

    if yes or messages < MANY:
        return
    if current.json or not (sys.stdin and sys.stdin.isatty()):
        raise RefusedError(f"that deletes {messages} messages, so it must be confirmed", hint="Add --yes.")
    if not render.confirmed(f"Delete {messages} messages?"):
        raise RefusedError("nothing was deleted")


def _say_deleted(ids: Sequence[str], learned: Sequence[Memory], dry_run: bool) -> None:
    if current.json:
        made = [memory.memory_id for memory in learned]
        render.as_json({"dry_run": dry_run, "deleted": list(ids), "learned_from_them": made})
        return
    render.say(f"{'would delete' if dry_run else 'deleted'} {_counted(len(ids), 'message')}")
    if learned:
        render.say("what was learned from them stays; `memctl forget` takes it out:")
    for memory in learned:
        render.say(f"  {memory.memory_id}  {plain.one_line(memory.content, 60)}")
    if not dry_run:
        render.say("bring them back with `memctl undo`")


def pause(session: Session = "") -> None:
    """Keep nothing of what is said from now on, on this machine.

    Agents go on as before, and have what is said in the window of their session until it ends; nothing is learned from
    it, and it is not kept later either. A pause holds until resume.

    Example: memctl transcripts pause --session private
    """
    _pause(session, True)


def resume(session: Session = "") -> None:
    """Keep what is said again.

    Example: memctl transcripts resume
    """
    _pause(session, False)


def _pause(session: str, wanted: bool) -> None:
    with options.opened() as store:
        if session:
            store.sessions.pause(session, wanted)
        else:
            store.conversations.pause(wanted=wanted)
        paused, keeping = store.conversations.paused, store.settings.keep_messages
    if current.json:
        render.as_json({"paused": {"everything": paused.everything, "sessions": list(paused.sessions)}})
        return
    what = f"what is said in session {session}" if session else "what is said"
    render.say(f"{what} is {'not kept from now on' if wanted else 'kept again'}")
    if not wanted and not keeping:
        render.warn("note: the setting keep_messages is false, so nothing is kept")
    elif not wanted and (paused.everything or (paused.sessions and not session)):
        still = "all sessions" if paused.everything else ", ".join(paused.sessions)
        render.warn(f"note: still paused: {still}")


GROUP = options.Commands(
    "What was said, word for word: look at it, delete it, pause keeping it.\n\nExample: memctl transcripts",
    {"show": show, "delete": delete, "pause": pause, "resume": resume},
    alone=_alone,
)

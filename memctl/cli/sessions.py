"""`memctl session`: conversations of agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.options import AllowSecret, Now, current
from memctl.present import plain, reports

if TYPE_CHECKING:
    from memctl.core.messages import Message
    from memctl.sessions.learning import Learned
    from memctl.sessions.window import Compacted
    from memctl.sessions.windows import SessionInfo
    from memctl.store import MemoryStore


def complete_session(incomplete: str) -> list[str]:
    """Ids of sessions for the shell."""
    try:
        with options.opened(quiet=True) as store:
            return [name for name in store.sessions.ids() if name.startswith(incomplete)]
    except Exception:
        return []


def complete_role(incomplete: str) -> list[str]:
    """Roles of messages for the shell."""
    from memctl.core.messages import ROLES

    return [role for role in ROLES if role.startswith(incomplete)]


def complete_window_policy(incomplete: str) -> list[str]:
    """Window policies for the shell."""
    from memctl.core.limits import POLICIES

    return [name for name in POLICIES if name.startswith(incomplete)]


SessionId = Annotated[
    str, typer.Argument(help="The session.", autocompletion=complete_session, metavar="[ID]", show_default=True)
]
SessionOption = Annotated[
    str, typer.Option("--session", help="The session.", autocompletion=complete_session, metavar="ID")
]
NoModel = Annotated[bool, typer.Option("--no-model", help="Rules alone, even where a language model is configured.")]


def list_sessions() -> None:
    """List the sessions, the one used last first.

    Example: memctl session list
    """
    with options.opened() as store:
        found = store.sessions.all()
    if current.json:
        render.as_json([reports.session(info) for info in found])
        return
    columns = ("session", "messages", "tokens", "waiting", "used last", "task")
    render.table(columns, [_row(info) for info in found], right=(1, 2, 3))
    for info in found:
        if info.problem:
            render.warn(f"left out: {info.problem}")


def _row(info: SessionInfo) -> tuple[str, ...]:
    when = f"{info.active_at:%Y-%m-%d %H:%M}" if info.active_at else "-"
    task = plain.one_line(info.task.goal, 60) if info.task else "-"
    task = task if info.own else f"{task} (written elsewhere)"
    numbers = (str(info.size.messages), str(info.size.tokens), str(info.queued))
    return (info.session_id, *numbers, when, "cannot be read" if info.problem else task)


def show(
    session_id: SessionId = "main",
    last: Annotated[int, typer.Option("--last", "-n", min=0, help="Only the last so many messages; 0 for all.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Print messages whole.")] = False,
    offload: Annotated[
        str, typer.Option("--offload", help="Print what was laid aside under this reference.", metavar="REF")
    ] = "",
) -> None:  # fmt: skip
    """Show a session's messages.

    Example: memctl session show --last 5
    """
    with options.opened() as store:
        if offload:
            _show_offloaded(store, offload)
            return
        session = store.sessions.get(session_id)
        conversation = store.sessions.conversation(session_id)
        messages, size = conversation.get(), conversation.size()
    shown = messages[-last:] if last else messages
    if current.json:
        head = {
            "session": session.session_id,
            "own": session.own,
            "used_at": session.saved_at,
            "components": list(session.components),
        }
        counted = {"turns": size.turns, "tokens": size.tokens}
        render.as_json({**head, **counted, "messages": [message.state for message in shown]})
        return
    numbers = {"message": size.messages, "turn": size.turns, "token": size.tokens}
    render.say(", ".join(_counted(number, what) for what, number in numbers.items()))
    for message in shown:
        _say_message(message, full)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _show_offloaded(store: MemoryStore, reference: str) -> None:
    text = store.sessions.read_offloaded(reference)
    if current.json:
        render.as_json({"reference": reference, "text": text})
        return
    render.say_text(text)


def _say_message(message: Message, full: bool) -> None:
    from memctl.present.pages import said

    when = f"{message.time:%Y-%m-%d %H:%M}  " if message.time else ""
    render.lines(said(f"{when}{message.role}{' (summary)' if message.is_summary else ''}", message, full))


def add(
    role: Annotated[
        str,
        typer.Argument(help="user, assistant, system or tool.", autocompletion=complete_role, metavar="ROLE"),
    ],
    text: Annotated[list[str], typer.Argument(help="What was said; - for standard input.", metavar="TEXT...")],
    session: SessionOption = "main",
    result_of: Annotated[
        str, typer.Option("--result-of", help="Id of the call of a tool that this answers.", metavar="CALL")
    ] = "",
    call: Annotated[str, typer.Option("--call", help="Id of a call of a tool that is made here.", metavar="CALL")] = "",
    tool: Annotated[str, typer.Option("--tool", help="The tool that is called.", metavar="NAME")] = "",
    arguments: Annotated[str, typer.Option("--args", help="Its arguments, as a JSON object.", metavar="JSON")] = "",
    allow_secret: AllowSecret = False,
    now: Now = None,
) -> None:
    """Add a message to a session, which begins with it.

    What is beyond the limits is made room for right after: old messages give way to a summary and wait in the queue, to
    become an episode by `memctl maintain` or at the session's end.

    Example: memctl session add user "Please move the deploy to Thursday"
    """
    moment = options.moment(now)
    said = options.standard_input() if text == ["-"] else " ".join(text)
    message = _message(role, said, result_of, call, tool, arguments)
    with options.opened() as store:
        conversation = store.sessions.conversation(session)
        added = conversation.add(message, role, now=moment, allow_secret=allow_secret)
        size = conversation.size()
        if not current.json:
            render.say(f"{session}: {_counted(size.messages, 'message')}, {_counted(size.tokens, 'token')}")
        # What follows is not waited for by whoever reads the answer.
        done = conversation.flush(now=moment)
    if current.json:
        told = {"session": session, "id": added.id, "messages": size.messages, "tokens": size.tokens}
        render.as_json({**told, "compacted": reports.compacted(done) if done else None})
    elif done:
        render.say(_compacted_line(done))


def _message(role: str, text: str, result_of: str, call: str, tool: str, arguments: str) -> str | Mapping[str, Any]:
    import json

    from memctl.core.messages import ROLES
    from memctl.errors import UsageError

    if role.lower() not in ROLES:
        raise UsageError(f"there is no role {role!r}", hint=f"Roles: {', '.join(ROLES)}.")
    if bool(call) != bool(tool):
        raise UsageError("a call needs --call ID and --tool NAME")
    if result_of:
        return {"role": role, "tool_call_id": result_of, "content": text}
    if not call and not text.strip():
        raise UsageError("a message needs some text")
    if not call:
        return text
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"--args is not valid JSON: {problem}") from None
    function = {"name": tool, "arguments": given}
    return {"role": role, "content": text, "tool_calls": [{"id": call, "type": "function", "function": function}]}


def compact(
    session_id: SessionId = "main",
    policy: Annotated[
        str,
        typer.Option(
            help="summarize, truncate, offload or auto, instead of the setting's.",
            autocompletion=complete_window_policy, metavar="NAME",
        ),
    ] = "",
    no_model: NoModel = False,
    now: Now = None,
) -> None:  # fmt: skip
    """Make room in a session that is beyond a limit.

    System messages, the first of the user's and the last ones stay; a call of a tool and its result stay or leave
    together. What leaves waits in the queue.

    Example: memctl session compact --policy auto
    """
    with options.opened() as store:
        done, notes = store.sessions.compact(session_id, policy=policy, use_model=not no_model, now=options.moment(now))
    if current.json:
        render.as_json({"session": session_id, **reports.compacted(done), "notes": list(notes)})
        return
    render.say(_compacted_line(done))
    for note in notes:
        render.warn(f"note: {note}")


def _compacted_line(done: Compacted) -> str:
    if not done.done:
        return "nothing to do: it is within its limits"
    told = ", ".join(f"{number} {what}" for what, number in done.done.items())
    return f"made room: {told}; {_counted(len(done.messages), 'message')} left"


def end(session_id: SessionId = "main", no_model: NoModel = False, now: Now = None) -> None:
    """End a session: learn from it, then remove it.

    Facts are learned from everything that was said. What left its window before becomes episodes, and so does what is
    left, from 4 messages on. A task at hand ends with it.

    Example: memctl session end
    """
    with options.opened() as store:
        ended = store.end_session(session_id, use_model=not no_model, now=options.moment(now))
    if current.json:
        render.as_json(reports.ended(ended))
        return
    _say_learned(ended.learned)
    few = f"; {_counted(ended.left_out, 'message')} left: too few for an episode" if ended.left_out else ""
    kept = "; its file stays, for components of other programs" if ended.kept else ""
    render.say(f"ended {ended.session_id}{few}{kept}")


def _say_learned(learned: tuple[Learned, ...]) -> None:
    for one in learned:
        if one.episode:
            facts = f", and {one.facts} more {'memory' if one.facts == 1 else 'memories'}" if one.facts else ""
            render.say(f"learned {one.episode.memory_id}{facts}: {plain.one_line(one.episode.content, 200)}")
        elif one.facts:
            render.say(f"learned {_counted(one.facts, 'fact')} (`memctl list` shows what is known)")
        for note in one.notes:
            render.warn(f"note: {note}")


def flush(no_model: NoModel = False, now: Now = None) -> None:
    """Do what adding left for later: make room, end idle sessions, learn from what waits.

    `memctl maintain` does it too.

    Example: memctl session flush
    """
    with options.opened() as store:
        done = store.sessions.flush(use_model=not no_model, now=options.moment(now))
    if current.json:
        render.as_json(reports.flushed(done))
        return
    for name, compacted in done.compacted.items():
        render.say(f"{name}: {_compacted_line(compacted)}")
    for ended in done.ended:
        few = f"; {_counted(ended.left_out, 'message')} left: too few for an episode" if ended.left_out else ""
        render.say(f"ended {ended.session_id}: idle{few}")
    _say_learned(done.learned)
    if not (done.compacted or done.ended or done.learned):
        render.say("nothing to do")


def delete(
    session_id: Annotated[str, typer.Argument(help="The session.", autocompletion=complete_session, metavar="ID")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a session with its messages and what waits of it, and learn nothing from it.

    `undo` brings the messages back into the transcripts; nothing brings the session back.

    Example: memctl session delete old-experiment --yes
    """
    import sys

    from memctl.errors import RefusedError

    with options.opened() as store:
        if not yes:
            if current.json or not (sys.stdin and sys.stdin.isatty()):
                raise RefusedError("a session cannot be brought back, so this must be confirmed", hint="Add --yes.")
            if not render.confirmed(f"Remove session {session_id} and learn nothing from it?"):
                raise RefusedError("nothing was removed")
        store.sessions.delete(session_id)
    if current.json:
        render.as_json({"session": session_id, "deleted": True})
        return
    render.say(f"deleted {session_id}")


GROUP = options.Commands(
    "Conversations of agents: a window within limits, and what is learned from what leaves it.\n\n"
    'Example: memctl session add user "Please move the deploy to Thursday"',
    {
        "list": list_sessions,
        "show": show,
        "add": add,
        "end": end,
        "compact": compact,
        "flush": flush,
        "delete": delete,
    },
)

"""`memctl task`: what an agent is at, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.ids import complete_id, meant
from memctl.cli.options import Now, current
from memctl.cli.sessions import NoModel, SessionOption
from memctl.present import plain, reports, shapes

if TYPE_CHECKING:
    from memctl.tasks.closing import Closed
    from memctl.tasks.rules import Task


def complete_trigger(incomplete: str) -> list[str]:
    """Triggers of tasks for the shell."""
    from memctl.tasks.rules import TRIGGERS

    return [name for name in TRIGGERS if name.startswith(incomplete)]


Lessons = Annotated[
    list[str] | None,
    typer.Option("--lesson", help="Something worth knowing next time; may be repeated.", metavar="TEXT"),
]


def start(
    goal: Annotated[list[str], typer.Argument(help="What is to be done.", metavar="GOAL...")],
    session: SessionOption = "main",
    plan: Annotated[
        list[str] | None, typer.Option("--plan", help="A step of the plan; may be repeated.", metavar="STEP")
    ] = None,
    trigger: Annotated[
        str,
        typer.Option(help="user_request, alert or scheduled.", autocompletion=complete_trigger, metavar="TRIGGER"),
    ] = "user_request",
    target: Annotated[
        str, typer.Option(help="What it acts on, such as a service; its episodes become knowledge.", metavar="NAME")
    ] = "",
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="A tag; a,b are two.")] = None,
    now: Now = None,
) -> None:
    """Begin a task in a session.

    Its state lives in the session's file: a process that dies finds it again.

    Example: memctl task start "Upgrade Postgres" --plan "Dump" --plan "Upgrade" --target payments-db
    """
    with options.opened() as store:
        task = store.tasks.start(
            " ".join(goal), session_id=session, plan=plan or (), trigger_type=trigger, target=target,
            tags=options.tags(tag), now=options.moment(now),
        )  # fmt: skip
        limit = store.settings.task_iterations
    _say_task(task, limit)


def _say_task(task: Task, limit: int) -> None:
    from memctl.tasks.rules import rendered
    from memctl.tasks.state import to_state

    if current.json:
        render.as_json(to_state(task))
        return
    render.say_text(rendered(task, limit))


def step(
    description: Annotated[
        list[str] | None, typer.Argument(help="What is done; the next of the plan without it.", metavar="[TEXT...]")
    ] = None,
    session: SessionOption = "main",
    tool: Annotated[str, typer.Option("--tool", help="The tool that is called.", metavar="NAME")] = "",
    arguments: Annotated[str, typer.Option("--args", help="Its arguments, as a JSON object.", metavar="JSON")] = "",
    result: Annotated[str | None, typer.Option(help="What came of it: the step is done.", metavar="TEXT")] = None,
    error: Annotated[str | None, typer.Option(help="Why it failed: the step is over.", metavar="TEXT")] = None,
    now: Now = None,
) -> None:
    """Begin a step, finish it, or both.

    With a text a step begins, the planned one or a new one. --result or --error ends the step under way. A notable
    result goes to the scratchpad. Past 20 steps the task is archived as a failure.

    Example: memctl task step "Run the tests" --tool pytest --result "212 passed"
    """
    with options.opened() as store:
        done = store.tasks.step(
            " ".join(description or ()), session_id=session, tool_name=tool, args=_object(arguments), result=result,
            error=error, now=options.moment(now),
        )  # fmt: skip
        limit = store.settings.task_iterations
    if done.closed:
        _say_closed(done.closed)
        return
    _say_task(done.task, limit)


def _object(text: str) -> dict[str, Any]:
    import json

    from memctl.errors import UsageError

    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"--args is not valid JSON: {problem}") from None
    if not isinstance(found, dict):
        raise UsageError("--args must be a JSON object of arguments by name")
    return found


def note(
    text: Annotated[list[str] | None, typer.Argument(help="What was found.", metavar="[TEXT...]")] = None,
    session: SessionOption = "main",
    key: Annotated[str, typer.Option(help="Its name on the scratchpad.", metavar="NAME")] = "",
    decision: Annotated[bool, typer.Option("--decision", help="It is a decision, for the log.")] = False,
    knowledge: Annotated[bool, typer.Option("--knowledge", help="It may be worth knowing beyond this task.")] = False,
    used: Annotated[
        list[str] | None,
        typer.Option(
            "--used",
            help="A memory that was used; may be repeated.",
            autocompletion=complete_id,
            callback=meant,
            metavar="ID",
        ),
    ] = None,
    now: Now = None,
) -> None:
    """Note a finding, a decision, or which memories were used.

    Example: memctl task note "Two tables have no primary key" --key schema
    """
    with options.opened() as store:
        task = store.tasks.note(
            " ".join(text or ()), key=key, session_id=session, decision=decision, knowledge=knowledge,
            used=used or (), now=options.moment(now),
        )  # fmt: skip
        limit = store.settings.task_iterations
    _say_task(task, limit)


def complete(
    summary: Annotated[list[str] | None, typer.Argument(help="What came of it.", metavar="[TEXT...]")] = None,
    session: SessionOption = "main",
    approach: Annotated[str, typer.Option(help="How it was done; its steps otherwise.", metavar="TEXT")] = "",
    lesson: Lessons = None,
    partial: Annotated[bool, typer.Option("--partial", help="It was done in part.")] = False,
    no_model: NoModel = False,
    now: Now = None,
) -> None:
    """End a task that is done: it becomes an episode, and teaches what worked.

    Example: memctl task complete "Upgraded in 4 minutes" --lesson "Dump with --jobs 4"
    """
    with options.opened() as store:
        done = store.tasks.complete(
            " ".join(summary or ()), session_id=session, approach=approach, lessons=lesson or (), partial=partial,
            use_model=not no_model, now=options.moment(now),
        )  # fmt: skip
    _say_closed(done)


def fail(
    reason: Annotated[list[str], typer.Argument(help="Why.", metavar="REASON...")],
    session: SessionOption = "main",
    lesson: Lessons = None,
    no_model: NoModel = False,
    now: Now = None,
) -> None:
    """End a task that failed: it becomes an episode, and teaches why.

    Example: memctl task fail "The disk was full"
    """
    with options.opened() as store:
        done = store.tasks.fail(
            " ".join(reason), session_id=session, lessons=lesson or (), use_model=not no_model,
            now=options.moment(now),
        )  # fmt: skip
    _say_closed(done)


def _say_closed(done: Closed) -> None:
    if current.json:
        render.as_json(reports.closed(done))
        return
    if done.episode:
        render.say(f"{done.task.outcome}: {done.episode.memory_id} {plain.one_line(done.episode.content, 200)}")
    if done.strategy:
        record = done.strategy
        told = f"confidence {record.confidence:.2f}, seen {_times(record.mentions)}"
        render.say(f"strategy {record.memory_id} ({told}): {plain.one_line(record.content, 200)}")
        edited = (
            " (a person edited the strategy's own, which was left alone)" if ".proposed." in done.reflection else ""
        )
        render.say(f"  in {done.reflection}{edited}")
    for found in done.recoveries:
        render.say(f"recovery {found.memory.memory_id}: {plain.one_line(found.memory.content, 200)}")
    for candidate in done.knowledge:
        render.say(f"candidate {candidate.memory_id}: {plain.one_line(candidate.content, 200)}")
    for text in done.notes:
        render.warn(f"note: {text}")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def show(session: SessionOption = "main") -> None:
    """Show the task at hand of a session, as a prompt gets it.

    Example: memctl task show
    """
    from memctl.errors import NotFoundError

    with options.opened() as store:
        task = store.tasks.get(session)
        limit = store.settings.task_iterations
        own = task is None or store.sessions.get(session).own
    if not own:
        render.warn(f"this user did not write session {session} on this machine: no model is given this task")
    if task is None:
        hint = "`memctl task list` shows those at hand; `memctl list --kind episode` those that are over."
        raise NotFoundError(f"session {session} has no task", hint=hint)
    _say_task(task, limit)


def list_tasks() -> None:
    """List the tasks at hand in all sessions, the one that moved last first.

    Example: memctl task list
    """
    from memctl.tasks.state import to_state

    with options.opened() as store:
        found = store.tasks.all()
        limit = store.settings.task_iterations
    if current.json:
        render.as_json([to_state(task) for task in found])
        return
    rows = [(task.session_id, task.id, f"{task.iteration}/{limit}", plain.one_line(task.goal, 100)) for task in found]
    render.table(("session", "task", "steps", "goal"), rows, right=(2,))


def feedback(
    text: Annotated[list[str], typer.Argument(help="The user's word.", metavar="TEXT...")],
    session: SessionOption = "main",
    task: Annotated[str, typer.Option(help="The task; else the session's, at hand or the last.", metavar="TASK")] = "",
    now: Now = None,
) -> None:
    """Keep the user's word on a task: an episode of its own.

    Example: memctl task feedback "Next time ask before you restart it"
    """
    with options.opened() as store:
        memory = store.tasks.feedback(" ".join(text), task_id=task, session_id=session, now=options.moment(now))
    if current.json:
        render.as_json(shapes.memory_json(memory))
        return
    render.say(f"kept {memory.memory_id}: {plain.one_line(memory.content, 200)}")


GROUP = options.Commands(
    "What an agent is at: start, steps, notes, and what is learned at the end.\n\n"
    'Example: memctl task start "Upgrade Postgres" --plan "Dump" --plan "Upgrade"',
    {
        "start": start,
        "step": step,
        "note": note,
        "complete": complete,
        "fail": fail,
        "show": show,
        "list": list_tasks,
        "feedback": feedback,
    },
)

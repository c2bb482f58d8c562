"""`context`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli import options, render
from memctl.cli.options import Now, current
from memctl.present import answer, reports

if TYPE_CHECKING:
    from memctl.context.service import ContextPack


def context(
    text: Annotated[
        list[str], typer.Argument(help="What the model will be asked; - reads standard input.", metavar="TEXT")
    ],
    session: Annotated[str, typer.Option(help="The session whose messages and task belong to it.", metavar="ID")] = "",
    budget: Annotated[int | None, typer.Option(help="Tokens of the whole window.", metavar="N")] = None,
    memory_tokens: Annotated[
        int | None, typer.Option(help="Tokens of what is recalled, instead of its share.", metavar="N", min=0)
    ] = None,
    gate: Annotated[
        bool | None,
        typer.Option(
            "--gate/--no-gate", help="Whether next to nothing is put in where nothing answers the question."
        ),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            help="simple, medium or complex: how the window is divided.", metavar="TASK",
            autocompletion=lambda incomplete: [t for t in ("simple", "medium", "complex") if t.startswith(incomplete)],
        ),
    ] = "medium",
    system: Annotated[str, typer.Option(help="The system prompt.", metavar="TEXT")] = "",
    tokenizer: Annotated[str, typer.Option(help="What counts tokens, instead of the setting.", metavar="NAME")] = "",
    form: Annotated[
        str,
        typer.Option(
            "--format", help="md (the long-term part), messages (chat messages as JSON), or json (all of it).",
            metavar="FORMAT",
            autocompletion=lambda incomplete: [f for f in ("md", "messages", "json") if f.startswith(incomplete)],
        ),
    ] = "md",
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of each memory why it is in or out, and how the window is divided.")
    ] = False,
    with_: options.With = None,
    now: Now = None,
) -> None:  # fmt: skip
    """Build the context of a model's call, within a budget of tokens.

    What is pinned and constraints come first, then preferences and strategies that fit, then what answers the question:
    memories, messages and documents, each with a share. All stands between tags, as data. What does not fit gives way
    to its summary, or is left out. With --with, what other users know about the question is in a part of its own.

    Example: memctl context "plan the next migration" --budget 4000 --explain
    """
    from memctl.context.service import FORMATS
    from memctl.errors import UsageError

    if form not in FORMATS:
        raise UsageError(f"there is no format {form!r}", hint=f"Formats: {', '.join(FORMATS)}.")
    question = options.standard_input() if text == ["-"] else " ".join(text)
    with options.opened_with(with_) as (store, shared):
        pack = (shared or store).build_context(
            question, session=session, budget=budget, memory_tokens=memory_tokens, gate=gate, task=task, system=system,
            tokenizer=tokenizer, now=options.moment(now),
        )  # fmt: skip
    for note in pack.notes:
        render.warn(f"note: {note}")
    if current.json or form == "json":
        current.json = True
        render.as_json(reports.context_pack(pack))
        return
    if form == "messages":
        current.json = True
        render.as_json(list(pack.messages))
        return
    fits = "nothing of what is known fits into this budget" if pack.placed else "nothing is known that matters here"
    render.say_text(pack.text or fits)
    if explain:
        _explained(pack)
    if pack.reranked:
        render.warn(answer.reranked(pack.reranked))
    if pack.receipt:
        render.warn(f"receipt {pack.receipt}")


def _explained(pack: ContextPack) -> None:
    a = pack.allocation
    render.say()
    rows = [
        (part, str(share), str(pack.granted[part]), str(pack.used[part]))
        for part, share in (("system", a.system), ("memory", a.memory), ("history", a.history))
    ]
    render.table(("part", "share", "granted", "used"), [*rows, ("reserve", str(a.reserve), "", "")], right=(1, 2, 3))
    render.say(f"{pack.tokens} of {a.total} tokens, counted by {pack.tokenizer}\n")
    if pack.strength is not None:
        answer = "" if pack.open else ": too little, so next to nothing was put in (--no-gate fills the share)"
        render.say(f"what is known answers the question with strength {pack.strength:.2f}{answer}\n")
    render.table(
        ("section", "memory", "how", "tokens", "why"),
        [(p.section, p.name, p.how, str(p.tokens), p.why) for p in pack.placed],
        right=(3,),
    )
    if pack.left_out:
        render.say(f"messages left out: {', '.join(str(at + 1) for at in pack.left_out)}")

"""`memctl strategy`: what failed calls of tools taught."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.ids import Id, shown_ids
from memctl.cli.options import DryRun, current
from memctl.errors import argument
from memctl.present import plain, reports, shapes

if TYPE_CHECKING:
    from memctl.strategies.advice import Advice
    from memctl.strategies.matching import Shared
    from memctl.strategies.records import Strategy

_JSON_HELP = "a JSON object, - for standard input, or @FILE"

Tool = Annotated[str, typer.Option("--tool", help="The tool's name.", metavar="NAME")]
ErrorType = Annotated[str, typer.Option("--error", help="The type of the error, such as ValueError.", metavar="TYPE")]
Message = Annotated[str, typer.Option("--message", help="The error's message.")]
Context = Annotated[str | None, typer.Option("--context", help=f"What the agent knows: {_JSON_HELP}.", metavar="JSON")]
OnlyTool = Annotated[str, typer.Option("--tool", help="Only of this tool.", metavar="NAME")]


def record(
    tool: Tool,
    error: ErrorType,
    original: Annotated[
        str, typer.Option("--original", help=f"All arguments that failed: {_JSON_HELP}.", metavar="JSON")
    ],
    fixed: Annotated[str, typer.Option("--fixed", help=f"All arguments that worked: {_JSON_HELP}.", metavar="JSON")],
    message: Message = "",
    context: Context = None,
    explain: Annotated[
        list[str] | None,
        typer.Option("--explain", help="Why an argument was changed; may be repeated.", metavar="ARGUMENT=TEXT"),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Remember how a failed call was mended.

    A value that stands in the --context is kept as a reference, so that it carries over to other calls. The same way
    again raises the confidence of the strategy there is. Secrets are not stored.

    Example: memctl strategy record --tool search --error ValueError --original '{"q": ""}' --fixed '{"q": "cats"}'
    """
    given = _Objects()
    before, after = given.need(original, "--original"), given.need(fixed, "--fixed")
    known, reasons = given.read(context, "--context"), _explanations(explain or [])
    with options.opened() as store:
        done = store.strategies.record(
            tool,
            error,
            message=message,
            original=before,
            fixed=after,
            context=known,
            explanations=reasons,
            dry_run=dry_run,
        )
    if current.json:
        shown = shapes.memory_json(done.memory)
        render.as_json({"outcome": done.outcome, "dry_run": dry_run, "memory": shown, "body": done.body})
        return
    if dry_run:
        render.say_text(f"{done.body}\n\ndry run: would be {done.outcome}")
        return
    memory = done.memory
    again = f" (known already, mentioned {memory.mentions} times)" if done.outcome != "added" else ""
    render.say(f"recorded {memory.memory_id}{again}, confidence {memory.confidence:.2f}")
    _say_fixes(done.memory)
    if again and reasons:
        render.say(
            f"  its Markdown was left as it is; `memctl edit --reflection {argument(memory.memory_id)}` changes it"
        )


def _say_fixes(memory: Any) -> None:
    from memctl.strategies import records

    if found := records.read(memory):
        render.say(f"  {memory.content}")
        for line in records.in_words(found):
            render.say(f"  {line}")


def suggest(
    tool: Tool,
    error: ErrorType,
    message: Message = "",
    arguments: Annotated[
        str | None, typer.Option("--args", help=f"The arguments that failed: {_JSON_HELP}.", metavar="JSON")
    ] = None,
    context: Context = None,
    definition: Annotated[
        str | None, typer.Option("--definition", help=f"The tool's, for the model: {_JSON_HELP}.", metavar="JSON")
    ] = None,
    with_: options.With = None,
) -> None:
    """Propose arguments for a call that failed.

    From `history`, the strategy with the best score that fits; else from the language model (`llm`), where one is
    configured; else `none`. Changes nothing. With --with, other users' strategies are looked at too.

    Example: memctl strategy suggest --tool search --error ValueError --args '{"q": ""}'
    """
    given = _Objects()
    failing, known = given.read(arguments, "--args"), given.read(context, "--context")
    about = given.read(definition, "--definition")
    asked: dict[str, Any] = {"message": message, "arguments": failing, "context": known, "definition": about}
    with options.opened_with(with_) as (store, shared):
        advice, owner = (
            shared.suggest_strategy(tool, error, **asked)
            if shared
            else (store.strategies.suggest(tool, error, **asked), "")
        )
        threshold = store.settings.strategy_threshold
    if current.json:
        render.as_json({**reports.advice(advice), **({"user": owner} if owner else {})})
        return
    _say_advice(advice, threshold, owner)


def _say_advice(advice: Advice, threshold: float, owner: str = "") -> None:
    if advice.match:
        parts = " + ".join(f"{name} {part:.2f}" for name, part in advice.match.parts.items() if part)
        memory = advice.match.strategy.memory
        score = f"score {advice.match.score:.2f} = {parts}, confidence {memory.confidence:.2f}"
        name = f"{owner}/{memory.memory_id}" if owner else memory.memory_id
        render.say(f"{advice.origin}: {name} ({score})")
    else:
        render.say(f"{advice.origin}: {advice.reason or _nobody_knows(advice, threshold)}")
    for line in advice.lines:
        render.say(f"  {line}")
    if not advice.match:
        for one in advice.considered:
            render.say(f"  not {one.match.strategy.memory.memory_id} (score {one.match.score:.2f}): {one.problem}")
    if advice.arguments is not None:
        render.say(f"arguments: {_compact(advice.arguments)}")
    elif advice.origin != "none":
        render.say("no other arguments are proposed")
    render.degraded(advice.notes)


def _nobody_knows(advice: Advice, threshold: float) -> str:
    known = "no strategy fits this call" if advice.considered else f"no strategy reaches the score {threshold:g}"
    return known if advice.notes else f"{known}, and no language model is configured"


def _compact(arguments: dict[str, Any]) -> str:
    import json

    return plain.safe_json(json.dumps(arguments, ensure_ascii=False))


def outcome(
    memory_id: Id,
    result: Annotated[str, typer.Argument(help="success or failure.", metavar="RESULT")],
    reason: Annotated[str, typer.Option(help="Why it failed.")] = "",
    dry_run: DryRun = False,
) -> None:
    """Say whether a strategy helped.

    Success raises its confidence and its use count, failure lowers the confidence. Below 0.3 a strategy is kept but no
    longer proposed.

    Example: memctl strategy outcome mem_20250909 success
    """
    from memctl.errors import UsageError
    from memctl.strategies.records import LEAST_CONFIDENCE

    if result not in ("success", "failure"):
        raise UsageError(f"the result is success or failure; found {result!r}")
    with options.opened() as store:
        before = store.get(memory_id)
        memory = store.strategies.outcome(before.memory_id, result == "success", reason=reason, dry_run=dry_run)
    if current.json:
        render.as_json({"result": result, "dry_run": dry_run, "memory": shapes.memory_json(memory)})
        return
    kept = "; no longer proposed" if memory.confidence < LEAST_CONFIDENCE else ""
    moved = f"confidence {before.confidence:.2f} → {memory.confidence:.2f}"
    would = "dry run: " if dry_run else ""
    render.say(f"{would}{memory.memory_id}: {moved}, used {_times(memory.access_count)}{kept}")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def list_strategies(
    tool: OnlyTool = "",
    error: Annotated[str, typer.Option("--error", help="Only for errors of this type.", metavar="TYPE")] = "",
    shared: Annotated[
        bool, typer.Option("--shared", help="What mends the same error in two or more tools instead.")
    ] = False,
) -> None:
    """List the strategies, the most trusted first.

    Example: memctl strategy list --tool search_documents
    """
    from memctl.errors import UsageError

    if shared and (tool or error):
        raise UsageError("--shared looks at all tools", hint="Leave out --tool and --error.")
    with options.opened() as store:
        if shared:
            _say_shared(store.strategies.shared())
            return
        found = store.strategies.all(tool=tool, error=error)
        ids = shown_ids(store, [strategy.memory.memory_id for strategy in found])
    if current.json:
        render.as_json([reports.strategy(strategy) for strategy in found])
        return
    rows = [(name, *_row(strategy)) for name, strategy in zip(ids, found, strict=True)]
    columns = ("id", "tool", "error", "conf.", "helped", "failed", "what was changed")
    render.numbered_table(columns, rows, right=(3, 4, 5))


def _row(strategy: Strategy) -> tuple[str, ...]:
    from memctl.strategies.records import in_words

    memory = strategy.memory
    numbers = (f"{memory.confidence:.2f}", str(strategy.successes), str(strategy.failures))
    mark = "" if strategy.proposable else "(no longer proposed) "
    return (strategy.tool, strategy.error_type, *numbers, mark + "; ".join(in_words(strategy)))


def _say_shared(found: list[Shared]) -> None:
    if current.json:
        rows = [
            {
                "error_type": each.error_type, "tools": list(each.tools), "fix": each.words,
                "memory_ids": [strategy.memory.memory_id for strategy in each.strategies],
            }
            for each in found
        ]  # fmt: skip
        render.as_json(rows)
        return
    rows_shown = [(each.error_type, ", ".join(each.tools), each.words) for each in found]
    render.table(("error", "tools", "what was changed"), rows_shown)


def report(
    tool: OnlyTool = "",
    title: Annotated[str, typer.Option(help="The heading.")] = "",
    dry_run: DryRun = False,
) -> None:
    """Write or refresh the report on all strategies: a reflection.

    Common errors, what helped by tool and by error, what several tools share, what did not hold. What a person edited
    is never overwritten: the new text is laid beside it as a proposal.

    Example: memctl strategy report --title "What our tools taught us"
    """
    with options.opened() as store:
        done = store.strategies.report(tool=tool, title=title, dry_run=dry_run)
    if current.json:
        what = {"outcome": done.outcome, "dry_run": dry_run, "path": done.path, "memory_id": done.memory.memory_id}
        render.as_json(what | {"body": done.body})
        return
    render.say_text(done.body.rstrip())
    if dry_run:
        render.say(f"\ndry run: would be {done.outcome}")
        return
    told = {
        "written": f"wrote {done.path} ({done.memory.memory_id})",
        "refreshed": f"refreshed {done.path} ({done.memory.memory_id})",
        "unchanged": f"{done.path} says this already ({done.memory.memory_id})",
        "proposed": f"a person edited the report, so it was left alone; the new text is in {done.path}",
    }
    render.say(f"\n{told[done.outcome]}")


def warn(
    tool: Annotated[str, typer.Argument(help="The tool's name.", metavar="TOOL")],
    arguments: Annotated[str, typer.Argument(help=f"The arguments: {_JSON_HELP}.", metavar="ARGS")],
    context: Context = None,
) -> None:
    """Say, before a call, whether history is against it.

    `will fail` where the fault alone made a call fail before, `may fail` where another value could do.

    Example: memctl strategy warn search_documents '{"query": ""}'
    """
    given = _Objects()
    values, known = given.need(arguments, "ARGS"), given.read(context, "--context")
    with options.opened() as store:
        found = store.strategies.warn(tool, values, context=known)
    if current.json:
        render.as_json({"warnings": [reports.warned(warned) for warned in found]})
        return
    for warned in found:
        render.say(f"{'will' if warned.sure else 'may'} fail: {warned.why} ({warned.strategy.memory.memory_id})")
        if warned.applied.usable and warned.strategy.proposable:
            render.say(f"  arguments: {_compact(warned.applied.arguments)}")
    if not found:
        render.say("history says nothing against this call")


def _explanations(given: list[str]) -> dict[str, str]:
    from memctl.errors import UsageError

    pairs = [text.partition("=") for text in given]
    for name, sign, text in pairs:
        if not (name.strip() and sign and text.strip()):
            raise UsageError("an explanation is ARGUMENT=TEXT", hint='--explain "query=it was never filled in"')
    return {name.strip(): text.strip() for name, _, text in pairs}


class _Objects:
    """Reads JSON objects from the command line; standard input can be read once."""

    def __init__(self) -> None:
        self._stdin = ""

    def read(self, text: str | None, name: str) -> dict[str, Any]:
        return {} if text is None else self.need(text, name)

    def need(self, text: str, name: str) -> dict[str, Any]:
        """The object that an argument gives.

        Raises:
            UsageError: it is no JSON object; with line and column.
            NotFoundError: there is no such file.
        """
        import json

        from memctl.core.formats.strict_json import DECODER
        from memctl.errors import UsageError

        hint = 'Quote it for the shell: \'{"query": "cats"}\'. - reads standard input, @FILE a file.'
        try:
            found = DECODER.decode(self._source(text, name))
        except json.JSONDecodeError as problem:
            place = f"line {problem.lineno}, column {problem.colno}"
            raise UsageError(f"{name} is not valid JSON ({place}): {problem.msg}", hint=hint) from None
        except (ValueError, RecursionError) as problem:
            reason = "nested too deep" if isinstance(problem, RecursionError) else str(problem)
            raise UsageError(f"{name} is not valid JSON: {reason}", hint=hint) from None
        if not isinstance(found, dict):
            raise UsageError(f"{name} must be a JSON object of arguments by name", hint=hint)
        return found

    def _source(self, text: str, name: str) -> str:
        from pathlib import Path

        from memctl.errors import NotFoundError, UsageError

        if text == "-":
            if self._stdin:
                raise UsageError(f"{self._stdin} and {name} cannot both be standard input")
            self._stdin = name
            return options.standard_input()
        if not text.startswith("@"):
            return text
        try:
            return Path(text[1:]).expanduser().read_text("utf-8-sig")
        except FileNotFoundError:
            raise NotFoundError(f"{name}: no file {text[1:]}") from None
        except UnicodeDecodeError:
            raise UsageError(f"{name}: {text[1:]} is not valid UTF-8") from None


GROUP = options.Commands(
    "Learn from failed calls of tools: record, suggest, warn.\n\n"
    'Example: memctl strategy suggest --tool search --error ValueError --args \'{"q": ""}\'',
    {
        "record": record,
        "suggest": suggest,
        "outcome": outcome,
        "list": list_strategies,
        "report": report,
        "warn": warn,
    },
)

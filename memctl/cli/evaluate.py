"""`eval`: how well the store answers questions with known answers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli import inputs, progress, render
from memctl.cli.invocation import current
from memctl.cli.opening import opened
from memctl.cli.options import Now
from memctl.cli.reranking import Rerank, reranker
from memctl.errors import NotFoundError, RefusedError, StorageError, UsageError, quoted
from memctl.present import plain, reports
from memctl.present.plain import counted

if TYPE_CHECKING:
    from memctl.evaluation.metrics import Judgement
    from memctl.evaluation.questions import Question
    from memctl.evaluation.results import Answered, Evaluation, Figures
    from memctl.store import MemoryStore


def evaluate(
    path: Annotated[
        Path, typer.Argument(help="The questions, one JSON object a line; - reads standard input.", metavar="FILE")
    ],
    top: Annotated[
        int | None,
        typer.Option("--top", "-n", help="Hits per question; default: the setting query_top.", min=10, max=1000),
    ] = None,
    worst: Annotated[
        int, typer.Option("--worst", help="Show N of the missed questions, with their hits.", min=0)
    ] = 0,
    rerank: Rerank = None,
    no_baselines: Annotated[
        bool, typer.Option("--no-baselines", help="Leave out full text alone and vectors alone.")
    ] = False,
    skip_broken: Annotated[bool, typer.Option("--skip-broken", help="Skip lines that cannot be used.")] = False,
    init: Annotated[
        bool, typer.Option("--init", help="Write FILE with the questions whose answers were judged good.")
    ] = False,
    now: Now = None,
) -> None:  # fmt: skip
    """Measure search quality with your own questions.

    Each question names the memories that should be found. The results are compared with full text alone and vectors
    alone. Nothing is written, and no memory counts as used.

    Example: memctl eval questions.jsonl --worst 5
    """
    if init:
        _start(path)
        return
    from memctl.cli.bulk import check_problems
    from memctl.evaluation import questions

    data, name = _data(path)
    read = questions.read(data, name)
    with opened() as store:
        usable, unknown = store.evaluation.checked(read.questions, name)
        problems = sorted((*read.problems, *unknown), key=lambda problem: problem.line)
        check_problems(problems, skip_broken)
        evaluation = store.evaluation.run(
            usable, top=top, rerank=reranker(rerank, store.settings), baselines=not no_baselines,
            now=inputs.moment(now), progress=progress.working,
        )  # fmt: skip
        missed = evaluation.missed()[:worst]
        expected = [_expected(store, answered.question) for answered in missed]
    notes = (*evaluation.notes, *_left_out(read.without_evidence, "with an empty `gold`"))
    if current.json:
        notes += tuple(_left_out(len(problems), "that cannot be used"))
    render.document(reports.evaluation(evaluation, missed, expected, notes))
    _print_tables(evaluation, notes, len(missed))
    for number, answered in enumerate(missed):
        _print_missed(number, answered, evaluation.top, expected[number])


# The file


def _data(path: Path) -> tuple[bytes, str]:
    if str(path) == "-":
        return sys.stdin.buffer.read(), "standard input"
    try:
        return path.read_bytes(), str(path)
    except FileNotFoundError:
        hint = f"`memctl eval --init {quoted(str(path))}` writes one from feedback, or explains the format."
        raise NotFoundError(f"no file {path}", hint=hint) from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder", hint="Name a file with one question a line.") from None
    except OSError as problem:
        raise StorageError(f"cannot read {path}: {problem.strerror}") from None


def _left_out(count: int, which: str) -> list[str]:
    return [f"left out: {counted(count, 'line')} {which}"] if count else []


def _start(path: Path) -> None:
    """Write the questions from feedback; if there are none, explain the format."""
    from memctl.evaluation import questions

    if path.exists():
        raise RefusedError(f"{path} exists already", hint="Name a new file.")
    with opened() as store:
        good = store.evaluation.judged_good()
    if good:
        try:
            with open(path, "x", encoding="utf-8", errors="replace") as file:
                file.write(questions.written(good))
        except OSError as problem:
            raise StorageError(f"cannot write {path}: {problem.strerror}") from None
    render.document({"file": str(path) if good else None, "questions": len(good), "form": questions.FORM})
    if not good:
        render.say(f"no answer has been judged good yet; write {path} by hand.\n")
        render.say_text(questions.FORM)
        return
    render.say(f"wrote {counted(len(good), 'question')} to {path}")
    render.say("These were answered well, so figures from them alone are too good: add questions that were missed.")


# The answer


def _print_tables(evaluation: Evaluation, notes: Sequence[str], shown: int) -> None:
    questions = counted(len(evaluation.answered), "question")
    render.say(f"{questions}, {evaluation.memories} entries, top {evaluation.top}\n")
    names = ("", "R@1", "R@5", "R@10", "(95 %)", "MRR", "nDCG@10", "behind the first by (95 %)", "p50", "p95", "tokens")
    _aligned(names, [_row(figures) for figures in evaluation.systems])
    if len(evaluation.categories) > 1:
        render.say()
        rows = [
            (name or "(none)", str(number), *_judgement(judgement))
            for name, (number, judgement) in evaluation.categories.items()
        ]
        _aligned(("category", "questions", "R@1", "R@5", "R@10", "MRR", "nDCG@10"), rows)
    first = evaluation.systems[0]
    render.say()
    reached = f"reached for {100 * first.reached:.0f} % of the questions"
    render.say(f"tokens: the median needed for 80 % of the evidence; {reached}")
    for note in notes:
        render.warn(f"note: {note}")
    missed = len(evaluation.missed())
    more = "; --worst N shows them" if missed > shown else ""
    render.say(f"{missed} not found completely among the first 10{more}")


_WIDTH_OF_TIMES = 10
"""Fixed, so that columns do not move with the times."""


def _row(figures: Figures) -> tuple[str, ...]:
    one, five, ten, reciprocal, ndcg = _judgement(figures.mean)
    low, high = figures.interval
    gap = figures.difference
    behind = "" if gap is None else f"{gap[0]:+.3f} ({gap[1]:+.3f} to {gap[2]:+.3f})"
    p50, p95 = (f"{value:.1f} ms".rjust(_WIDTH_OF_TIMES) for value in figures.milliseconds)
    interval = f"{low:.2f}–{high:.2f}"
    return (figures.name, one, five, ten, interval, reciprocal, ndcg, behind, p50, p95, f"{figures.tokens:.0f}")


def _judgement(judgement: Judgement) -> tuple[str, ...]:
    return tuple(f"{value:.3f}" for value in (*judgement.recall, judgement.reciprocal_rank, judgement.ndcg))


def _aligned(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of figures, aligned in a pipe too."""
    table = [tuple(map(plain.clean, row)) for row in (names, *rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        render.say("  ".join((row[0].ljust(widths[0]), *cells[1:])).rstrip())


def _expected(store: MemoryStore, question: Question) -> list[str]:
    """What should have been found, as lines."""
    shown = []
    for piece in store.evaluation.expected(question):
        if not isinstance(piece, str):
            shown.append(f"{piece.memory_id}  {plain.one_line(piece.content, 100)}")
        else:
            shown.append(f"a text with {piece!r}" if question.expect else piece)
    return shown


def _print_missed(number: int, answered: Answered, top: int, expected: Sequence[str]) -> None:
    question = answered.question
    place = f" (line {question.line})" if question.line else ""
    render.say(f"\n{number + 1}. {plain.one_line(question.text, 200)}{place}")
    for shown, rank in zip(expected, answered.ranks, strict=True):
        where = f"found at {rank}" if rank else f"not among the first {top}"
        render.say(f"   expected  {shown}: {where}")
    for hit in answered.hits:
        render.say(f"   found     {hit.score:.3f}  {hit.memory.memory_id}  {plain.one_line(hit.memory.content, 100)}")
    if not answered.hits:
        render.say("   found     nothing")

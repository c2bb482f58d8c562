"""Everything that prints. Tables and colours only on a terminal, plain text into pipes, JSON where asked.

Text from a memory is data: control characters and terminal escapes are shown, never sent.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memctl.cli import progress
from memctl.cli.options import current

if TYPE_CHECKING:
    from datetime import datetime

    from memctl.core.kept import KeptMessage
    from memctl.errors import MemctlError
    from memctl.models import Hit, Memory, QueryResult, Reranking, Route
    from memctl.store import MemoryStore

SHOWN_LINES, SHOWN_WIDTH = 6, 500
"""How much of a hit a terminal shows; `memctl show` prints all of it, as does a list of hits in a pipe."""

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff"
    "\U000e0000-\U000e0fff]"
)
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """Text that is safe to send to a terminal: control and direction characters become visible escapes."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def one_line(text: str, width: int = sys.maxsize) -> str:
    """The text on one line, cut to a width in characters."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def as_json(value: Any) -> None:
    """Print one JSON document."""
    import json

    _write(safe_json(json.dumps(value, ensure_ascii=False, indent=2, default=_plain)))


def safe_json(text: str) -> str:
    """JSON with what a terminal would obey written as escapes; it means the same."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain(value: Any) -> Any:
    from datetime import datetime

    from memctl import times

    if isinstance(value, datetime):
        return times.to_text(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    return str(value)


def say(line: str = "") -> None:
    """Print a line to a person, if JSON was not asked. A name from a store that holds a line end makes no other line of
    it; empty lines before and after are the caller's."""
    if not current.json:
        inner = line.strip("\n")
        before, _, after = line.partition(inner) if inner else ("", "", line)
        _write(before + clean(inner).replace("\n", r"\x0a") + after)


def say_text(text: str) -> None:
    """Print a text of many lines to a person, if JSON was not asked."""
    if not current.json:
        _write(clean(text))


def _write(text: str) -> None:
    """Print in UTF-8 whatever the locale says; a store's text is UTF-8."""
    progress.clear()
    data = text.encode("utf-8", "replace") + b"\n"
    try:
        sys.stdout.buffer.write(data) if hasattr(sys.stdout, "buffer") else print(text)
    except BrokenPipeError:
        raise
    except OSError as problem:
        from memctl.errors import StorageError

        reason = f"cannot write the answer: {problem.strerror}"
        raise StorageError(reason, hint="What was acknowledged is saved.") from None


def warn(text: str) -> None:
    """Print a line to standard error, if JSON was not asked: documents say it themselves."""
    if not current.json:
        _complain(text)


def _complain(text: str) -> None:
    """Print a message, its later lines marked: none looks like another message."""
    progress.clear()
    with suppress(OSError):  # that the answer cannot be written may be what is complained of
        sys.stdout.flush()
    print(clean(text).replace("\n", "\n  | "), file=sys.stderr)


def error(problem: MemctlError, json_wanted: bool) -> None:
    """Print an error to standard error, as one JSON document where JSON was asked."""
    if json_wanted:
        import json

        print(json.dumps(problem.as_dict(), ensure_ascii=True, indent=2, default=str), file=sys.stderr)
        return
    _complain(f"error: {problem.message}")
    if problem.hint:
        _complain(f"  {problem.hint}")


def confirmed(question: str) -> bool:
    """What a person answers, asked on standard error."""
    import typer

    progress.clear()
    return typer.confirm(clean(question), err=True)


def must_confirm(question: str) -> None:
    """Ask a person, and end the command where they do not agree."""
    import typer

    if not confirmed(question):
        raise typer.Abort


def on_terminal() -> bool:
    return sys.stdout.isatty() and not current.json


def _in_cell(text: str) -> str:
    """No text begins another cell or row."""
    return clean(text).replace("\t", " ").replace("\n", " ")


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = (), *, wrap: bool = False
) -> None:
    """A table: fitted to the terminal, its texts cut or, with `wrap`, on several lines; tab-separated into pipes."""
    if current.json:
        return
    cells = [[_in_cell(str(cell)) for cell in row] for row in rows]
    if not on_terminal():
        for row in cells:
            _write("\t".join(row))
    elif not cells:
        _write("nothing")
    else:
        _draw(columns, cells, right, wrap)


def numbered_table(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """A table whose rows `@1` and so on stand for; a terminal shows the numbers."""
    if on_terminal():
        columns = ("", *columns)
        rows = [(f"@{number}", *row) for number, row in enumerate(rows, 1)]
        right = [0, *(at + 1 for at in right)]
    table(columns, rows, right)


def _draw(columns: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[int], wrap: bool) -> None:
    import os
    import shutil

    from memctl.present import tables

    plain = "NO_COLOR" in os.environ or os.environ.get("TERM", "dumb") == "dumb"
    width = shutil.get_terminal_size().columns
    head, lines = tables.drawn(columns, cells, width, right=right, wrap=wrap)
    for line in head if plain else (f"\x1b[1m{line}\x1b[0m" for line in head):
        _write(line)
    for line in lines:
        _write(line)


def memory_json(memory: Memory) -> dict[str, Any]:
    """A record as JSON shows it: all that is set, in the file's order."""
    from memctl.files import codec

    return {"status": memory.status, **codec.encode(memory)}


def day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else "no date"


def size(size: int) -> str:
    """A number of bytes for a person."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def message_json(message: KeptMessage) -> dict[str, Any]:
    """A message as JSON shows it: as in its file, with its whole text."""
    import json

    from memctl.core import kept

    found: dict[str, Any] = json.loads(kept.encode(message))
    return {**found, "text": message.text}


def _message_line(memory: Memory) -> str:
    """One line about a message: who said it, when, in which session."""
    from memctl.context.fence import speaker_of

    about = memory.metadata
    part = f"part {int(about['part']) + 1} of {about['parts']}" if "part" in about else ""
    when = f"{memory.when:%Y-%m-%d %H:%M}" if memory.when else "no date"
    named = (memory.memory_id, "message", when, speaker_of(memory), f"session {about.get('session', '')}", part)
    return "  ".join(one_line(each) for each in named if each)


def memory_line(memory: Memory) -> str:
    """One line about a memory, about a message, or about a passage of a document."""
    if memory.layer == "MSG":
        return _message_line(memory)
    if memory.layer == "DOC":
        return f"{memory.memory_id}  {one_line(str(memory.metadata['heading']))}"
    marks = "".join(mark for mark, on in (("★", memory.pinned), ("⚠", memory.needs_revision)) if on)
    return f"{memory.memory_id}  {memory.category}/{memory.kind}  {day(memory.when)}  {marks}"


def query_result(result: QueryResult, explain: bool) -> None:
    """The answer to a query."""
    if current.json:
        as_json(query_json(result))
        return
    hits(result, explain)
    if explain:
        say(_route_line(result.route))
    degraded(result.degraded)
    if result.reranked:
        say(reranked_line(result.reranked))
    if result.origin:
        say(f"as of: {result.origin}")
    if result.receipt or result.origin in ("", "the records"):
        say(f"receipt {result.receipt}" if result.receipt else "no receipt: the folder cannot be written")


def hits(result: QueryResult, explain: bool) -> None:
    """The hits of an answer, with their relevance: a score only orders the hits of one question."""
    from memctl.retrieval import rank

    if result.hits and not rank.answered(result.hits):
        warn("nothing close is known; the nearest:")
    for number, hit in enumerate(result.hits, 1):
        _hit(number, hit, explain)
    if not result.hits:
        say("nothing found")


def query_markdown(result: QueryResult, texts: Sequence[str]) -> None:
    """The answer as text for a prompt; the receipt follows the fence as a comment.

    Args:
        texts: of the hits, with what was learned and the reflections that matched.
    """
    from dataclasses import replace

    from memctl.context.fence import fenced_items, label

    named = [label(replace(hit.memory, memory_id=owned_id(hit))) for hit in result.hits]
    text = fenced_items([*zip(named, texts, strict=True)])
    if current.json:
        as_json(query_json(result) | {"markdown": text})
        return
    say_text(text)
    if result.receipt:
        say(f"<!-- receipt {result.receipt} -->")
    if result.origin:
        say(f"<!-- as of: {result.origin} -->")
    degraded(result.degraded)


def degraded(notes: Sequence[str]) -> None:
    """What makes an answer worse than it should be, to standard error."""
    for note in notes:
        warn(f"degraded: {note}")


def stale_notice(store: MemoryStore) -> None:
    """Say on standard error where the index is not, or cannot be, what the files are."""
    report = store.engine.report
    if report is None:
        return
    state = report.index_state
    if report.blocked and store.engine.index.total():
        warn(f"stale: {report.blocked.message}; answers are from the last good state, and nothing can be changed")
    elif report.blocked:
        warn(f"stale: {report.blocked.message}; there is no earlier state to answer from, and nothing can be changed")
    elif state.state != "fresh":
        warn(f"index {state.state}: {'; '.join(state.notes)}")
    else:
        for note in state.notes:
            warn(f"left out: {note}")


LEAST_SHOWN = 0.0005
"""A part of a score that would be printed as zero is left out."""


def _hit(number: int, hit: Hit, explain: bool) -> None:
    say(f"{number:>2}. {hit.relevance:.2f}  {_owned(hit)}{memory_line(hit.memory)}".rstrip())
    for line in _hit_lines(hit.memory.content):
        say(f"    {line}")
    if hit.via and hit.memory.layer not in ("DOC", "MSG"):
        say(f"    (by its reflection {hit.via})")
    if explain:
        parts = "  ".join(f"{name} {value:+.3f}" for name, value in hit.parts.items() if abs(value) >= LEAST_SHOWN)
        say(f"    score {hit.score:.3f} = {parts}   words: {', '.join(hit.matched) or '-'}")


def _hit_lines(content: str) -> list[str]:
    lines = [line for line in content.splitlines() if line.strip()]
    if not on_terminal():
        return [one_line(line) for line in lines]
    left = len(lines) - SHOWN_LINES
    more = [f"… {left} more lines; `memctl show` prints them"] if left > 0 else []
    return [*(one_line(line, SHOWN_WIDTH) for line in lines[:SHOWN_LINES]), *more]


def owned_id(hit: Hit) -> str:
    """The id of a hit, behind the name of its user where that is another."""
    return f"{_owned(hit)}{hit.memory.memory_id}"


def _owned(hit: Hit) -> str:
    """What stands before the id of another user's memory."""
    return f"{hit.owner}/" if hit.owner else ""


def _route_line(route: Route) -> str:
    where = ", ".join(route.categories) or "every category"
    cues = f" by {', '.join(repr(cue) for cue in route.cues)}" if route.cues else ""
    more = "; widened, because hits elsewhere are as good or the routed ones too few" if route.widened else ""
    when = "; asks for the present" if route.present else ""
    return f"route: {route.intent} → {where}, layers {', '.join(route.layers)}{cues}{more}{when}"


def query_json(result: QueryResult) -> dict[str, Any]:
    """The answer as `--json` prints it."""
    return {
        "query": result.query.text,
        "hits": [hit_json(hit) for hit in result.hits],
        "receipt": result.receipt,
        "index": {"state": result.index.state, "notes": list(result.index.notes)},
        "route": vars(result.route)
        | {"categories": list(result.route.categories), "layers": list(result.route.layers)},
        "degraded": list(result.degraded),
        **reranked_json(result.reranked),
        **({"as_of": result.origin} if result.origin else {}),
    }


def reranked_line(done: Reranking) -> str:
    """What a reranker did and cost, for a person."""
    return f"reranked {done.candidates} candidates with {done.model} in {done.milliseconds:.0f} ms"


def reranked_json(done: Reranking | None) -> dict[str, Any]:
    """The same as a field of a document; nothing where there was no reranker."""
    if done is None:
        return {}
    return {"rerank": {"model": done.model, "candidates": done.candidates, "ms": round(done.milliseconds, 1)}}


def hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "memory": memory_json(hit.memory),
        "score": round(hit.score, 6),
        "relevance": round(hit.relevance, 6),
        "parts": {name: round(value, 6) for name, value in hit.parts.items()},
        "via": hit.via,
        "matched": list(hit.matched),
        **({"user": hit.owner} if hit.owner else {}),
    }

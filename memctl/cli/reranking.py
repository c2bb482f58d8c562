"""`--rerank`, the one option that may stand with a value or without."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from memctl.config import Settings

_FLAG, _NAME = "--rerank", re.compile(r"(fastembed:|server(:|$))")

Rerank = Annotated[
    str | None,
    typer.Option(
        _FLAG, help="Let a reranker read the best hits: the one of the settings, or this. `none`: do not.",
        metavar="[NAME]",
    ),
]  # fmt: skip


def with_whole_values(args: list[str]) -> list[str]:
    """`--rerank` may stand alone, or before the name of a reranker: any other word after it is no value of its own."""
    found: list[str] = []
    for at, word in enumerate(args):
        if word == "--":
            return found + args[at:]
        if at and args[at - 1] == _FLAG and _NAME.match(word):
            found[-1] = f"{_FLAG}={word}"
        else:
            found.append(f"{_FLAG}=" if word == _FLAG else word)
    return found


def reranker(given: str | None, settings: Settings) -> str:
    """The name of the reranker that `--rerank` means, empty where it was not given.

    Raises:
        UsageError: it is to be the one of the settings, and none is set.
    """
    from memctl.errors import UsageError

    if given == "" and settings.rerank == "none":
        raise UsageError(
            "no reranker is set",
            hint="Name one: `--rerank fastembed:MODEL`; `memctl model list` shows them, `memctl model use` sets one.",
        )
    return settings.rerank if given == "" else given or ""

"""Embedders by the name that stands in the settings. Each one's module is imported only when it is chosen."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.providers.base import Embedder

CHOICES = ("builtin", "fastembed:MODEL", "openai:MODEL", "none")


def load_embedder(
    name: str, *, cache_dir: Path, base_url: str = "", api_key: str = "", timeout: float = 10.0
) -> Embedder | None:
    """The embedder called `name`, not yet loaded; None for `none`, which means full text only.

    Args:
        name: one of `CHOICES`; MODEL is a model's name, for fastembed also a folder.
        cache_dir: where fastembed's models are installed.
        base_url: of the server that `openai:` asks.
        api_key: for that server; empty if it needs none.
        timeout: seconds for one request to it.

    Raises:
        ProviderError: the model's files are missing or damaged, or the address or key cannot be one.
        UsageError: there is no embedder of that name.
    """
    kind, _, model = name.partition(":")
    if name == "none":
        return None
    if name == "builtin":
        from memctl.providers.builtin import BuiltinEmbedder

        return BuiltinEmbedder()
    if kind == "fastembed" and model:
        from memctl.providers.fastembed import FastembedEmbedder

        return FastembedEmbedder(model, cache_dir=cache_dir)
    if kind == "openai" and model:
        from memctl.providers.openai import OpenAIEmbedder

        return OpenAIEmbedder(model, base_url=base_url, api_key=api_key, timeout=timeout)
    raise UsageError(f"no embedder {name!r}", hint=_suggestion(name))


def _suggestion(name: str) -> str:
    """What the user may have meant, then all choices."""
    kind, _, model = name.partition(":")
    near = [choice for choice in CHOICES if difflib.get_close_matches(kind.lower(), [choice.partition(":")[0]])]
    meant = [f"fastembed:{name}"] if "/" in kind else [choice.replace("MODEL", model or "MODEL") for choice in near]
    choices = f"Choose one of: {', '.join(CHOICES)}."
    return f"Did you mean {' or '.join(meant)}? {choices}" if meant else choices

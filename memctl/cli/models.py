"""`memctl model`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli import options, progress, render
from memctl.cli.options import current
from memctl.errors import argument

if TYPE_CHECKING:
    from memctl.config import Settings

COLUMNS = ("model", "kind", "languages", "dim.", "size", "blend", "", "what it is")
FIELDS = ("name", "kind", "languages", "dimensions", "size", "blend", "state", "description")

Row = tuple[str, str, str, str, str, str, str, str]


def list_models(
    every: Annotated[bool, typer.Option("--all", help="Also what fastembed offers besides.")] = False,
) -> None:
    """List the models that can be used, those in use first.

    The blend is the share of full text and of the vectors in a score; of a reranker, its own share.

    Example: memctl model list
    """
    import os

    from memctl import bootstrap, config

    settings = config.load(options.store_root())
    used = {settings.model, settings.rerank} - {"none"} or {"none"}
    rows = _rows(settings, bootstrap.cache_directory(os.environ) / "models")
    if every:
        rows += _others({row[0] for row in rows}, bootstrap.cache_directory(os.environ) / "models")
    named = {row[0] for row in rows}
    rows += [(name, "", "", "?", "?", "", "", "as configured") for name in sorted(used - named)]
    rows.sort(key=lambda row: row[0] not in used)
    if current.json:
        render.as_json([dict(zip(FIELDS, row, strict=True)) | {"in_use": row[0] in used} for row in rows])
        return
    marked = [(("* " if row[0] in used else "  ") + row[0], *row[1:]) for row in rows]
    render.table(COLUMNS, marked, right=(3, 4), wrap=True)


def _rows(settings: Settings, models: Path) -> list[Row]:
    """What memctl brings, and the models worth choosing."""
    from memctl.providers import catalogue

    told = "no network, milliseconds"
    found: list[Row] = [
        ("builtin", catalogue.STATIC, "English", "256", "8 MB", _blend(0.5, 0.5), "shipped", told),
        ("none", "", "any", "-", "-", _blend(1, 0), "shipped", "full text only"),
    ]
    for known in catalogue.MODELS:
        name = f"fastembed:{known.name}"
        is_reranker = known.kind == catalogue.RERANKER
        blend = f"{settings.rerank_weight:g}" if is_reranker else _blend(*catalogue.weights(known.name))
        state = "installed" if _installed(known.name, models, is_reranker) else ""
        told = "; ".join(filter(None, (known.published, known.note)))
        size = f"{known.megabytes} MB" if known.megabytes < 1000 else f"{known.megabytes / 1000:g} GB"
        found.append((name, known.kind, known.languages, str(known.dimensions or "-"), size, blend, state, told))
    return found


def _blend(lexical: float, vector: float) -> str:
    return f"{lexical:g} + {vector:g}"


def _others(known: set[str], models: Path) -> list[Row]:
    """What fastembed offers besides, in its own words."""
    from memctl.providers import catalogue, fastembed

    found: list[Row] = []
    for info in fastembed.catalogue():
        name = f"fastembed:{info.name}"
        if name not in known:
            blend, size = _blend(*catalogue.weights(info.name)), f"{info.size_gb:g} GB"
            state = "installed" if _installed(info.name, models, False) else ""
            found.append((name, "", "", str(info.dimensions), size, blend, state, info.description))
    return found


def _installed(model: str, models: Path, is_reranker: bool) -> bool:
    from memctl.providers import fastembed, rerank_fastembed

    return rerank_fastembed.installed(model, models) if is_reranker else fastembed.installed(model, models)


def install(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="The model, such as fastembed:BAAI/bge-small-en-v1.5.")],
) -> None:
    """Download a model, or check one that is there. Nothing but this and `use` downloads.

    Example: memctl model install fastembed:BAAI/bge-small-en-v1.5
    """
    from memctl.errors import UsageError

    kind, _, model = name.partition(":")
    if kind != "fastembed" or not model:
        raise UsageError(
            f"{name!r} needs no installing", hint="Only fastembed:MODEL is installed; see `memctl model list`."
        )
    path = _install(name)
    if current.json:
        render.as_json({"model": name, "path": str(path)})
    render.say(f"installed {name} in {path}")
    render.say(f"use it with `memctl model use {argument(name)}`")


def _install(name: str) -> Path:
    import os

    from memctl import bootstrap
    from memctl.providers import catalogue, fastembed, rerank_fastembed

    family = rerank_fastembed.FAMILY if catalogue.is_reranker(name) else fastembed.FAMILY
    return family.install(name.removeprefix("fastembed:"), bootstrap.cache_directory(os.environ) / "models")


def _fetch(name: str) -> None:
    """Download one of fastembed's models, if it is not there whole."""
    import os

    from memctl import bootstrap
    from memctl.providers import catalogue

    kind, _, model = name.partition(":")
    models = bootstrap.cache_directory(os.environ) / "models"
    if kind != "fastembed" or not model or _installed(model, models, catalogue.is_reranker(name)):
        return
    if known := catalogue.find(model):
        render.warn(f"downloading {name}, {known.megabytes} MB")
    _install(name)


def verify(
    name: Annotated[str | None, typer.Argument(metavar="[MODEL]", help="The model; the one in use otherwise.")] = None,
) -> None:
    """Check that a model is whole and works.

    Example: memctl model verify
    """
    import os
    from dataclasses import replace

    from memctl import bootstrap, config
    from memctl.providers import catalogue

    found = config.load(options.store_root())
    chosen = name or found.model
    if catalogue.is_reranker(chosen):
        if reranker := bootstrap.need_reranker(found, chosen, os.environ):
            reranker.verify()
        _tell_verified(chosen, "", " as a reranker")
        return
    embedder = bootstrap.need_embedder(replace(found, model=chosen), os.environ)
    if embedder is not None:
        embedder.verify()
    told = f" ({embedder.identity})" if embedder else ": full text needs no model"
    _tell_verified(chosen, embedder.identity if embedder else "", told)


def _tell_verified(name: str, identity: str, told: str) -> None:
    if current.json:
        render.as_json({"model": name, "works": True, "identity": identity})
    render.say(f"{name} works{told}")


def use(
    name: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="builtin, none, fastembed:MODEL, openai:MODEL, server or server:MODEL."),
    ],
) -> None:
    """Choose a model, download it where it is not there, and check it.

    An embedding model takes the place of the present one, and every user's memories are embedded with it. A reranker is
    used beside it; `memctl config set rerank none` does without.

    Example: memctl model use builtin
    """
    from memctl.providers import catalogue

    if catalogue.is_reranker(name):
        _use_reranker(name)
    else:
        _use_embedder(name)


def _use_reranker(name: str) -> None:
    import os

    from memctl import bootstrap, config

    root = options.store_root()
    _fetch(name)
    if reranker := bootstrap.need_reranker(config.load(root), name, os.environ):
        reranker.verify()
    config.save(root, "rerank", config.check("rerank", name))
    if current.json:
        render.as_json({"rerank": name})
    render.say(f"using {name} to rerank the best hits of each query; `memctl config set rerank none` does without")


def _use_embedder(name: str) -> None:
    import os
    from dataclasses import replace

    from memctl import bootstrap, config
    from memctl.storage.files import layout

    root = options.store_root()
    settings = config.load(root)
    _fetch(name)
    embedder = bootstrap.need_embedder(replace(settings, model=name), os.environ)
    if embedder is not None:
        embedder.verify()
    config.save(root, "model", name)
    done = {}
    for user in [current.user] if current.user else layout.users(root):
        with bootstrap.open_store(root, user) as store:
            store.sync(progress=progress.working)
            done[user] = store.engine.search.total()
    if current.json:
        render.as_json({"model": name, "embedded": done})
    entries = f"{sum(done.values())} entries of {len(done)} users"
    render.say(f"using {name}: " + ("full text only" if embedder is None else f"embedded {entries}"))


MODEL = options.Commands(
    "List, install, check and choose the embedding model and the reranker.\n\nExample: memctl model use builtin",
    {"list": list_models, "install": install, "verify": verify, "use": use},
)

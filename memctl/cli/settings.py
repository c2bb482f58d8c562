"""`memctl config` and `memctl model`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.options import current


def _list_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_settings()


def list_settings() -> None:
    """List every setting with its value.

    Example: memctl config list
    """
    from dataclasses import fields

    from memctl import config

    found = config.load(options.store_root())
    values = {f.name: getattr(found, f.name) for f in fields(config.Settings)}
    if current.json:
        render.as_json(values)
        return
    default = config.Settings()
    rows = [
        (
            f.name,
            _shown(values[f.name]),
            "" if values[f.name] == getattr(default, f.name) else "set",
            f.metadata["help"],
        )
        for f in fields(config.Settings)
    ]
    render.table(("setting", "value", "", "what it is"), rows)


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def get(
    name: Annotated[str, typer.Argument(help="The setting.", metavar="NAME", autocompletion=options.complete_setting)],
) -> None:
    """Print one setting.

    Example: memctl config get model
    """
    from dataclasses import fields

    from memctl import config
    from memctl.errors import UsageError

    found = config.load(options.store_root())
    if name not in {f.name for f in fields(config.Settings)}:
        raise UsageError(f"there is no setting {name!r}", hint=config.near(name))
    if current.json:
        render.as_json({name: getattr(found, name)})
    render.say(_shown(getattr(found, name)))


def set_(
    name: Annotated[str, typer.Argument(help="The setting.", metavar="NAME", autocompletion=options.complete_setting)],
    value: Annotated[str, typer.Argument(help="Its value; lists with commas.", metavar="VALUE")],
) -> None:
    """Change one setting in memctl.yaml; other lines stay as they are.

    Example: memctl config set decay_half_life_days 120
    """
    from memctl import config

    parsed = config.parse_value(name, value)
    root = options.store_root()
    config.save(root, name, parsed)
    if current.json:
        render.as_json({name: parsed})
    render.say(f"{name} is {_shown(parsed)} in {root / 'memctl.yaml'}")


def list_models() -> None:
    """List the models that can be used, the one in use first.

    Example: memctl model list
    """
    import os

    from memctl import bootstrap, config
    from memctl.providers import fastembed

    used = config.load(options.store_root()).model
    models = bootstrap.cache_directory(os.environ) / "models"
    rows: list[tuple[str, str, str, str, str]] = [
        ("builtin", "256", "8 MB", "shipped", "static vectors, English; no network, milliseconds"),
        ("none", "-", "-", "shipped", "full text only"),
    ]
    for info in fastembed.catalogue():
        name = f"fastembed:{info.name}"
        there = "installed" if fastembed.installed(info.name, models) else ""
        rows.append((name, str(info.dimensions), f"{info.size_gb:g} GB", there, info.description))
    if used not in {row[0] for row in rows}:
        rows.insert(0, (used, "?", "?", "", "as configured"))
    rows.sort(key=lambda row: row[0] != used)
    if current.json:
        names = ("name", "dimensions", "size", "state", "description")
        render.as_json([dict(zip(names, row, strict=True)) | {"in_use": row[0] == used} for row in rows])
        return
    marked = [(("* " if row[0] == used else "  ") + row[0], *row[1:]) for row in rows]
    render.table(("model", "dim.", "size", "", "what it is"), marked, right=(1, 2))


def install(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="The model, such as fastembed:BAAI/bge-small-en-v1.5.")],
) -> None:
    """Download a model. (The only command that does.)

    Example: memctl model install fastembed:BAAI/bge-small-en-v1.5
    """
    import os

    from memctl import bootstrap
    from memctl.errors import UsageError
    from memctl.providers import fastembed

    kind, _, model = name.partition(":")
    if kind != "fastembed" or not model:
        raise UsageError(
            f"{name!r} needs no installing", hint="Only fastembed:MODEL is installed; see `memctl model list`."
        )
    path = fastembed.install(model, bootstrap.cache_directory(os.environ) / "models")
    if current.json:
        render.as_json({"model": name, "path": str(path)})
    render.say(f"installed {name} in {path}\nuse it with `memctl model use {name}`")


def verify(
    name: Annotated[str | None, typer.Argument(metavar="[MODEL]", help="The model; the one in use otherwise.")] = None,
) -> None:
    """Check that a model is whole and works.

    Example: memctl model verify
    """
    import os
    from dataclasses import replace

    from memctl import bootstrap, config

    found = config.load(options.store_root())
    chosen = replace(found, model=name or found.model)
    embedder = bootstrap.need_embedder(chosen, os.environ)
    if embedder is not None:
        embedder.verify()
    if current.json:
        render.as_json({"model": chosen.model, "works": True, "identity": embedder.identity if embedder else ""})
    render.say(f"{chosen.model} works" + (f" ({embedder.identity})" if embedder else ": full text needs no model"))


def use(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="builtin, none, fastembed:MODEL or openai:MODEL.")],
) -> None:
    """Choose the model, check it, and embed every user's memories with it.

    Example: memctl model use builtin
    """
    import os
    from dataclasses import replace

    from memctl import bootstrap, config
    from memctl.files import layout

    root = options.store_root()
    embedder = bootstrap.need_embedder(replace(config.load(root), model=name), os.environ)
    if embedder is not None:
        embedder.verify()
    config.save(root, "model", name)
    done = {}
    for user in [current.user] if current.user else layout.users(root):
        with bootstrap.open_store(root, user) as store:
            store.sync(progress=render.progress)
            done[user] = store.index.total()
    if current.json:
        render.as_json({"model": name, "embedded": done})
    entries = f"{sum(done.values())} entries of {len(done)} users"
    render.say(f"using {name}: " + ("full text only" if embedder is None else f"embedded {entries}"))


CONFIG = options.Commands(
    "Show and change the settings of the store.\n\nExample: memctl config set decay_half_life_days 120",
    {"list": list_settings, "get": get, "set": set_},
    alone=_list_without_command,
)
MODEL = options.Commands(
    "List, install, check and choose the embedding model.\n\nExample: memctl model use builtin",
    {"list": list_models, "install": install, "verify": verify, "use": use},
)

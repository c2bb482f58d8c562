"""`memctl config`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.options import current

if TYPE_CHECKING:
    from memctl.trust import Server


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
    render.table(("setting", "value", "", "what it is"), rows, wrap=True)


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
    trusted = _trust_what_was_typed(name)
    if current.json:
        render.as_json({name: parsed})
    render.say(f"{name} is {_shown(parsed)} in {root / 'memctl.yaml'}{trusted}")


def _trust_what_was_typed(name: str) -> str:
    """What the user typed is meant: a value; an address, or another key at one that was trusted before. Says so."""
    import os

    from memctl import bootstrap, config, trust

    if _trust_value(name):
        return "; trusted on this machine"
    if not name.endswith(("_url", "_key_variable")):
        return ""

    setting = name if name.endswith(trust.URL) else name.removesuffix(trust.KEY_VARIABLE) + trust.URL
    server = bootstrap.servers(config.load(options.store_root())).get(setting)
    known = server is not None and any(one.address == server.address for one in trust.listed(os.environ))
    if server is None or trust.gets_key(server, os.environ) or not (name == setting or known):
        return ""
    if trust.is_local(server.address):  # texts need no trust there, and most such servers need no key
        return ""
    trust.add(server, os.environ)
    return f"; trusted on this machine, with the key in {server.key_variable}"


def _trust_value(name: str) -> bool:
    """Trust the value that a setting has in this store, if it is one that needs it; False where it needs none."""
    import os

    from memctl import config, trust

    root = options.store_root()
    settings = config.load(root)
    if name not in config.risks(settings):
        return False
    trust.add_value(trust.value_of(root, name, getattr(settings, name)), os.environ)
    return True


def trust(
    name: Annotated[
        str | None,
        typer.Argument(
            help="The setting, such as llm_url or secrets; lists what needs trust otherwise.",
            metavar="[NAME]",
            autocompletion=options.complete_trusted,
        ),
    ] = None,
) -> None:
    """Allow a server or a value that memctl.yaml sets.

    A store may come from somebody else, so its servers are not used before, and values that are less safe than the
    defaults are not in force. What `config set` sets here is trusted at once. Servers on this machine need no trust
    for texts; a key is sent to them only after this.

    Example: memctl config trust llm_url
    """
    import os

    from memctl import trust as trusting

    if name is None:
        _list_trust()
        return
    if _trust_value(name):
        if current.json:
            render.as_json({"setting": name, "trusted": True})
        render.say(f"{name} is trusted as it is set in this store, on this machine")
        return
    server = _named_server(name)
    new = trusting.add(server, os.environ)
    if current.json:
        render.as_json({"address": server.address, "key_variable": server.key_variable, "trusted": True})
    told = f"{server.address} is trusted on this machine, with the key in {server.key_variable}"
    render.say(told if new else f"{told}; it was before")


def distrust(
    name: Annotated[
        str,
        typer.Argument(
            help="The setting that names the server, or its address.",
            metavar="NAME",
            autocompletion=options.complete_trusted,
        ),
    ],
) -> None:
    """Take back what `trust` allowed.

    Example: memctl config distrust llm_url
    """
    import os

    from memctl import trust as trusting
    from memctl.errors import NotFoundError

    if trusting.remove_value(options.store_root(), name, os.environ):
        if current.json:
            render.as_json({"setting": name, "trusted": False})
        render.say(f"{name} is trusted no longer")
        return
    address = name if "://" in name else _named_server(name).address
    if not trusting.remove(address, os.environ):
        raise NotFoundError(f"{address} is not trusted", hint="`memctl config trust` lists the servers.")
    if current.json:
        render.as_json({"address": address, "trusted": False})
    render.say(f"{address} is trusted no longer")


def _named_server(name: str) -> Server:
    from memctl import bootstrap, config
    from memctl.errors import UsageError

    found = bootstrap.servers(config.load(options.store_root()))
    if name not in found:
        hint = f"These name servers: {', '.join(found)}. `memctl config trust` lists what needs trust."
        raise UsageError(f"the setting {name!r} needs no trust as it is, or there is no such setting", hint=hint)
    return found[name]


def _list_trust() -> None:
    """What the settings name and whether it may be used, then what is trusted besides; values that need trust last."""
    import os

    from memctl import bootstrap, config
    from memctl import trust as trusting

    named = bootstrap.servers(config.load(options.store_root()))
    rows = [(name, server, _state(server)) for name, server in named.items()]
    rows += [("", server, "trusted") for server in trusting.listed(os.environ) if server not in named.values()]
    settings = config.load(options.store_root())
    known = trusting.values(os.environ)
    states = {
        name: "trusted"
        if trusting.value_of(options.store_root(), name, getattr(settings, name)) in known
        else "not trusted"
        for name in config.risks(settings)
    }
    if current.json:
        listed: list[dict[str, Any]] = [
            {"setting": name, **server._asdict(), "state": state} for name, server, state in rows
        ]
        listed += [
            {"setting": name, "value": getattr(settings, name), "state": state} for name, state in states.items()
        ]
        render.as_json(listed)
        return
    shown = [(name, *server, state) for name, server, state in rows]
    shown += [(name, _shown(getattr(settings, name)), "", state) for name, state in states.items()]
    render.table(("setting", "server or value", "key", ""), shown)


def _state(server: Server) -> str:
    import os

    from memctl import trust as trusting

    if trusting.is_local(server.address):
        return "on this machine" + (", gets the key" if trusting.gets_key(server, os.environ) else "")
    return "trusted" if trusting.is_trusted(server, os.environ) else "not trusted"


CONFIG = options.Commands(
    "Show and change the settings of the store.\n\nExample: memctl config set decay_half_life_days 120",
    {"list": list_settings, "get": get, "set": set_, "trust": trust, "distrust": distrust},
    alone=_list_without_command,
)

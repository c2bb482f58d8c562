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
    trusted = _trust_what_was_typed(name)
    if current.json:
        render.as_json({name: parsed})
    render.say(f"{name} is {_shown(parsed)} in {root / 'memctl.yaml'}{trusted}")


def _trust_what_was_typed(name: str) -> str:
    """An address the user typed may be used; so may another key at one that was trusted before. Says so."""
    if not name.endswith(("_url", "_key_variable")):
        return ""
    import os

    from memctl import bootstrap, config, trust

    setting = name if name.endswith(trust.URL) else name.removesuffix(trust.KEY_VARIABLE) + trust.URL
    server = bootstrap.servers(config.load(options.store_root())).get(setting)
    known = server is not None and any(one.address == server.address for one in trust.listed(os.environ))
    if server is None or trust.gets_key(server, os.environ) or not (name == setting or known):
        return ""
    if trust.is_local(server.address):  # texts need no trust there, and most such servers need no key
        return ""
    trust.add(server, os.environ)
    return f"; trusted on this machine, with the key in {server.key_variable}"


def trust(
    name: Annotated[
        str | None,
        typer.Argument(
            help="The setting that names the server, such as llm_url; lists all servers otherwise.",
            metavar="[NAME]",
            autocompletion=options.complete_server,
        ),
    ] = None,
) -> None:
    """Allow that memories are sent to a server which memctl.yaml names.

    A store may come from somebody else, so its servers are not used before. What `config set` sets here is trusted at
    once. Servers on this machine need no trust for texts; a key is sent to them only after this.

    Example: memctl config trust llm_url
    """
    import os

    from memctl import trust as trusting

    if name is None:
        _list_servers()
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
            autocompletion=options.complete_server,
        ),
    ],
) -> None:
    """Send nothing to a server any longer.

    Example: memctl config distrust llm_url
    """
    import os

    from memctl import trust as trusting
    from memctl.errors import NotFoundError

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
        raise UsageError(f"no setting {name!r} names a server", hint=f"These do: {', '.join(found)}.")
    return found[name]


def _list_servers() -> None:
    """What the settings name and whether it may be used, then what is trusted besides."""
    import os

    from memctl import bootstrap, config
    from memctl import trust as trusting

    named = bootstrap.servers(config.load(options.store_root()))
    rows = [(name, server, _state(server)) for name, server in named.items()]
    rows += [("", server, "trusted") for server in trusting.listed(os.environ) if server not in named.values()]
    if current.json:
        render.as_json([{"setting": name, **server._asdict(), "state": state} for name, server, state in rows])
        return
    render.table(("setting", "server", "key", ""), [(name, *server, state) for name, server, state in rows])


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

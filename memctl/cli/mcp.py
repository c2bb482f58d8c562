"""`memctl mcp`: the server for assistants that speak MCP, and how they are told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.options import current

if TYPE_CHECKING:
    from memctl.agent.clients import Edit
    from memctl.agent.schemas import Tool

PORT = 8765
TOKEN_VARIABLE = "MEMCTL_MCP_TOKEN"
LEAST_TOKEN = 16

Tools = Annotated[
    str, typer.Option("--tools", help="Which tools assistants get: core (few and cheap) or all.", metavar="LIST")
]


def _serve(
    context: typer.Context,
    with_: options.With = None,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP on this machine instead of stdio.")] = False,
    port: Annotated[
        int, typer.Option(help="With --http: the port; 0 takes a free one.", min=0, max=65535, metavar="N")
    ] = PORT,
    tools: Tools = "core",
) -> None:
    from memctl.agent.schemas import CORE, listed

    listed(tools)
    if context.invoked_subcommand is not None:
        if with_ or http or tools != CORE:
            from memctl.errors import UsageError

            name = context.invoked_subcommand
            raise UsageError(f"`{name}` starts no server", hint=f"Put the options of `{name}` after its name.")
        return
    _run(with_ or [], port if http else None, tools)


def _run(readable: list[str], port: int | None, tools: str) -> None:
    """Serve until the client goes, or until interrupted."""
    import sys

    from memctl.agent.shared import open_shared

    mcp = _server_module()
    with open_shared(current.store, current.user, readable) as shared:
        if port is None:
            if sys.stdin.isatty():
                render.warn("serving on standard input and output, as clients start it; Ctrl-C ends it")
            mcp.serve_stdio(shared, tools)
            return
        token, told = _token()
        listening = mcp.listen(port)
        url = f"http://{mcp.HOST}:{listening.getsockname()[1]}{mcp.PATH}"
        if current.json:
            render.as_json({"url": url, "users": list(shared.stores), "token": told})
            sys.stdout.flush()
        else:
            render.warn(f"memctl for {', '.join(shared.stores)}: {url}")
            render.warn(f"token (for this run; {TOKEN_VARIABLE} sets one): {told}" if told else "token: as given")
        mcp.serve_http(shared, listening, token, tools)


def _server_module() -> Any:
    from memctl import distribution
    from memctl.errors import ProviderError

    try:
        from memctl.agent import mcp
    except ImportError as problem:
        hint = f"Install what the server needs: `{distribution.add_extra('mcp')}`."
        raise ProviderError(f"the MCP SDK cannot be loaded: {problem}", hint=hint) from None
    return mcp


def _token() -> tuple[str, str]:
    """The token that clients must show; and again where it was made here, and must be told."""
    import os
    import secrets

    from memctl.errors import UsageError

    given = os.environ.get(TOKEN_VARIABLE, "")
    if not given:
        made = secrets.token_urlsafe(32)
        return made, made
    if len(given) < LEAST_TOKEN or not given.isascii() or not given.isprintable() or " " in given:
        hint = f"At least {LEAST_TOKEN} letters, digits and signs, such as `openssl rand -hex 32` prints."
        raise UsageError(f"{TOKEN_VARIABLE} cannot be a token", hint=hint)
    return given, ""


def install(
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT",
            help="claude-code, claude-desktop, cursor, codex or vscode.",
            autocompletion=options.complete_client,
        ),
    ],
    with_: options.With = None,
    tools: Tools = "core",
    write: Annotated[
        bool, typer.Option("--write", help="Edit the client's file; the one of before is kept beside it.")
    ] = False,
    command: Annotated[str, typer.Option(help="What starts memctl; the one that runs now otherwise.")] = "",
) -> None:
    """Print, or write, what a client needs to know.

    Other entries of its file stay as they are. The same again changes nothing.

    Example: memctl mcp install claude-code --write
    """
    import os

    from memctl import distribution
    from memctl.agent import clients
    from memctl.core import times
    from memctl.errors import UsageError

    if client not in clients.CLIENTS:
        raise UsageError(f"there is no client {client!r}", hint=f"Clients: {', '.join(clients.CLIENTS)}.")
    if write and not command:
        _server_module()  # or the client would be told of a server that cannot start
    # The whole path: programs with a window do not know the shell's.
    server = clients.entry(client, command or distribution.executable(), _arguments(with_ or [], tools))
    path = clients.config_path(client, os.environ)
    if not write:
        _print(client, str(path), clients.snippet(client, server))
        return
    change = clients.edit(client, path, server)
    backup = clients.write(change, times.utc_now()) if change.needed else None
    _say_written(client, change, str(backup or ""))


def _arguments(readable: list[str], tools: str) -> list[str]:
    """The server's command line: store and users spelled out, for a client starts it anywhere."""
    from memctl.agent.schemas import CORE, listed
    from memctl.agent.shared import open_shared

    listed(tools)
    chosen = [] if tools == CORE else ["--tools", tools]
    with open_shared(current.store, current.user, readable) as shared:
        own, *others = shared.stores
        beside = [word for name in others for word in ("--with", name)]
        return ["--store", str(shared.own.folder.root.parent), "--user", own, "mcp", *beside, *chosen]


def _print(client: str, path: str, text: str) -> None:
    from memctl.agent.clients import CLIENTS

    if current.json:
        render.as_json({"client": client, "path": path, "text": text, "written": False})
        return
    render.say_text(f"for {CLIENTS[client].title}, in {path}:\n\n{text}")
    render.say("The same with --write puts it there.")


def _say_written(client: str, change: Edit, backup: str) -> None:
    from memctl.agent.clients import CLIENTS

    if current.json:
        told = {"client": client, "path": str(change.path), "text": change.after, "written": change.needed}
        render.as_json(told | {"backup": backup})
        return
    if not change.needed:
        render.say(f"{CLIENTS[client].title} knows this memory already: {change.path}")
        return
    render.say_text(f"wrote {change.path}\n{change.diff.rstrip()}")
    if backup:
        render.say(f"the file of before: {backup}")
    render.say(CLIENTS[client].after)


def tools(
    schema: Annotated[str, typer.Option(help="Print the schemas: openai or anthropic.", metavar="FORM")] = "",
    tools: Tools = "all",
) -> None:
    """List the tools of an assistant, with their cost.

    With --schema they are printed for function calling, without a server.

    Example: memctl mcp tools --schema openai
    """
    import json

    from memctl.agent.schemas import ALL, CORE, as_anthropic, as_openai, listed
    from memctl.context import tokens
    from memctl.errors import UsageError

    chosen = listed(tools)
    forms = {"openai": as_openai, "anthropic": as_anthropic}
    if schema and schema not in forms:
        raise UsageError(f"there is no form {schema!r}", hint=f"Forms: {', '.join(forms)}.")
    if schema or current.json:
        render.as_json(forms[schema or "openai"](chosen))
        return
    costs = [tokens.estimate(json.dumps(one)) for one in as_openai(chosen)]
    rows = [
        (tool.name, CORE if tool.core else ALL, str(cost), _effect(tool))
        for tool, cost in zip(chosen, costs, strict=True)
    ]
    render.table(("tool", "list", "tokens", "what it does to memory"), rows, right=(2,), wrap=True)
    core = sum(cost for tool, cost in zip(chosen, costs, strict=True) if tool.core)
    render.say(f"core about {core} tokens, all of these about {sum(costs)}")


def _effect(tool: Tool) -> str:
    if tool.read_only:
        return "reads"
    return "changes or takes away" if tool.destructive else "adds"


GROUP = options.Commands(
    "Serve the memory to assistants that speak MCP (needs the extra `mcp`).\n\n"
    "Without a command it serves one client on standard input and output; clients start it themselves. With --http it "
    "serves any number on this machine.\n\nExample: memctl mcp --http --port 8765",
    {"install": install, "tools": tools},
    alone=_serve,
)

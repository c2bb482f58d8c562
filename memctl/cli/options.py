"""What all commands share: the three global options, which stand before or after the command, and opening the store."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from memctl.cli.reranking import with_whole_values

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from memctl.agent.shared import Shared
    from memctl.store import MemoryStore


class Invocation:
    """The global options of the command being run. (Not a dataclass: those cost 3 ms at every start.)"""

    store: str | None = None
    user: str | None = None
    json: bool = False


current = Invocation()


def reset() -> None:
    current.store = current.user = None
    current.json = False


def _remember(context: typer.Context, parameter: Any, value: Any) -> None:
    if value:
        setattr(current, parameter.name, value)


def _global_options() -> list[Any]:
    texts = {
        "store": "Folder of the store.",
        "user": "Whose memories.",
    }
    options = [
        TyperOption(
            param_decls=[f"--{name}"],
            help=text,
            metavar={"store": "DIR", "user": "NAME"}[name],
            expose_value=False,
            callback=_remember,
            show_default=False,
            autocompletion=_complete_user if name == "user" else None,
            is_eager=True,
        )
        for name, text in texts.items()
    ]
    json_option = TyperOption(
        param_decls=["--json"],
        help="Print one JSON document.",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        show_default=False,
        is_eager=True,
    )
    return [*options, json_option]


def _complete_user(context: Any, arguments: list[str], incomplete: str) -> list[Any]:
    return complete_user(incomplete)


def complete_user(incomplete: str) -> list[Any]:
    """Users of the store, for the shell."""
    return [name for name in user_names() if name.startswith(incomplete)]


def user_names() -> list[str]:
    """Users of the store in force, for completion."""
    import os
    from pathlib import Path

    from memctl.storage.files import layout

    return layout.users(layout.find_store(current.store, os.environ, Path.cwd()))


class Command(TyperCommand):
    """A command that also takes the global options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.help = as_typed(self.help)
        for parameter in self.params:
            _name_plainly(parameter)
            if hasattr(parameter, "help"):
                parameter.help = as_typed(parameter.help)
        self.params = [*self.params, *_global_options()]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _with_negative_value(with_whole_values(args)))


def _with_negative_value(args: list[str]) -> list[str]:
    """The arguments, such that a negative number behind a name (`config set NAME -1`) is a value and no option."""
    *before, last = args or [""]
    if re.fullmatch(r"-\d+", last) and before and not before[-1].startswith("-"):
        return [*before, "--", last]
    return args


def as_typed(text: str | None) -> str | None:
    """A help text as Rich, where Typer uses it, shows it whole and wrapped: it would take `[mcp]` for a style, and keep
    the line ends of the source."""
    from typer import core

    if not (core.HAS_RICH and text):
        return text
    from rich.markup import escape

    return escape(re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(text)))


_METAVARS = {
    "text": "TEXT",
    "str": "TEXT",
    "float": "NUMBER",
    "float range": "NUMBER",
    "integer": "N",
    "integer range": "N",
}
_METAVARS |= {"int": "N", "int range": "N", "path": "FILE"}


def _name_plainly(parameter: Any) -> None:
    """`--top N`, not `--top <int range>`; the help says the bounds."""
    if parameter.metavar is None and not getattr(parameter, "is_flag", False):
        parameter.metavar = _METAVARS.get(parameter.type.name)


class Group(TyperGroup):
    """A group that takes the global options before the command's name, and lists commands in the order of the code."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *_global_options()]

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name, each in self.commands.items() if not each.hidden]


class Commands:
    """A group of commands to be: its help, its functions by name, what runs when none is named, and what other
    programs call (`hidden`: in no list)."""

    def __init__(
        self,
        help: str,
        functions: dict[str, Callable[..., None]],
        alone: Callable[..., None] | None = None,
        hidden: dict[str, Callable[..., None]] | None = None,
    ) -> None:
        self.help, self.functions, self.alone, self.hidden = help, functions, alone, hidden or {}


def typer_app(help: str, group: type[Group], **settings: Any) -> typer.Typer:
    """A Typer whose commands take the global options."""
    context = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    return typer.Typer(help=help, cls=group, context_settings=context, **{"no_args_is_help": True, **settings})


def made_group(name: str, commands: Commands) -> Any:
    """The group of some commands."""
    alone = commands.alone is not None
    app = typer_app(
        commands.help, Group, name=name, add_completion=False, no_args_is_help=not alone, invoke_without_command=alone
    )
    app.callback()(commands.alone or (lambda: None))
    for each, function in commands.functions.items():
        app.command(each, cls=Command)(function)
    for each, function in commands.hidden.items():
        app.command(each, cls=Command, hidden=True)(function)
    made = typer.main.get_command(app)
    made.help = as_typed(commands.help)
    return made


def made_command(name: str, function: Callable[..., None]) -> Any:
    """One command."""
    app = typer.Typer(
        add_completion=False, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
    )
    app.command(name, cls=Command)(function)
    made = typer.main.get_command(app)
    made.name = name
    return made


@contextmanager
def opened(*, quiet: bool = False) -> Iterator[MemoryStore]:
    """The store the global options mean.

    Args:
        quiet: do not say at the end what the files' state is, because the command does.
    """
    from memctl.bootstrap import open_store
    from memctl.cli import render

    with _working(), open_store(current.store, current.user) as store:
        for note in store.engine.untrusted:
            render.warn(note)
        yield store
        if not quiet:
            render.stale_notice(store)
            if note := store.engine.storage.unbelieved():
                render.warn(note)


@contextmanager
def _working() -> Iterator[None]:
    """A sign of life for what takes long."""
    from memctl.cli import progress

    progress.working()
    try:
        yield
    finally:
        progress.clear()


@contextmanager
def opened_with(others: Sequence[str] | None) -> Iterator[tuple[MemoryStore, Shared | None]]:
    """The store the global options mean; and with others' beside it, where any are named."""
    if not others:
        with opened() as store:
            yield store, None
        return
    from memctl.agent.shared import open_shared
    from memctl.cli import render

    with _working(), open_shared(current.store, current.user, others) as shared:
        for note in shared.own.engine.untrusted:
            render.warn(note)
        yield shared.own, shared
        for store in shared.stores.values():
            render.stale_notice(store)


def store_root() -> Path:
    """The store's folder, whether it exists or not."""
    import os
    from pathlib import Path

    from memctl.storage.files import layout

    return layout.find_store(current.store, os.environ, Path.cwd())


def moment(text: str | None) -> datetime | None:
    """An optional time from the command line."""
    from memctl.core import times

    return times.from_user(text, times.utc_now()) if text is not None else None


def tags(given: Sequence[str] | None) -> tuple[str, ...]:
    """The tags of all `--tag` options: `--tag a,b` are two."""
    parts = (part.strip() for text in given or () for part in text.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def standard_bytes() -> bytes:
    """All of standard input; a person at a terminal is told that it is read."""
    import sys

    from memctl.cli import render

    if sys.stdin.isatty():
        render.warn("reading from the terminal; end with Ctrl-D on a line of its own")
    return sys.stdin.buffer.read()


def standard_input() -> str:
    """All of standard input, as text.

    Raises:
        InvalidDataError: it is not UTF-8.
    """
    from memctl.errors import InvalidDataError

    try:
        return standard_bytes().decode("utf-8-sig").strip("\n")
    except UnicodeDecodeError as problem:
        raise InvalidDataError(f"standard input is not valid UTF-8 (byte {problem.start})") from None


def check_categories(store: MemoryStore, wanted: list[str] | None, *others: MemoryStore) -> None:
    """Refuse a category that neither the settings nor any memory know: a typo must not look like "nothing found".

    Raises:
        UsageError: with the known ones.
    """
    if unknown := set(wanted or ()) - set(store.settings.categories):
        known = set[str]().union(*(each.engine.categories() for each in (store, *others)))
        here = dict.fromkeys((*store.settings.categories, *sorted(store.engine.categories())))
        _refuse_unknown("category", "Categories", unknown - known, here)


def check_kinds(store: MemoryStore, wanted: list[str] | None, *others: MemoryStore) -> None:
    """As `check_categories`, for kinds: a person may have written one of their own.

    Raises:
        UsageError: with the known ones.
    """
    from memctl.core.kinds import KINDS

    if unknown := set(wanted or ()) - set(KINDS):
        known = set[str]().union(*(each.engine.kinds() for each in (store, *others)))
        _refuse_unknown("kind", "Kinds", unknown - known, dict.fromkeys((*KINDS, *sorted(store.engine.kinds()))))


def _refuse_unknown(what: str, whats: str, unknown: set[str], known: Iterable[str]) -> None:
    from memctl.errors import UsageError

    if unknown:
        hint = f"{whats}: {', '.join(known)}."
        raise UsageError(f"there is no {what} {', '.join(sorted(unknown))!r}", hint=hint)


def end_of_day(text: str | None) -> datetime | None:
    """An optional time; a date alone means its last moment."""
    from memctl.core import times

    return times.end_of(text, times.utc_now()) if text is not None else None


def time_or_revision(text: str | None) -> tuple[datetime | None, str]:
    """What `--as-of` means: a time (a date alone: its last moment), else the name of a revision."""
    from memctl.errors import UsageError

    if text is not None and not text.strip():
        raise UsageError("--as-of needs a time or a revision", hint="Leave it out to ask the present.")
    try:
        return end_of_day(text), ""
    except UsageError:
        return None, text or ""


def expiry(text: str | None) -> datetime | None:
    """When something ends: a span such as 30d counts from now on.

    Raises:
        UsageError: that is past.
    """
    from memctl.core import times
    from memctl.errors import UsageError

    if not text:
        return None
    now = times.utc_now()
    ends = times.from_user(text, now, ahead=True)
    if ends <= now:
        raise UsageError(f"{text} is past, so it would be in no answer", hint="Give a time to come, or 30d.")
    return ends


def complete_client(incomplete: str) -> list[str]:
    """MCP clients, for the shell."""
    from memctl.agent.clients import CLIENTS

    return [name for name in CLIENTS if name.startswith(incomplete)]


def complete_mode(incomplete: str) -> list[str]:
    """What a new value may do to the old one, for the shell."""
    from memctl.facts.rules import MODES

    return [name for name in MODES if name.startswith(incomplete)]


def complete_policy(incomplete: str) -> list[str]:
    """Policies of fading, for the shell."""
    from memctl.core.limits import DECAY_POLICIES

    return [name for name in DECAY_POLICIES if name.startswith(incomplete)]


def complete_step(incomplete: str) -> list[str]:
    """Steps of `maintain`, for the shell."""
    from memctl.maintenance import STEPS

    return [name for name in STEPS if name.startswith(incomplete)]


def complete_sort(incomplete: str) -> list[str]:
    """Keys a list can be sorted by, for the shell."""
    from memctl.core.selection import SORTS

    return [name for name in SORTS if name.startswith(incomplete)]


def complete_export_format(incomplete: str) -> list[str]:
    """Forms `export` writes, for the shell."""
    return [name for name in ("jsonl", "records") if name.startswith(incomplete)]


def complete_import_format(incomplete: str) -> list[str]:
    """Forms `import` reads, for the shell."""
    from memctl.transfer.formats import FORMS

    return [name for name in ("auto", *FORMS) if name.startswith(incomplete)]


def complete_setting(incomplete: str) -> list[str]:
    """Names of settings, for the shell."""
    from dataclasses import fields

    from memctl.config import Settings

    return [f.name for f in fields(Settings) if f.name.startswith(incomplete)]


def complete_trusted(incomplete: str) -> list[str]:
    """Names of settings that may need trust, for the shell."""
    from dataclasses import fields

    from memctl.config import Settings

    risky = {f.name for f in fields(Settings) if f.metadata["risk"]}
    return [name for name in complete_setting(incomplete) if name.endswith("_url") or name in risky]


def complete_tag(incomplete: str) -> list[str]:
    """Tags for the shell."""
    try:
        with opened(quiet=True) as store:
            store.refresh()
            return [tag for tag in store.engine.view().tag_counts() if tag.startswith(incomplete)]
    except Exception:
        return []


def complete_category(incomplete: str) -> list[str]:
    """Categories for the shell."""
    from memctl import config

    try:
        return [name for name in config.load(store_root()).categories if name.startswith(incomplete)]
    except Exception:
        return []


def complete_part(incomplete: str) -> list[str]:
    """Parts of an answer, for the shell."""
    from memctl.core.models import PARTS

    return [part for part in PARTS if part.startswith(incomplete)]


def complete_kind(incomplete: str) -> list[str]:
    """Kinds for the shell."""
    from memctl.core.kinds import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


Category = Annotated[
    list[str] | None, typer.Option("--category", "-c", help="Only this category.", autocompletion=complete_category)
]
Kind = Annotated[list[str] | None, typer.Option("--kind", "-k", help="Only this kind.", autocompletion=complete_kind)]
Tag = Annotated[
    list[str] | None, typer.Option("--tag", "-t", help="Only with this tag; a,b are two.", autocompletion=complete_tag)
]
Since = Annotated[str | None, typer.Option(help="Only from this time on: a date, or 30d.", metavar="TIME")]
Until = Annotated[str | None, typer.Option(help="Only before this time.", metavar="TIME")]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of", help="What was believed then: a time, an operation (op_…), or a git revision.", metavar="REV"
    ),
]
ValidAt = Annotated[str | None, typer.Option("--valid-at", help="What was so then, as is known now.", metavar="TIME")]
AllowSecret = Annotated[bool, typer.Option("--allow-secret", help="Store what looks like a secret as it is.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
Now = Annotated[str | None, typer.Option("--now", help="Act as if it were this time.", metavar="TIME")]
With = Annotated[
    list[str] | None,
    typer.Option(
        "--with", help="Also read this user's memories; may be repeated.", metavar="NAME", autocompletion=complete_user
    ),
]

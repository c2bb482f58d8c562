"""The entry point: one place where errors become messages and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def run() -> None:
    """What the `memctl` script calls."""
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command.

    Returns:
        the exit code; `memctl.errors` lists them.
    """
    if list(argv) == ["--version"]:
        from memctl import __version__

        print(f"memctl {__version__}")
        return 0
    try:
        return _invoke(argv)
    except BrokenPipeError:
        # The reader (head, less) has seen enough; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _invoke(argv: Sequence[str]) -> int:
    _plain_help_off_a_terminal()
    from typer._click.exceptions import ClickException
    from typer.exceptions import Abort, Exit

    from memctl.cli import render
    from memctl.cli.app import command
    from memctl.errors import EXIT_INTERRUPTED, EXIT_USAGE, MemctlError, UsageError

    as_json = "--json" in argv
    try:
        code = command().main(list(argv), prog_name="memctl", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except MemctlError as problem:
        render.error(problem, as_json)
        return problem.exit_code
    except ClickException as problem:
        render.error(UsageError(problem.format_message(), hint=_help_hint(problem)), as_json)
        return EXIT_USAGE
    except UnicodeEncodeError:
        hint = "Type it as UTF-8, or pass it on standard input with -."
        render.error(UsageError("an argument is not valid UTF-8", hint=hint), as_json)
        return EXIT_USAGE
    except Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, Abort):
        print("interrupted; what was acknowledged is saved", file=sys.stderr)
        return EXIT_INTERRUPTED


def _help_hint(problem: Exception) -> str:
    context = getattr(problem, "ctx", None)
    return f"See `{context.command_path} --help`." if context is not None else "See `memctl --help`."


def _plain_help_off_a_terminal() -> None:
    """Rich help is for people at a terminal; it also costs 20 ms. Typer reads this when it is imported."""
    if not sys.stdout.isatty():
        os.environ.setdefault("TYPER_USE_RICH", "0")

"""Shell completion: the scripts, and the answers to them.

Tags, ids and names come from a store and are untrusted. No script evaluates them. Completions are quoted (by zsh and
fish themselves, for bash here), so that the command gets exactly the value. Values that a terminal cannot show are not
offered. Scripts installed by earlier versions evaluate or insert answers unquoted, so they get only words that need no
quoting in any shell.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from typer import _completion_classes, _completion_shared
from typer._click.core import Parameter
from typer._click.shell_completion import CompletionItem, ShellComplete, add_completion_class
from typer.core import TyperArgument

from memctl.errors import quoted

VARIABLE = "_MEMCTL_COMPLETE"

_PLAIN = re.compile(r"[\w./:-]+")
"""A word that needs no quoting in any shell."""

_LISTED = [str(ord(key)) for key in "\t?!@"]
"""Bash's completion types that insert only the common beginning of all words; others insert one word after another."""

_END = "\0"

SCRIPTS = {
    "bash": """
%(complete_func)s() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        [[ -z $line ]] || COMPREPLY+=("$line")
    done < <(_MEMCTL_LINE="${COMP_LINE:0:$COMP_POINT}" _MEMCTL_WORD="$2" _MEMCTL_TYPE="$COMP_TYPE" \\
        %(autocomplete_var)s=complete_readline %(prog_name)s 2>/dev/null)
}

complete -o default -F %(complete_func)s %(prog_name)s
""",
    "zsh": """
#compdef %(prog_name)s

%(complete_func)s() {
    local -a lines values shown
    local line="${words[1,CURRENT-1]} $QIPREFIX$IPREFIX$PREFIX"
    lines=("${(@f)$(_MEMCTL_LINE="$line" %(autocomplete_var)s=complete_lines %(prog_name)s 2>/dev/null)}")
    lines=("${(@)lines:#}")
    if (( ! $#lines )); then
        _files
        return
    fi
    values=("${(@)lines%%%%$'\\t'*}")
    shown=("${(@)lines/$'\\t'/  -- }")
    if [[ "$lines" == *$'\\t'* ]]; then
        compadd -l -d shown -a values
    else
        compadd -a values
    fi
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
""",
    "fish": """
function %(complete_func)s
    set -g %(complete_func)s_lines (env _MEMCTL_LINE=(commandline -cp | string collect) \\
        %(autocomplete_var)s=complete_lines %(prog_name)s 2>/dev/null | string match --invert --regex '^(~|$)')
    count $%(complete_func)s_lines >/dev/null
end

complete --command %(prog_name)s --no-files --condition %(complete_func)s --arguments '$%(complete_func)s_lines'
""",
}
"""The scripts for `--install-completion` and `--show-completion`. Fish does not quote a `~` that a word begins with."""


def prepare() -> None:
    """Replace Typer's scripts and answers with these."""
    _completion_shared._completion_scripts.update(SCRIPTS)
    for ours in (_Lines, _Readline):
        add_completion_class(ours, ours.name)
    for typers, *names in _EARLIER:
        for name in names:
            script = {"source_template": SCRIPTS.get(name, typers.source_template)}
            add_completion_class(type(typers.__name__, (_Earlier, typers), script), name)


def script(argv: Sequence[str]) -> str:
    """The script for `--show-completion SHELL`; empty if no shell is named: Typer then looks for one among the parent
    processes."""
    shell = next((after for word, after in pairwise(argv) if word == "--show-completion"), "")
    if shell not in SCRIPTS:
        return ""
    return _completion_shared.get_completion_script(prog_name="memctl", complete_var=VARIABLE, shell=shell)


def split(line: str) -> tuple[list[str], str, str]:
    """Split a command line up to the cursor as a shell does.

    Returns:
        the complete words, the word at the cursor, and the quote that is open in it, if any.
    """
    lexer = shlex.shlex(line + _END, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
        quote = ""
    except ValueError:
        words.append(lexer.token)
        quote = str(vars(lexer)["state"])
    return words[:-1], words[-1].removesuffix(_END), quote


def for_bash(value: str, quote: str = "") -> str:
    """The value quoted for bash, after an open quote, if any."""
    if quote == "'":
        return value.replace("'", "'\\''")
    if quote == '"':
        return re.sub(r'["$`\\]', r"\\\g<0>", value).replace("!", "\"'!'\"")
    return quoted(value)


class _Answer(ShellComplete):
    """Completes the word before the cursor. An answer replaces that word."""

    source_template = ""

    def source_vars(self) -> dict[str, Any]:
        return {}

    def get_completion_args(self) -> tuple[list[str], str]:
        words, incomplete, _ = split(os.environ.get("_MEMCTL_LINE", ""))
        return words[1:], incomplete

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        option, sign, _ = incomplete.partition("=")
        before = f"{option}=" if sign and option.startswith("--") and "--" not in args else ""
        return [CompletionItem(f"{before}{item.value}", help=item.help) for item in _offered(self, args, incomplete)]

    def format_completion(self, item: CompletionItem) -> str:
        return str(item.value)


class _Lines(_Answer):
    """One line per answer, with its description after a tab: for zsh and fish, which quote what they insert."""

    name = "lines"

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.value}\t{' '.join(item.help.split())}" if item.help else str(item.value)


class _Readline(_Answer):
    """One line per answer, quoted. Bash replaces its own idea of the word, which starts after the last `:`, `=` or open
    quote.

    If bash lists several answers, it inserts only their common beginning, so each has a description.
    """

    name = "readline"

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        items = super().get_completions(args, incomplete)
        listed = len(items) > 1 and os.environ.get("_MEMCTL_TYPE") in _LISTED
        return items if listed else [CompletionItem(item.value) for item in items]

    def format_completion(self, item: CompletionItem) -> str:
        line, word = os.environ.get("_MEMCTL_LINE", ""), os.environ.get("_MEMCTL_WORD", "")
        _, kept, quote = split(line.removesuffix(word))
        description = f"  ({' '.join(item.help.split())})" if item.help else ""
        return for_bash(str(item.value).removeprefix(kept), quote) + description


class _Earlier(ShellComplete):
    """For the scripts of earlier versions, and for PowerShell."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        offered = (str(item.value) for item in _offered(self, args, incomplete))
        return [CompletionItem(value) for value in offered if _PLAIN.fullmatch(value)]


_EARLIER = (
    (_completion_classes.BashComplete, "bash"),
    (_completion_classes.ZshComplete, "zsh"),
    (_completion_classes.FishComplete, "fish"),
    (_completion_classes.PowerShellComplete, "powershell", "pwsh"),
)


def _offered(shell: ShellComplete, args: list[str], incomplete: str) -> list[CompletionItem]:
    """The matching answers, without those that a terminal cannot show or that would be read as options."""
    from typer._click.shell_completion import _resolve_context, _resolve_incomplete

    context = _resolve_context(shell.cli, shell.ctx_args, shell.prog_name, args)
    target, incomplete = _resolve_incomplete(context, args, incomplete)
    items = [item for item in target.shell_complete(context, incomplete) if str(item.value).isprintable()]
    if isinstance(target, TyperArgument) and "--" not in args:
        items = [item for item in items if not str(item.value).startswith("-")]
    return [item for item in items if item.value or not isinstance(target, Parameter)]

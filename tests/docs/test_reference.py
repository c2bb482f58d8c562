"""The generated pages are what the code says, and the commands shown anywhere in the documentation exist."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from itertools import takewhile
from pathlib import Path

import pytest
import typer

from memctl import errors
from memctl.cli.app import command as whole_command
from memctl.config import Settings

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "make_reference.py"
REFERENCE = ROOT / "docs" / "reference.md"
SETTINGS = ROOT / "docs" / "settings.md"
HOW_IT_WORKS = ROOT / "docs" / "how-it-works.md"
TROUBLESHOOTING = ROOT / "docs" / "troubleshooting.md"

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`memctl ([a-z][^`\n]*)`")
_CALL = re.compile(r"(?:^|[\s(;])memctl (.*)")
_OPTION = re.compile(r"--?[A-Za-z]")
_GLOBAL_OPTION = re.compile(r"--(?:store|user)[ =]\S+")


def check(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), "--check", *options], capture_output=True, text=True, check=False
    )


def commands() -> dict[str, set[str]]:
    """Every command by its words after `memctl`, with the options it knows."""
    found: dict[str, set[str]] = {}

    def walk(command, words: tuple[str, ...]) -> None:
        context = typer.Context(command)
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        found[" ".join(words)] = {name for name in options if name.startswith("-")} | {"--help", "-h"}
        for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
            walk(command.get_command(context, name), (*words, name))

    walk(whole_command(), ())
    return found


COMMANDS = commands()
SHARED = {"--store", "--user", "--json", "--help", "-h"}
"""Options of every command, which the page shows once, with `memctl` itself."""


def section(name: str) -> str:
    """What stands below a command's heading, up to the next."""
    _, found, rest = REFERENCE.read_text("utf-8").partition(f"\n## {name}\n")
    assert found, f"docs/reference.md has no {name!r}; run `make docs`"
    return rest.partition("\n## ")[0]


# The generated pages


def test_the_pages_are_what_the_code_says():
    done = check()
    assert done.returncode == 0, done.stderr


def test_a_stale_page_fails(tmp_path):
    shutil.copy(REFERENCE, tmp_path)
    (tmp_path / SETTINGS.name).write_text(SETTINGS.read_text("utf-8").replace("Seconds", "Minutes"), "utf-8")
    done = check("--docs", str(tmp_path))
    assert (done.returncode, done.stderr) == (1, "stale: settings.md; run `make docs`\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_stands_in_the_reference(name):
    shown = section(f"memctl {name}".strip())
    own = COMMANDS[name] - SHARED if name else COMMANDS[name]
    assert [option for option in sorted(own) if not re.search(rf"(?<!\S){option}(?![\w-])", shown)] == []


@pytest.mark.parametrize("name", [name for name in COMMANDS if name])
def test_every_help_has_an_example(name):
    assert f"Example: memctl {name.split()[0]}" in section(f"memctl {name}")


def test_every_setting_stands_in_its_page():
    page = SETTINGS.read_text("utf-8")
    assert [f.name for f in fields(Settings) if f"\n| `{f.name}` |" not in page] == []


# The picture of the modules


def test_the_picture_of_the_modules_is_the_contract():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    layers = [re.findall(r"memctl\.([\w.]+)", layer) for layer in contract["layers"]]
    picture = re.search(r"## Modules\n.*?```text\n(.*?)```", HOW_IT_WORKS.read_text("utf-8"), re.DOTALL)[1]
    rows = [row.split() for row in picture.split("↓")]
    drawn = [[word for word in row if word != "|"][: len(layer)] for row, layer in zip(rows, layers, strict=True)]
    assert drawn == layers


def constants() -> dict[str, set[object]]:
    """Every upper-case name of the package that holds a plain value, with its values."""
    found: dict[str, set[object]] = {}
    for path in (ROOT / "memctl").rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            for name, value in _assigned(node):
                found.setdefault(name, set()).add(value)
    return found


def _assigned(node: ast.stmt) -> Iterator[tuple[str, object]]:
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return
    target = node.targets[0]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    values = node.value.elts if isinstance(node.value, ast.Tuple) and len(names) > 1 else [node.value]
    for name, value in zip(names, values, strict=False):
        if isinstance(name, ast.Name) and name.id.isupper() and isinstance(value, ast.Constant):
            yield name.id, value.value


def test_figures_beside_the_name_of_a_constant_are_its_value():
    """`NAME` (1,000) says what NAME is."""
    named = re.findall(r"`([A-Z_]{4,})`\s+\(([\d.,]+)\)", HOW_IT_WORKS.read_text("utf-8"))
    known = constants()
    assert named
    assert [name for name, figure in named if float(figure.replace(",", "")) not in known.get(name, ())] == []


# Errors


def test_every_error_stands_in_troubleshooting():
    text = TROUBLESHOOTING.read_text("utf-8")
    classes = [errors.MemctlError]
    for kind in classes:
        classes += [found for found in kind.__subclasses__() if found.__module__ == errors.__name__]
    wrong = [k.slug for k in classes if f"\n### {k.slug}\n\nExit code {k.exit_code}" not in text]
    codes = [value for name, value in vars(errors).items() if name.startswith("EXIT_")]
    assert wrong + [code for code in codes if f"\n| {code} |" not in text] == []


# Commands shown elsewhere


def pages() -> list[Path]:
    named = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "sample_store" / "README.md")
    return [*named, *sorted(ROOT.glob("docs/*.md"))]


def shown_commands(text: str) -> Iterator[str]:
    """What follows `memctl` in the transcripts and in the text."""
    for block in _BLOCK.findall(text):
        for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
            if found := _CALL.search(line):
                yield found[1]
    yield from _INLINE.findall(text)


def resolved(line: str) -> tuple[str, list[str]]:
    """The command a line calls, and the options it names."""
    shell = shlex.shlex(_GLOBAL_OPTION.sub("", line), posix=True, punctuation_chars=True)
    shell.whitespace_split = True
    words = list(takewhile(lambda word: not set(word) <= set("|&;<>()"), shell))
    options = [word.partition("=")[0] for word in words if _OPTION.match(word)]
    first = [word for word in words if not _OPTION.match(word)][:2]
    names = [" ".join(first[:count]) for count in (2, 1) if " ".join(first[:count]) in COMMANDS]
    return (names[0] if names else ""), options


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_documentation_exist(page):
    wrong = []
    for line in shown_commands(page.read_text("utf-8")):
        name, options = resolved(line)
        known = COMMANDS[name] | COMMANDS[""]
        wrong += [f"memctl {line}: no option {option}" for option in options if option not in known]
        if not name and not options:
            wrong.append(f"memctl {line}: no such command")
    assert wrong == []

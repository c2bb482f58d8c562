"""Help: there for every command, with an example, in one order, and plain text wherever no person is looking."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
import typer

from memctl.cli.app import command

from .conftest import EXECUTABLE, Memctl, Outcome, plain

ORDER = (
    "init", "add", "query", "show", "list", "edit", "forget", "restore", "undo", "redo", "feedback", "context",
    "confirm", "reject", "reflect", "consolidate", "decay", "maintain", "conflicts",
    "session", "transcripts", "task", "strategy", "knowledge", "mcp",
    "web", "inspect", "log", "diff", "tags", "eval",
    "sync", "doctor", "reindex", "import", "export", "copy", "git", "postgres", "user", "config", "state", "model",
)  # fmt: skip
"""The order of the design: everyday, life of memories, agents, looking, care. Those that are to come may be missing."""

_NOT_PLAIN = re.compile(r"[\u2500-\u259f\x1b]")


def all_commands() -> list[tuple[str, ...]]:
    """Every command as the words after `memctl`, groups included."""
    found: list[tuple[str, ...]] = []

    def walk(tool, words: tuple[str, ...]) -> None:
        context = typer.Context(tool)
        for name in tool.list_commands(context) if hasattr(tool, "list_commands") else ():
            found.append((*words, name))
            walk(tool.get_command(context, name), found[-1])

    walk(command(), ())
    return found


COMMANDS = all_commands()


def as_words(words: tuple[str, ...]) -> str:
    return " ".join(words)


def in_turn(tool: Memctl, commands: Sequence[Sequence[str]], **environment: str) -> list[Outcome]:
    """What commands do one after the other in one process, off a terminal: to start costs more than to help."""
    program = (
        "import json, sys; from memctl.cli.main import main\n"
        "for command in json.loads(sys.argv[1]):\n"
        "    print(main(command), end='\\0', flush=True)\n"
        "    print(end='\\0', file=sys.stderr, flush=True)\n"
    )
    shown = tool.process("-c", program, json.dumps(commands), program=Path(sys.executable), environment=environment)
    parts = zip(shown.out.split("\0")[:-1], shown.err.split("\0")[:-1], strict=True)
    found = [Outcome(int(out[-1]), out[:-1], err) for out, err in parts]
    assert len(found) == len(commands)
    return found


@pytest.fixture(scope="module")
def helps(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, ...], Outcome]:
    """The help of every command but `memctl` itself, off a terminal."""
    shown = in_turn(Memctl(tmp_path_factory.mktemp("helps")), [(*words, "--help") for words in COMMANDS])
    return dict(zip(COMMANDS, shown, strict=True))


@pytest.mark.parametrize("words", [(), *COMMANDS], ids=as_words)
def test_help(words: tuple[str, ...], nowhere: Memctl, helps: Mapping[tuple[str, ...], Outcome]) -> None:
    shown = (helps[words] if words else nowhere.process("--help")).done()

    call = " ".join(("memctl", *words))
    text = " ".join(shown.out.split())
    assert shown.err == ""
    assert shown.out.startswith(f"Usage: {call} ")
    assert f"Example: {call}" in text
    assert not _NOT_PLAIN.search(shown.out), "boxes or colours off a terminal"
    assert max(map(len, shown.lines)) <= 100
    assert all(option in text for option in ("--store STORE", "--user NAME", "--json", "-h, --help"))


def listed(text: str) -> list[str]:
    """The names in the lists of commands: what stands below the options."""
    return re.findall(r"^  ([a-z]+)  ", text.split("--help", 1)[1].split("\n\n", 1)[1], re.MULTILINE)


def test_commands_stand_in_the_order_of_the_design(nowhere: Memctl, program: Path) -> None:
    names = listed(nowhere.process("--help", program=program).out)

    assert names == [words[0] for words in COMMANDS if len(words) == 1]
    assert names == sorted(names, key=ORDER.index)


def test_no_summary_is_cut(nowhere: Memctl, helps: Mapping[tuple[str, ...], Outcome]) -> None:
    groups = sorted({words[:1] for words in COMMANDS if len(words) > 1})
    for shown in (nowhere.process("--help"), *map(helps.__getitem__, groups)):
        assert not re.search(r"\.\.\.$", shown.out.split("\n", 1)[1], re.MULTILINE)


def test_the_short_form(nowhere: Memctl, program: Path) -> None:
    short, long = (nowhere.process("query", option, program=program).done().out for option in ("-h", "--help"))

    assert short == long


def test_no_command_shows_the_help(nowhere: Memctl) -> None:
    others = {("config",), ("conflicts",), ("mcp",), ("state",), ("transcripts",)}  # they list something, or serve
    helping = sorted({words[:1] for words in COMMANDS if len(words) > 1} - others)
    for words, shown in zip([(), *helping], [nowhere.process(), *in_turn(nowhere, helping)], strict=True):
        assert shown.code == 2, words
        assert shown.err.startswith(f"Usage: {' '.join(('memctl', *words))} ")
        assert (shown.out, shown.err.count("Usage: ")) == ("", 1)


@pytest.mark.parametrize("arguments", [("--version",), ("--json", "--version"), ("--store", "x", "--version")])
def test_version(arguments: tuple[str, ...], nowhere: Memctl) -> None:
    assert re.fullmatch(r"memctl \d+\.\d+\.\d+\n", nowhere(*arguments).done().out)


def test_global_options_before_and_after_the_command(memctl: Memctl) -> None:
    bare = {"MEMCTL_STORE": None, "MEMCTL_USER": None}
    given = ("--store", str(memctl.store), "--user", "xiaolin", "--json")
    expected = memctl(*given, "list", "-n", "1", **bare).done()

    assert expected.json["total"] == 64
    assert memctl("list", "-n", "1", *given, **bare) == expected
    assert memctl(*given[:2], "list", *given[2:], "-n", "1", **bare) == expected
    assert memctl(f"--store={memctl.store}", "--user=xiaolin", "list", "-n", "1", "--json", **bare) == expected


def test_global_options_of_groups(memctl: Memctl) -> None:
    bare = {"MEMCTL_STORE": None, "MEMCTL_USER": None}
    expected = {"query_top": 10}

    for arguments in (
        ("--store", str(memctl.store), "--json", "config", "get", "query_top"),
        ("config", "--store", str(memctl.store), "--json", "get", "query_top"),
        ("config", "get", "query_top", "--store", str(memctl.store), "--json"),
    ):
        assert memctl(*arguments, **bare).done().json == expected


# On a terminal


def test_help_on_a_terminal_is_for_people(nowhere: Memctl) -> None:
    shown = nowhere.on_terminal("query", "--help", program=EXECUTABLE)  # which looks for a terminal as it starts

    assert "\x1b[" in shown
    assert "╭─ Options ─" in plain(shown)
    assert "Example: memctl query" in plain(shown)


def test_no_command_on_a_terminal_shows_the_help_once(nowhere: Memctl) -> None:
    for words in ((), ("user",)):
        assert plain(nowhere.on_terminal(*words, program=EXECUTABLE)).count("Usage: memctl") == 1


def test_an_empty_table_says_so(memctl: Memctl) -> None:
    for arguments in (("log",), ("list", "--trash")):
        assert plain(memctl.on_terminal(*arguments)).strip() not in ("", "when  command  what", "id  since  why  text")


def test_json_on_a_terminal_is_the_same_as_in_a_pipe(memctl: Memctl) -> None:
    assert memctl.on_terminal("list", "-n", "2", "--json") == memctl("list", "-n", "2", "--json").out


def test_pictures_only_on_a_terminal(memctl: Memctl) -> None:
    seen = memctl.on_terminal("inspect", "mem_20261026_3f10")

    assert "▁" in seen or "█" in seen
    for words in (("inspect", "mem_20261026_3f10"), ("inspect",)):
        assert not _NOT_PLAIN.search(memctl.process(*words, program=memctl.program).done().out)


def test_help_on_a_terminal_shows_every_character() -> None:
    """Rich takes `[mcp]` for a style and leaves it out; a help text is shown as it is written."""
    program = (
        "import typer; from memctl.cli import commands\n"
        "def shown(one: str = typer.Option('', help='Needs [mcp] and [1].')) -> None:\n"
        "    'First [mcp].\\n\\n    Then [documents] and \\\\[llm].'\n"
        "group = commands.group('group', commands.Commands('All [mcp].', {'shown': shown}))\n"
        "for words in (['--help'], ['shown', '--help']):\n"
        "    group.main(words, 'memctl', standalone_mode=False)\n"
    )
    environment = {**os.environ, "TYPER_USE_RICH": "1", "COLUMNS": "100"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    seen = plain(done.stdout)

    assert "╭─ Options ─" in seen
    for text in ("All [mcp].", "First [mcp].", "Then [documents] and \\[llm].", "Needs [mcp] and [1]."):
        assert text in seen


@pytest.mark.parametrize("columns", [80, 100])
def test_paragraphs_on_a_terminal_fill_its_lines(columns: int, nowhere: Memctl) -> None:
    """A line may end early only where the next word does not fit."""
    commands = [(word, "--help") for word in ("add", "forget", "mcp", "maintain")]
    for shown in in_turn(nowhere, commands, TYPER_USE_RICH="1", COLUMNS=str(columns)):
        text, boxes = shown.done().out.split("╭", 1)
        assert len(boxes.splitlines()[0]) == columns - 1, "as wide as the terminal"
        for paragraph in re.split(r"\n\s*\n", text):
            lines = [line.strip() for line in paragraph.strip().splitlines()]
            for line, after in pairwise(lines):
                assert len(line) + 1 + len(after.split()[0]) > columns - 3

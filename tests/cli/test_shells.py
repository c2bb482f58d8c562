"""Completion in real shells: what a store holds is inserted as the argument it is, and runs nothing."""

from __future__ import annotations

import json
import string
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.completion import get_completion_script

from memctl.errors import argument, quoted

from .conftest import EXECUTABLE, Memctl
from .shells import SHELLS, Shell, needed, running

COMMANDS = "$(touch PWN)`touch PWN`;touch PWN&touch PWN|touch PWN>PWN\\$(touch PWN)\\\\$(touch PWN)\\`touch PWN\\`"
EVERYTHING = f"{string.punctuation}{string.ascii_letters}{string.digits} {COMMANDS}"
VALUES = [
    *(f"{sign}x{sign}{sign}" for sign in string.punctuation),
    *("x\\$(touch PWN)", "x\\\\$(touch PWN)", "$(touch PWN)", "`touch PWN`", "\\`touch PWN\\`", "$((1+1))", "${HOME}"),
    *('"\'"$(touch PWN)"\'"', "'$(touch PWN)'", "')) $(touch PWN) ((", "*: :(($(touch PWN)))", "<(touch PWN)"),
    *("$'\\x41'", '$"x"', "\\", "\\\\", "\\\\\\", "\\n", "'", '"', "''", '""', "~root", "~", "=ls", "!!", "!$", "--"),
    *("--all", "a b", " a", "a ", "{a,b}", "**", "%s%n", "日本 語", "é", "a,b:c=d", "#"),
]

NOT_BY_FISH = ("~", ".")
"""What fish offers only where it is typed, or does not quote."""


def harmless(value: str) -> bool:
    """Whether a script that inserts text as it is may be given it."""
    return all(character.isalnum() or character in "_./:-" for character in value)


def user_of(store: Path, name: str, *records: dict[str, object]) -> Path:
    """A user's folder, written by hand, as one that was cloned may be."""
    folder = store / name
    folder.mkdir(parents=True)
    (folder / "memory.json").write_text(json.dumps({"memories": list(records)}, ensure_ascii=False), "utf-8")
    return folder


def tagged(tool: Memctl, tags: Iterable[str]) -> None:
    """A user for each tag, so that it is the only one to offer: nothing of it needs to be typed."""
    for number, tag in enumerate(tags):
        user_of(tool.store, f"u{number}", {"memory_id": "m", "content": "x", "tags": [tag]})


@contextmanager
def shell_of(tool: Memctl, shell: str, program: Path, script: str = "") -> Iterator[Shell]:
    needed(shell)
    folder = tool.root / "here"
    folder.mkdir()
    script = script or tool.process(environment={"_MEMCTL_COMPLETE": f"source_{shell}"}).done().out
    with running(shell, program, tool.whole_environment(), folder, script) as one:
        yield one
    assert not list(tool.root.rglob("PWN*"))


@pytest.fixture
def written(tmp_path: Path) -> Memctl:
    """`memctl` as alice, in a store that holds hostile names wherever a name may stand."""
    tool, in_a_file = Memctl(tmp_path), EVERYTHING.replace("/", "")
    folder = user_of(
        tool.store,
        "alice",
        {"memory_id": f"id{EVERYTHING}", "content": "x", "tags": [f"tag{EVERYTHING}", "many$a", "many'b", 'many"c']},
        {"memory_id": "--all", "content": "y", "tags": ["a:b:c$d", "p=q r", "zzhidden\x1b[2J", "zzline\ntouch PWN\n"]},
        {"memory_id": f"gone{EVERYTHING}", "content": "z", "status": "archived"},
    )
    (tool.store / "memctl.yaml").write_text(json.dumps({"categories": [f"cat{EVERYTHING}", "fact"]}), "utf-8")
    (folder / "knowledge").mkdir()
    (folder / "knowledge" / f"doc{in_a_file}.md").write_text("# Title\n\nText.\n")
    (folder / "sessions").mkdir()
    (folder / "sessions" / "s.t@a+n-d_up.json").write_text("{}")
    user_of(tool.store, f"user{in_a_file}")
    return tool


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_offered_is_the_argument(shell: str, tmp_path: Path, program: Path) -> None:
    tool = Memctl(tmp_path)
    values = [value for value in VALUES if not (shell == "fish" and value.startswith(NOT_BY_FISH))]
    tagged(tool, values)

    with shell_of(tool, shell, program) as one:
        for number, value in enumerate(values):
            assert one.arguments(f"memctl --user u{number} list --tag \t")[4:] == [value]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_kind_of_name(shell: str, written: Memctl, program: Path) -> None:
    in_a_file = EVERYTHING.replace("/", "")
    expected = {
        "show id": f"id{EVERYTHING}",
        "restore gone": f"gone{EVERYTHING}",
        "list --tag tag": f"tag{EVERYTHING}",
        "list --category cat": f"cat{EVERYTHING}",
        "knowledge show doc": f"doc{in_a_file}.md",
        "session show s": "s.t@a+n-d_up",
        "--user user": f"user{in_a_file}",
    }

    with shell_of(written, shell, program) as one:
        for typed, value in expected.items():
            assert one.arguments(f"memctl {typed}\t")[-1] == value


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_typed_may_be_quoted(shell: str, written: Memctl, program: Path) -> None:
    whole = f"tag{EVERYTHING}"
    expected = {
        **dict.fromkeys(("--tag 'tag", '--tag "tag', "--tag tag'!\"#'", '--tag tag\\!\\"\\#'), whole),
        **dict.fromkeys(("--tag=tag", "--tag='tag", '--tag="tag'), f"--tag={whole}"),
        **dict.fromkeys(("--tag a:", "--tag a:b:", "--tag 'a:", "--tag a\\:b:"), "a:b:c$d"),
        **dict.fromkeys(("--tag p=", "--tag 'p=q ", "--tag p=q\\ "), "p=q r"),
    }

    with shell_of(written, shell, program) as one:
        for typed, value in expected.items():
            assert one.arguments(f"memctl list {typed}\t")[-1] == value


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_not_offered(shell: str, written: Memctl, program: Path) -> None:
    """What a terminal does not show, and an id that the command would take for an option."""
    with shell_of(written, shell, program) as one:
        assert one.arguments("memctl list --tag zzh\t")[-1] == "zzh"
        assert one.arguments("memctl list --tag zzl\t")[-1] == "zzl"
        assert one.arguments("memctl restore \t")[-1] == f"gone{EVERYTHING}"
        assert one.arguments("memctl show -- --\t")[-1] == "--all"
        assert one.arguments("memctl forget --al\t")[-1] != "--all"


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_and_files(shell: str, written: Memctl, program: Path) -> None:
    with shell_of(written, shell, program) as one:
        (written.root / "here" / "a file;touch PWN.jsonl").write_text("")

        assert one.arguments("memctl inspe\t") == ["inspect"]
        assert one.arguments("memctl list --super\t") == ["list", "--superseded"]
        assert one.arguments("memctl import a\t") == ["import", "a file;touch PWN.jsonl"]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_of_an_earlier_version(shell: str, tmp_path: Path, program: Path) -> None:
    """It evaluates what it is given, or inserts it as it is: only what is harmless is offered."""
    tool = Memctl(tmp_path)
    values = [*VALUES[:50:3], "x\\$(touch PWN)", '"\'"$(touch PWN)"\'"', "a.b/c:d-e_f", "日本語"]
    tagged(tool, values)
    script = get_completion_script(prog_name="memctl", complete_var="_MEMCTL_COMPLETE", shell=shell)

    with shell_of(tool, shell, program, script) as one:
        for number, value in enumerate(values):
            got = one.arguments(f"memctl --user u{number} list --tag \t")[4:]
            assert not harmless(value) or got == [value]
        assert one.arguments("memctl inspe\t") == ["inspect"]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_installed_script(shell: str, nowhere: Memctl) -> None:
    program = needed(shell)
    asked = subprocess.run(
        [program, "-c", f"{EXECUTABLE} --install-completion; true"],
        env=nowhere.whole_environment(),
        capture_output=True,
    )
    installed = {
        "bash": ".bash_completions/memctl.sh",
        "zsh": ".zfunc/_memctl",
        "fish": ".config/fish/completions/memctl.fish",
    }
    places = [nowhere.home / installed[shell], nowhere.root / "config" / "fish" / "completions" / "memctl.fish"]
    found = next((place for place in places if place.exists()), None)

    assert found, asked.stderr
    assert "_MEMCTL_LINE" in found.read_text()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_quoted_word_is_the_same_in_every_shell(shell: str) -> None:
    words = [*VALUES, EVERYTHING, "\\'\";touch PWN;", ""]
    command = f"printf '%s\\0' {' '.join(quoted(word) for word in words)}"

    shown = subprocess.run([needed(shell), "-c", command], capture_output=True, check=True).stdout.decode()

    assert shown.split("\0")[:-1] == words
    assert argument("--all") == "-- --all"


def test_a_command_in_a_hint_is_quoted(tmp_path: Path) -> None:
    """People copy it."""
    tool = Memctl(tmp_path)
    name = "x;touch PWN $(touch PWN)"
    user_of(tool.store, "alice", {"memory_id": name, "content": "x"}, {"memory_id": "--all", "content": "y"})
    tool("forget", name).done()
    tool("forget", "--", "--all").done()

    assert f"`memctl restore {quoted(name)}`" in tool("show", name).err
    assert "`memctl restore -- --all`" in tool("show", "--", "--all").err

"""A story in which every command that writes has something to do: the mix that is killed (test_kills.py).

It is told on a copy of sample_store, as alice, in the order given. `{name}` in an argument stands for a word that is
nowhere else; once the command has acknowledged it, it must be found in alice's files until another step `unsays` it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ID, OTHER = "mem_20250108_23832b8ff6b7", "mem_20250108_23aad179f08d"
PURGED, PURGED_WORD = "mem_20260417_1cb24fb915c5", "peppermint"
CANDIDATE = "mem_20260805_39dbaefa6f46"
TIMEOUTS = ("mem_20250402_34cbbc356378", "mem_20260519_3111ff8e4b1b")
STRATEGY = "mem_20250909_2ff86c145544"


@dataclass(frozen=True)
class Step:
    """One command.

    Args:
        once: run it again after a kill only if the killed run did nothing: `undo` twice takes back two things.
        unsays: words that it may take out.
        before: what happens first to alice's folder, undisturbed.
        purges: a word that nothing holds once it is acknowledged.
        outside: a file beside the store that it writes: whole, or as it was.
    """

    line: tuple[str, ...]
    once: bool = False
    unsays: tuple[str, ...] = ()
    before: Callable[[Path], object] = lambda alice: None
    purges: str = ""
    outside: str = ""


def _by_hand(alice: Path) -> None:
    """What `doctor --fix` repairs: a reflection without a record, a record without a date, a file others can read."""
    (alice / "reflections" / "by-hand.md").write_text("# By hand\n\nWords.\n")
    file = alice / "memory.json"
    whole = json.loads(file.read_text())
    del whole["memories"][3]["created_at"]
    file.write_text(json.dumps(whole, ensure_ascii=False, indent=2) + "\n")
    file.chmod(0o644)


def _marked(alice: Path) -> None:
    """What git leaves in `memory.json` where the driver is not installed: one record's line on both sides."""
    lines = (alice / "memory.json").read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if '"content"' in line)
    both = [
        "<<<<<<< HEAD\n",
        lines[at],
        "=======\n",
        lines[at].replace('": "', '": "Once more: ', 1),
        ">>>>>>> other\n",
    ]
    (alice / "memory.json").write_text("".join([*lines[:at], *both, *lines[at + 1 :]]))


def _steps(*lines: str | Step) -> list[Step]:
    return [line if isinstance(line, Step) else Step(tuple(line.split(" | "))) for line in lines]


STORY: list[Step] = _steps(
    "init",
    "add | Clara keeps {bees} in the orchard",
    "add | Clara moved to {town} | --detail | detail.md | --tag | clara",
    "add | --jsonl | lines.jsonl",
    "query | assam tea",
    "context | what does Alice drink?",
    "edit | " + ID + " | --set | content=Alice wants {short} answers",
    Step(("undo",), once=True, unsays=("short",)),
    Step(("redo",), once=True),
    "forget | " + OTHER,
    "restore | " + OTHER,
    Step(("forget", PURGED, "--purge", "--yes"), purges=PURGED_WORD),
    "feedback | " + ID + " | down | --reason | said {twice}",
    "confirm | " + CANDIDATE,
    Step(("undo",), once=True),
    "reject | " + CANDIDATE,
    "reflect | --category | emotion",
    "conflicts | resolve | " + " | ".join(TIMEOUTS) + " | --keep | newest",
    'strategy | record | --tool | t | --error | E{oops} | --original | {"q": ""} | --fixed | {"q": "a"}',
    "strategy | outcome | " + STRATEGY + " | success",
    "strategy | report",
    "session | add | user | Move the deploy to {thursday}",
    "session | compact",
    "session | flush",
    Step(("session", "end"), unsays=("thursday",)),
    "session | add | user | Never {mind}",
    Step(("session", "delete", "main", "--yes"), unsays=("mind",)),
    Step(("task", "start", "Upgrade {postgres}", "--plan", "Dump"), once=True),
    Step(("task", "step", "--result", "{gigabytes} GB"), once=True),
    "task | note | Nothing {pins} us to 15",
    Step(("task", "complete", "Upgraded"), once=True, unsays=("postgres", "gigabytes", "pins")),
    "task | feedback | Ask before you {restart} it",
    Step(("task", "start", "Upgrade it {again}"), once=True),
    Step(("task", "fail", "The {disk} was full"), once=True, unsays=("again", "disk")),
    "knowledge | add | lines.txt",
    "knowledge | remove | lines.txt",
    "consolidate",
    "maintain",
    "decay",
    "sync",
    Step(("doctor", "--fix"), before=_by_hand),
    "reindex",
    "import | notes.jsonl",
    Step(("export", "-o", "out.jsonl"), outside="out.jsonl"),
    Step(("export", "--archive", "out.memctl"), outside="out.memctl"),
    Step(("import", "--archive", "out.memctl", "--user", "alice2"), once=True),
    Step(("mcp", "install", "codex", "--write"), outside="home/.codex/config.toml"),
    "user | add | bob",
    "user | remove | bob | --yes",
    "config | set | query_top | 5",
    "config | set | llm_url | https://models.example.org/v1",
    "config | distrust | llm_url",
    "config | trust | llm_url",
    "git | init",
    "git | install",
    "git | commit",
    "add | Clara sells {honey}",
    "git | commit",
    Step(("git", "settle"), before=_marked),
    "model | use | none",
    "model | use | builtin",
)

READING = """show, list, inspect, log, diff, session list, session show, task show, task list, strategy list,
strategy suggest, strategy warn, knowledge list, knowledge show, knowledge search, mcp tools, git check, git status,
git log, transcripts, transcripts show, tags, user list, config list, config get, model list, model verify,
state show""".replace("\n", " ").split(", ")
"""Commands that write nothing of a user's."""

ELSEWHERE = {
    "mcp": "a server, in test_together.py",
    "model install": "downloads a model; tests/providers/test_fastembed.py",
    "web": "a server; what it writes, methods of the store do",
    "config unset": "one file, written as a whole, as by config set",
    "copy": "written as a whole, or in one transaction; tests/transfer/test_copying.py",
    "postgres distribute": "of databases alone",
    "user share": "of databases alone",
    "user unshare": "of databases alone",
    "eval": "writes nothing but the file it begins",
    "transcripts delete": "cut off in tests/conversations/test_transcripts_durable.py",
    "transcripts pause": "one file, written as a whole",
    "transcripts resume": "one file, written as a whole",
    "git transcripts": "one file, written as a whole; tests/git/test_transcripts_git.py",
    "state adopt": "cut off at each step in tests/test_local_state.py",
}
"""Commands that are killed, or cannot be, elsewhere."""


def names() -> set[str]:
    """The commands that are in the story."""
    return {" ".join(step.line[:2]) for step in STORY} | {step.line[0] for step in STORY}

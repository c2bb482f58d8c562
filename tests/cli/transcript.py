"""Golden transcripts, in the style of zk's tesh: commands, what they print, and their exit codes, in one text file.

    %% A comment.
    $ memctl add "Alice prefers tea"        a command of memctl
    $ EDITOR=false memctl edit {mem-1}      with variables; {mem-1} stands for the first id that was new; {msg-1}, {run-1} too
    < text                                  a line of its standard input
    added <mem-1>                           a line of its standard output
    ! error: …                              a line of its standard error
    = exit 1                                its exit code, where that is not 0
    $ write store/alice/reflections/a.md    a file written by hand: the `<` lines
    $ cat store/alice/memory.json           a file as it is now
    $ rm FILE

Each command runs a minute after the one before, in the folder that holds `store`. What differs from run to run is
normalised by `Names.normal`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from .conftest import NOW, SAMPLE_STORE, Memctl, Outcome

_ID = re.compile(r"\b(?:(mem)_\d{8}_[0-9a-f]{12}|(msg)_[0-9a-f]{16}|(run)_\d{14}_[0-9a-f]{8})\b")
_ASSIGNMENT = re.compile(r"[A-Z_]+=.*")

_RULES = (
    (re.compile(r"\brcp_\d{14}_[0-9a-f]{6}\b"), "<receipt>"),
    (re.compile(r"\bfb_\d{8}_[0-9a-f]{12}\b"), "<judgement>"),
    (re.compile(r"\bop_\d{14}_[0-9a-f]+\b"), "<operation>"),
    (re.compile(r"\b(index|log) \d+(\.\d+)? ([kMG]?B)\b"), r"\1 <size>"),
    (re.compile(r'"(index|log)": \d+'), r'"\1": <size>'),
    (re.compile(r"(generated_hash: )[0-9a-f]+"), r"\1<hash>"),
    (re.compile(r"(?<=committed )[0-9a-f]{7,}\b|^[0-9a-f]{7,}(?=\t\d{4}-)", re.MULTILINE), "<commit>"),
    (re.compile(r" *\b\d+\.\d ms\b"), " <time>"),
    (re.compile(r'("p\d\d_ms": )[\d.]+'), r"\1<time>"),
    # Of a packed file: what packs it differs from system to system.
    (re.compile(r'(SHA-256 |"sha256": ")[0-9a-f]{64}'), r"\1<hash>"),
)


@dataclass(frozen=True)
class Step:
    """A command and what it did. `comments` stand above it."""

    command: str
    stdin: str = ""
    out: str = ""
    err: str = ""
    code: int = 0
    comments: tuple[str, ...] = ()


@dataclass
class Names:
    """Names for what is new in every run: ids by their order of appearance, folders by what they are.

    Ids of the sample store stay as they are. Receipts, operations, hashes, and the sizes of the index and the log
    become `<receipt>` and so on. `places` are other texts that differ from run to run, with what stands for each.
    """

    root: Path
    known: frozenset[str]
    new: dict[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)

    def normal(self, text: str) -> str:
        """The text as it is in every run."""
        for place, name in self.places.items():
            text = text.replace(place, name)
        text = text.replace(f"{self.root}/", "").replace(str(self.root), ".")
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
        return _ID.sub(self._named, text)

    def _named(self, match: re.Match[str]) -> str:
        if match[0] in self.known:
            return match[0]
        kind = next(filter(None, match.groups()))
        number = sum(name.startswith(kind) for name in self.new.values()) + 1
        return f"<{self.new.setdefault(match[0], f'{kind}-{number}')}>"

    def filled(self, command: str) -> str:
        """The command with `{mem-1}` replaced by the id that got this name."""
        ids = {name: memory_id for memory_id, name in self.new.items()}
        return re.sub(r"\{((?:mem|msg|run)-\d+)\}", lambda match: ids[match[1]], command)


@cache
def sample_ids() -> frozenset[str]:
    """Every id in the sample store."""
    files = (path for path in SAMPLE_STORE.rglob("*") if path.suffix in (".json", ".jsonl", ".md"))
    return frozenset(match[0] for path in files for match in _ID.finditer(path.read_text("utf-8")))


def parse(text: str) -> list[Step]:
    """The steps of a transcript."""
    steps: list[Step] = []
    comments: list[str] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:], comments=tuple(comments)))
            comments = []
        elif line.startswith("%%"):
            comments.append(line)
        elif steps:
            steps[-1] = _with_line(steps[-1], line)
    return [replace(step, out=step.out.removesuffix("\n")) for step in steps[:-1]] + steps[-1:]


def _with_line(step: Step, line: str) -> Step:
    if line == "<" or line.startswith("< "):
        return replace(step, stdin=f"{step.stdin}{line[2:]}\n")
    if line == "!" or line.startswith("! "):
        return replace(step, err=f"{step.err}{line[2:]}\n")
    if match := re.fullmatch(r"= exit (\d+)", line):
        return replace(step, code=int(match[1]))
    return replace(step, out=f"{step.out}{line}\n")


def written(steps: list[Step]) -> str:
    """The transcript of some steps."""
    return "\n".join("".join(f"{line}\n" for line in _lines(step)) for step in steps)


def _lines(step: Step) -> list[str]:
    return [
        *step.comments,
        f"$ {step.command}",
        *(f"< {line}".rstrip() for line in step.stdin.splitlines()),
        *step.out.splitlines(),
        *(f"! {line}".rstrip() for line in step.err.splitlines()),
        *([f"= exit {step.code}"] if step.code else []),
    ]


def replay(steps: list[Step], tool: Memctl, *, process: bool = False) -> list[Step]:
    """The same commands with what they do now."""
    names = Names(tool.root, sample_ids(), places=tool.places)
    start = datetime.fromisoformat(NOW)
    done = []
    for number, step in enumerate(steps):
        at = f"{start + timedelta(minutes=number):%Y-%m-%dT%H:%M:%SZ}"
        found = _run(tool, shlex.split(names.filled(step.command)), step.stdin, at, process)
        out, err = names.normal(found.out), names.normal(found.err)
        done.append(replace(step, out=out, err=err, code=found.code))
    return done


def _run(tool: Memctl, words: list[str], stdin: str, at: str, process: bool) -> Outcome:
    variables: dict[str, str | None] = {"MEMCTL_NOW": at}
    while _ASSIGNMENT.fullmatch(words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    if words[0] == "memctl" and process:
        return tool.process(*words[1:], stdin=stdin, environment=variables)
    if words[0] == "memctl":
        return tool(*words[1:], stdin=stdin, **variables)
    if words[0] == "cat" and (text := tool.stored(words[1])) is not None:
        return Outcome(0, text, "")
    return _by_hand(words, tool.root / words[1], stdin)


def _by_hand(words: list[str], path: Path, stdin: str) -> Outcome:
    if words[0] == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(stdin, "utf-8")
    elif words[0] == "rm":
        path.unlink()
    elif words[0] == "cat":
        return Outcome(0, path.read_text("utf-8"), "")
    else:
        raise ValueError(f"no command {words[0]!r} in transcripts")
    return Outcome(0, "", "")

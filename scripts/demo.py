"""The main job on a copy of `sample_store/`, from adding to a context for a model. Run by `make demo`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEMCTL = Path(sys.executable).with_name("memctl")

RESOLVE = "conflicts resolve mem_20250402_34cbbc356378 mem_20260519_3111ff8e4b1b --keep newest"

STEPS = (
    ("What does the store hold?", "inspect"),
    (
        "Remember something new.",
        'add "Alice wants release notes as a short list, never as prose" -c preference -t style',
    ),
    ("The same again is counted, not stored twice.", 'add "Alice wants release notes as a short list, never as prose"'),
    ("Ask, and see how each answer earned its place.", 'query "how should I write the release notes?" -n 3 --explain'),
    ("A fact with a key has one value at a time; the old one stays readable.", "add --key city --value Porto -c life"),
    ("", "list --key city --all"),
    (
        "An error message finds the fix that worked before.",
        'query "run_sql failed: canceling statement due to statement timeout" -n 1',
    ),
    ("Chinese works the same way.", '--user xiaolin query "小林现在住在哪里，能做饭吗？" -n 2'),
    (
        "Was an answer right? What helped rises, what misled sinks and is marked for revision.",
        'feedback mem_20250215 down --reason "Clara has moved"',
    ),
    ("What contradicts what? Nothing is merged by itself.", "conflicts"),
    ("Settle one: the newer is right, the older stays readable.", RESOLVE),
    (
        "Learn from what was said; what is doubtful waits to be confirmed.",
        'add --extract "User: I moved to Porto last week. Maybe I will get a dog."',
    ),
    (
        "Write a reflection over what is known about one topic.",
        'reflect --tag payments-api --title "What we know about the payments API"',
    ),
    ("Episodes on one target become knowledge.", "consolidate --dry-run"),
    (
        "A call failed: what fixed it before?",
        "strategy suggest --tool run_sql --error QueryCanceled"
        ' --message "canceling statement due to statement timeout" --args \'{"timeout_s": 5}\'',
    ),
    ("What would fade? (Nothing is changed.)", "decay --dry-run"),
    ("Let it fade: archived, not lost.", "decay"),
    ("Second thoughts.", "undo"),
    ("One memory in full: links, history, forecast.", "inspect mem_20250122"),
    (
        "What is said to an assistant is kept word for word, private to this machine.",
        'session add user "Please book the place in Bedminster again for Saturday."',
    ),
    (
        "It is found at once, beside what was said long ago.",
        'query "the place in Bedminster" --only messages -n 3',
    ),
    ("What is kept about me, since when, and how large is it?", "transcripts"),
    ("Is everything as it should be?", "doctor --deep"),
    (
        "What a model should know for its next call, within a budget, and why.",
        'context "may I suggest a pesto recipe for dinner?" --budget 1200 --explain',
    ),
)


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        store = Path(directory) / "sample_store"
        shutil.copytree(ROOT / "sample_store", store)
        for path in (store, *store.rglob("*")):
            path.chmod(0o700 if path.is_dir() else 0o600)
        environment = {
            **os.environ,
            "MEMCTL_STORE": str(store),
            "MEMCTL_USER": "alice",
            "MEMCTL_NOW": "2026-11-21T09:00:00Z",
        }
        codes = [step(comment, command, environment) for comment, command in STEPS]
    failed = sum(code != 0 for code in codes)
    print(f"\n{len(codes) - failed} of {len(codes)} commands succeeded on a copy of sample_store/.")
    return 1 if failed else 0


def step(comment: str, command: str, environment: dict[str, str]) -> int:
    """Show one command and run it."""
    if comment:
        print(f"\n# {comment}")
    print(f"$ memctl {command}", flush=True)
    return subprocess.run([str(MEMCTL), *shlex.split(command)], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

"""`--json`: one document on standard output whatever the command, one on standard error when it fails."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Memctl
from .test_help import COMMANDS

ID, OTHER = "mem_20250108_23832b8ff6b7", "mem_20250108_23aad179f08d"

CALLS: tuple[tuple[str, ...], ...] = (
    ("init",),
    ("add", "A new thing"),
    ("query", "assam tea"),
    ("query", "zzyzx", "--min-score", "0.9"),
    ("query", "assam tea", "--explain"),
    ("query", "cashews", "--only", "messages"),
    ("show", "msg_24388c4b0343aae1"),
    ("feedback", "msg_24388c4b0343aae1", "up"),
    ("transcripts",),
    ("transcripts", "show"),
    ("transcripts", "show", "oncall"),
    ("transcripts", "delete", "msg_24388c4b0343aae1", "--dry-run"),
    ("transcripts", "delete", "msg_24388c4b0343aae1"),
    ("undo",),
    ("transcripts", "pause"),
    ("transcripts", "resume"),
    ("show", ID, OTHER),
    ("show", "mem_20260316_426af050295c", "--history"),
    ("list",),
    ("list", "--trash"),
    ("edit", ID, "--set", "importance=0.7"),
    ("edit", ID, "--set", "importance=0.7"),
    ("undo", "--dry-run"),
    ("undo",),
    ("redo", "--dry-run"),
    ("redo",),
    ("diff",),
    ("tags",),
    ("list", "--as-of", "2026-03-15", "--valid-at", "2026-03-15"),
    ("undo",),
    ("forget", ID, "--dry-run"),
    ("forget", ID),
    ("restore", ID),
    ("forget", OTHER, "--purge", "--dry-run"),
    ("forget", OTHER, "--purge", "--yes"),
    ("reflect", "--category", "emotion", "--dry-run"),
    ("reflect", "--category", "emotion"),
    ("reflect", "--stale"),
    ("feedback", ID, "up"),
    ("feedback", ID, "down", "--dry-run"),
    ("confirm", "mem_20260805_39dbaefa6f46", "--dry-run"),
    ("reject", "mem_20260805_39dbaefa6f46"),
    ("decay", "--dry-run"),
    ("decay",),
    ("context", "what does Alice drink?", "--budget", "400"),
    ("conflicts",),
    ("conflicts", "resolve", "mem_20250402_34cbbc356378", "mem_20260519_3111ff8e4b1b", "--keep", "newest"),
    ("strategy", "list"),
    ("strategy", "list", "--shared"),
    ("strategy", "record", "--tool", "t", "--error", "E", "--original", '{"q": ""}', "--fixed", '{"q": "a"}'),
    ("strategy", "suggest", "--tool", "t", "--error", "E", "--args", '{"q": ""}'),
    ("strategy", "suggest", "--tool", "zzyzx", "--error", "Nope"),
    ("strategy", "warn", "t", '{"q": ""}'),
    ("strategy", "outcome", "mem_20250909_2ff86c145544", "success"),
    ("strategy", "report", "--dry-run"),
    ("strategy", "report"),
    ("session", "add", "user", "Move the deploy to Thursday"),
    ("session", "list"),
    ("session", "show"),
    ("session", "compact"),
    ("session", "flush"),
    ("session", "end"),
    ("session", "add", "user", "Never mind"),
    ("session", "delete", "main", "--yes"),
    ("task", "start", "Upgrade Postgres", "--plan", "Dump"),
    ("task", "step", "--result", "42 GB"),
    ("task", "note", "Nothing pins us to 15"),
    ("task", "show"),
    ("task", "list"),
    ("task", "complete", "Upgraded"),
    ("task", "feedback", "Ask before you restart it"),
    ("task", "start", "Upgrade it again"),
    ("task", "fail", "The disk was full"),
    ("maintain", "--dry-run"),
    ("maintain",),
    ("consolidate", "--dry-run"),
    ("consolidate",),
    ("inspect",),
    ("inspect", ID),
    ("log",),
    ("log", ID),
    ("sync",),
    ("doctor",),
    ("doctor", "--deep"),
    ("doctor", "--fix"),
    ("reindex",),
    ("import", "lines.jsonl", "--dry-run"),
    ("import", "lines.jsonl"),
    ("import", "lines.jsonl"),
    ("add", "--jsonl", "lines.jsonl"),
    ("export",),
    ("export", "--format", "records"),
    ("export", "--dpo"),
    ("export", "-o", "out.jsonl"),
    ("export", "--archive", "out.memctl"),
    ("import", "--archive", "out.memctl", "--user", "alice2", "--dry-run"),
    ("import", "--archive", "out.memctl", "--user", "alice2"),
    ("knowledge", "list"),
    ("knowledge", "show", "migration-checklist.md"),
    ("knowledge", "show", "migration-checklist.md:5"),
    ("knowledge", "search", "assam tea"),
    ("knowledge", "add", "lines.txt", "--dry-run"),
    ("knowledge", "add", "lines.txt"),
    ("knowledge", "remove", "lines.txt", "--dry-run"),
    ("knowledge", "remove", "lines.txt"),
    ("mcp", "tools"),
    ("mcp", "install", "cursor"),
    ("mcp", "install", "codex", "--write"),
    ("query", "assam tea", "--with", "xiaolin"),
    ("eval", "questions.jsonl", "--worst", "1"),
    ("eval", "--init", "new.jsonl"),
    ("query", "assam tea", "--rerank=none"),
    ("git", "init"),
    ("git", "install"),
    ("git", "check"),
    ("git", "status"),
    ("git", "commit"),
    ("git", "commit"),
    ("git", "log"),
    ("git", "settle"),
    ("git", "transcripts"),
    ("user", "list"),
    ("user", "add", "bob"),
    ("user", "remove", "bob", "--yes"),
    ("config",),
    ("config", "list"),
    ("config", "get", "model"),
    ("config", "set", "query_top", "5"),
    ("config", "unset", "query_top"),
    ("config", "trust"),
    ("config", "trust", "llm_url"),
    ("state",),
    ("state", "show"),
    ("state", "adopt", "--yes"),
    ("config", "distrust", "llm_url"),
    ("model", "list"),
    ("model", "verify"),
    ("model", "use", "none"),
    ("model", "use", "builtin"),
)


def test_every_command_prints_one_document(memctl: Memctl) -> None:
    (memctl.root / "lines.jsonl").write_text('{"text": "Clara keeps bees", "id": "1"}\n', "utf-8")
    (memctl.root / "lines.txt").write_text("Clara keeps bees.\n", "utf-8")
    (memctl.root / "questions.jsonl").write_text('{"question": "who keeps bees?", "expect": "Clara"}\n', "utf-8")
    wrong = []
    for arguments in CALLS:
        shown = memctl(*arguments, "--json")
        try:
            json.loads(shown.out)
        except ValueError as problem:
            wrong.append((arguments, shown.out[:80], str(problem)))
        if (shown.code, shown.err) != (0, ""):
            wrong.append((arguments, shown.code, shown.err))

    assert wrong == []


def test_every_command_is_called_here() -> None:
    called = {arguments[: len(words)] for arguments in CALLS for words in COMMANDS}
    groups = {words[:-1] for words in COMMANDS}

    # `install` downloads, and `web` serves; their errors are below; sharing is for databases, see test_database.py.
    # `copy` and `distribute` need a database: tests/transfer, and transcripts/database.
    of_databases = {("user", "share"), ("user", "unshare"), ("copy",), ("postgres", "distribute")}
    left_out = {("model", "install"), ("web",), *of_databases}
    assert {words for words in COMMANDS if words not in groups} - called == left_out


def test_a_document_is_safe_to_print(memctl: Memctl) -> None:
    """Characters that steer a terminal are escaped, and say the same when read."""
    text = "bell\a escape\x1b[31m c1\x9b right\u202eleft line\u2028end"
    memory_id = memctl.add(text)
    shown = memctl("show", memory_id, "--json").done()

    assert shown.json[0]["content"] == text
    assert not set(shown.out) & set("\a\x1b\x9b\u202e\u2028")


# Errors


def holding_the_lock(memctl: Memctl, call: Callable[[], None]) -> None:
    memctl("config", "set", "lock_timeout", "0").done()
    memctl.add("makes the lock file")
    with open(memctl.state / "lock", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        call()


FAILURES: tuple[tuple[tuple[str, ...], int, str], ...] = (
    (("show", "nope"), 1, "not-found"),
    (("--user", "nobody", "list"), 1, "not-found"),
    (("--store", "nowhere", "query", "tea"), 1, "not-found"),
    (("restore", "nope"), 1, "not-found"),
    (("undo",), 1, "not-found"),
    (("redo",), 1, "not-found"),
    (("diff",), 1, "not-found"),
    (("diff", "someday"), 2, "usage"),
    (("diff", "op_1"), 1, "not-found"),
    (("query", "tea", "--as-of", "HEAD"), 2, "usage"),
    (("list", "--valid-at", "someday"), 2, "usage"),
    (("restore", ID, "nope", "--from", "1d"), 2, "usage"),
    (("undo", "0"), 2, "usage"),
    (("import", "nowhere.jsonl"), 1, "not-found"),
    (("reflect", "--since", "2027-01-01"), 1, "not-found"),
    (("knowledge", "show", "nope.md"), 1, "not-found"),
    (("knowledge", "remove", "nope.md"), 1, "not-found"),
    (("feedback", "knowledge/migration-checklist.md:5", "up"), 1, "not-found"),
    (("knowledge", "add", "/dev/zero"), 2, "usage"),
    (("mcp", "install", "nope"), 2, "usage"),
    (("web", "--port", "70000"), 2, "usage"),
    (("mcp", "install", "cursor", "--with", "nobody"), 1, "not-found"),
    (("mcp", "tools", "--schema", "nope"), 2, "usage"),
    (("mcp", "--with", "nobody"), 1, "not-found"),
    (("query", "tea", "--with", "nobody"), 1, "not-found"),
    (("query", "tea", "--with", "../xiaolin"), 2, "usage"),
    (("config", "get", "nope"), 2, "usage"),
    (("config", "set", "query_top", "many"), 2, "usage"),
    (("bogus",), 2, "usage"),
    (("query",), 2, "usage"),
    (("query", "tea", "--bogus"), 2, "usage"),
    (("query", "tea", "--top", "0"), 2, "usage"),
    (("list", "--sort", "nope"), 2, "usage"),
    (("list", "--kind", "nope"), 2, "usage"),
    (("list", "--category", "nope"), 2, "usage"),
    (("list", "--since", "someday"), 2, "usage"),
    (("add",), 2, "usage"),
    (("add", "  "), 2, "usage"),
    (("add", "x", "--category", "nope"), 2, "usage"),
    (("add", "x", "--kind", "nope"), 2, "usage"),
    (("add", "x", "--key", "city"), 2, "usage"),
    (("--user", "../../etc", "list"), 2, "usage"),
    (("edit", ID, "--set", "nope=1"), 2, "usage"),
    (("model", "use", "bogus"), 2, "usage"),
    (("model", "install", "builtin"), 2, "usage"),
    (("export", "--format", "nope"), 2, "usage"),
    (("reflect",), 2, "usage"),
    (("edit", ID, "--set", "importance=2"), 3, "invalid-data"),
    (("import", "broken.jsonl"), 3, "invalid-data"),
    (("query", "tea", "--strict", "--store", "degraded"), 5, "degraded"),
    (("forget", ID, "--purge"), 7, "refused"),
    (("user", "remove", "alice"), 7, "refused"),
    (("user", "add", "alice"), 7, "refused"),
    (("decay", "--now", "2035-01-01"), 7, "refused"),
    (("model", "use", "fastembed:BAAI/bge-small-en-v1.5"), 8, "provider"),
    (("export", "-o", "."), 6, "io"),
)


@pytest.mark.parametrize(("arguments", "code", "slug"), FAILURES, ids=[" ".join(call) for call, _, _ in FAILURES])
def test_an_error_is_one_document_on_standard_error(
    arguments: tuple[str, ...], code: int, slug: str, memctl: Memctl
) -> None:
    (memctl.root / "broken.jsonl").write_text('{"content": "whole"}\n{"content": \n', "utf-8")
    degraded_store(memctl.root / "degraded")
    shown = memctl(*arguments, "--json")

    assert (shown.code, shown.out) == (code, "")
    found = shown.error
    assert (found["error"], found["exit_code"]) == (slug, code)
    assert found["message"]
    assert isinstance(found["hint"], str)


def degraded_store(folder: Path) -> None:
    (folder / "alice").mkdir(parents=True)
    (folder / "alice" / "memory.json").write_text("[]")
    (folder / "memctl.yaml").write_text("model: fastembed:BAAI/bge-small-en-v1.5\n")


def test_the_same_errors_in_words(memctl: Memctl) -> None:
    """Without `--json` the same code, a line that begins with `error: `, the hint below it, and nothing on stdout."""
    (memctl.root / "broken.jsonl").write_text('{"content": "whole"}\n{"content": \n', "utf-8")
    degraded_store(memctl.root / "degraded")
    for arguments, code, _ in FAILURES:
        shown = memctl(*arguments)
        assert (shown.code, shown.out) == (code, ""), arguments
        assert "error: " in shown.err, arguments
        assert "Traceback" not in shown.err


def test_a_locked_store_names_the_holder(memctl: Memctl) -> None:
    def call() -> None:
        shown = memctl("add", "x", "--json")
        assert (shown.code, shown.error["error"]) == (4, "locked")
        assert "process" in shown.error["message"]
        assert memctl("query", "assam tea").done().lines, "asking needs no lock"

    holding_the_lock(memctl, call)


def test_a_broken_line_is_named_in_the_document(memctl: Memctl) -> None:
    (memctl.root / "broken.jsonl").write_text('{"content": "whole"}\n{"content": \n', "utf-8")
    found = memctl("import", "broken.jsonl", "--json").error

    assert (found["path"], found["line"]) == ("broken.jsonl", 2)


def test_a_broken_memory_file_is_named_in_the_document(memctl: Memctl) -> None:
    memctl("sync").done()
    memctl.memory_file.write_text('{"memories": [\n  {"content": "x"\n]}', "utf-8")
    shown = memctl("add", "y", "--json")

    assert (shown.code, shown.out) == (3, "")
    found = shown.error
    assert (found["error"], found["path"], found["line"]) == ("invalid-data", "memory.json", 3)


def test_the_exit_codes_are_these() -> None:
    from memctl import errors

    codes = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert codes == {1, 2, 3, 4, 5, 6, 7, 8, 70, 130}

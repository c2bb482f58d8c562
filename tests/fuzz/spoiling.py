"""How a file is spoilt: by a disk, an editor, a careless program, or somebody who means it.

Every way is a function of the bytes and a `random.Random`, so that hypothesis can find a smaller case.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

CANARY = "canary-5e1f7"
"""Stands in files outside the store, to which everything tries to lead; it must never be shown."""

DEEP = 100_000

NASTY_TEXTS = (
    "", " ", "..", "../secret/canary.txt", "../../secret/canary.txt", "/etc/passwd", "{canary}", "reflections/../../../x",
    "reflections/../memory.json", "CON", "NUL", "aux.md", "/dev/zero", "/dev/stdin", "file:///etc/passwd", "~/.ssh/id_rsa",
    "a\u001b]0;owned\u0007b", "\u001b[2J\u001b[31mred", "\u009b31m", "line\rline", "bell\u0007", "\u202egnirts\u202c", "\u2066x\u2069",
    "nul\u0000nul", "\ud800", "\udcff", "x" * 70_000, "‮" * 50, "e" + "\u0301" * 500, "<<<<<<< ours", "%s%n{0}${HOME}`id`",
    "</memory>", "'; DROP TABLE entries; --", "mem_20250108_23832b8ff6b7", "2025-13-45", "9999-12-31T23:59:59-12:00",
    "0001-01-01", "[[mem_20250108_23832b8ff6b7]]", "\ufeff", "\u2028", "😀" * 40,
)  # fmt: skip

NASTY_JSON = (
    "null", "true", "-1", "2", "1e999", "-1e999", "NaN", "Infinity", "9" * 5000, "1" + "0" * 400, "0." + "0" * 400 + "1",
    "1e-999", "[]", "{}", "[[]]", '[{"a": {}}]', '{"": ""}', '{"a": 1, "a": 2}', '["' + "x" * 3000 + '"]', "[" * 200 + "]" * 200,
    "[" * DEEP, '{"a":' * DEEP, "[" * DEEP + "]" * DEEP, "01", "'x'", "tru", "\\", "/* */ 1", "1,,2", "-", '"\\u0000"', '"\\ud800"', '"\\x"',
)  # fmt: skip

NASTY_YAML = (
    "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]\n",
    "a: " + "[" * 2000 + "]" * 2000 + "\n", "a: &x\n  b: *x\n", "!!python/object/apply:os.system ['id']\n", "? [a, b]\n: c\n",
    "a: 1\na: 2\n", "- a\n- b\n", "a: !!binary aGk=\n", "2001-01-01: 3\n", "null: 1\n", "a: 0x" + "f" * 5000 + "\n", "%YAML 9.9\n---\na: 1\n",
    "a: .inf\nb: .nan\n", "a: 9999999999999999999999:99:99\n", "---\na: 1\n---\nb: 2\n", "<<: {a: 1}\n", "a: |\n  \x85\n", "\t- a\n",
)  # fmt: skip

_SCALAR = re.compile(rb'(?<=: )(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null)')
_NAME = re.compile(rb'"(?:[^"\\]|\\.)*"(?=: )')
_YAML_LINE = re.compile(rb"(?m)^[a-z_]+: .*$")

Way = Callable[[bytes, Random], bytes]


def _at(data: bytes, dice: Random) -> int:
    return dice.randint(0, len(data))


def flip(data: bytes, dice: Random) -> bytes:
    spoilt = bytearray(data or b"x")
    for _ in range(dice.choice([1, 1, 2, 20])):
        spoilt[dice.randrange(len(spoilt))] ^= 1 << dice.randrange(8)
    return bytes(spoilt)


def cut(data: bytes, dice: Random) -> bytes:
    return data[: _at(data, dice)]


def take_out(data: bytes, dice: Random) -> bytes:
    start = _at(data, dice)
    return data[:start] + data[start + dice.choice([1, 2, 40, 4000]) :]


def repeat(data: bytes, dice: Random) -> bytes:
    start = _at(data, dice)
    piece = data[start : start + dice.choice([1, 20, 500])]
    return data[:start] + piece * dice.choice([2, 3, 50]) + data[start:]


def put_in(data: bytes, dice: Random) -> bytes:
    start = _at(data, dice)
    return data[:start] + _nasty(dice).encode("utf-8", "surrogatepass") + data[start:]


def put_in_bytes(data: bytes, dice: Random) -> bytes:
    start = _at(data, dice)
    junk = dice.choice(
        [b"\0", b"\0" * 5000, b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1b[31m", b"\x80" * 9, b"\r"]
    )
    return data[:start] + junk + data[start:]


def _nasty(dice: Random) -> str:
    return dice.choice(NASTY_TEXTS).replace("{canary}", os.environ.get("FUZZ_CANARY", "/etc/passwd"))


def exchange_value(data: bytes, dice: Random) -> bytes:
    """Another value for a field of JSON, of another type more often than not."""
    found = list(_SCALAR.finditer(data))
    if not found:
        return put_in(data, dice)
    place = dice.choice(found)
    value = dice.choice(NASTY_JSON) if dice.random() < 0.6 else json.dumps(_nasty(dice))
    return data[: place.start()] + value.encode("utf-8", "surrogatepass") + data[place.end() :]


def exchange_named(data: bytes, dice: Random) -> bytes:
    """A path, an id or a time where one is expected."""
    names = (
        b"memory_id",
        b"summary_md_ref",
        b"created_at",
        b"status",
        b"supersedes",
        b"tags",
        b"session_id",
        b"category",
        b"metadata",
    )
    found = list(re.finditer(rb'"(%s)": ' % b"|".join(names), data))
    if not found:
        return exchange_value(data, dice)
    start = dice.choice(found).end()
    end = re.compile(rb",?\r?\n|\}").search(data, start)
    value = json.dumps(_nasty(dice)) if dice.random() < 0.7 else dice.choice(NASTY_JSON)
    return data[:start] + value.encode("utf-8", "surrogatepass") + data[end.start() if end else len(data) :]


def exchange_name(data: bytes, dice: Random) -> bytes:
    """One field's name for another's: a field goes, another stands twice."""
    names = list(_NAME.finditer(data))
    if len(names) < 2:
        return flip(data, dice)
    one, other = dice.sample(names, 2)
    return data[: one.start()] + other[0] + data[one.end() :]


def exchange_line(data: bytes, dice: Random) -> bytes:
    """Another value for a line of YAML."""
    found = list(_YAML_LINE.finditer(data))
    nasty = dice.choice(NASTY_YAML)
    if not found or dice.random() < 0.4:
        return nasty.encode("utf-8", "surrogatepass") + (data if dice.random() < 0.5 else b"")
    place = dice.choice(found)
    name = place[0].partition(b":")[0]
    value = dice.choice(
        [nasty, name.decode() + ": " + json.dumps(_nasty(dice)) + "\n", name.decode() + ": " + dice.choice(NASTY_JSON)]
    )
    return data[: place.start()] + value.encode("utf-8", "surrogatepass") + data[place.end() :]


def front_matter(data: bytes, dice: Random) -> bytes:
    head = dice.choice(["---\n", "---", "--- \n", "---\r\n", "\ufeff---\n", "+++\n"])
    return (head + dice.choice(NASTY_YAML) + dice.choice(["---\n", "", "...\n", "----\n"])).encode(
        "utf-8", "surrogatepass"
    ) + data


def another_coding(data: bytes, dice: Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return dice.choice([
        lambda: text.encode("utf-16"), lambda: text.encode("utf-16-le"), lambda: text.encode("utf-32"),
        lambda: b"\xef\xbb\xbf" + data, lambda: data.replace(b"\n", b"\r\n"), lambda: data.replace(b"\n", b"\r"),
        lambda: text.encode("latin-1", "replace"), lambda: b"\xef\xbb\xbf" * 2 + data,
    ])()  # fmt: skip


def conflict_markers(data: bytes, dice: Random) -> bytes:
    lines = data.split(b"\n")
    start = dice.randrange(len(lines))
    end = dice.randrange(start, min(len(lines), start + 30) + 1)
    middle = lines[start:end]
    theirs = [flip(b"\n".join(middle), dice)] if middle else [b""]
    return b"\n".join([*lines[:start], b"<<<<<<< HEAD", *middle, b"=======", *theirs, b">>>>>>> other", *lines[end:]])


def something_else(data: bytes, dice: Random) -> bytes:
    whole = dice.choice(
        [*NASTY_JSON, *NASTY_YAML, _nasty(dice), '{"memories": [' + "1," * 50_000 + "1]}", '{"memories": {}}', "[]" * 3]
    )
    return whole.encode("utf-8", "surrogatepass")


WAYS: tuple[Way, ...] = (
    flip, cut, take_out, repeat, put_in, put_in_bytes, exchange_value, exchange_named, exchange_named, exchange_name,
    exchange_line, front_matter, another_coding, conflict_markers, something_else,
)  # fmt: skip


def spoilt(data: bytes, dice: Random) -> bytes:
    """The data after one or two things have befallen it."""
    for _ in range(dice.choice([1, 1, 1, 2])):
        data = dice.choice(WAYS)(data, dice)
    return data


# What is no file


def _pipe(path: Path, secret: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path, secret: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's name may have a hundred bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


KINDS: Mapping[str, Callable[[Path, Path], None]] = {
    "a link to a file outside": lambda path, secret: path.symlink_to(secret),
    "a link to a folder outside": lambda path, secret: path.symlink_to(secret.parent),
    "a link without end": lambda path, secret: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path, secret: path.symlink_to(path),
    "a link to nothing": lambda path, secret: path.symlink_to(secret.with_name("not-there")),
    "a pipe": _pipe,
    "a socket": _socket,
    "a folder": lambda path, secret: path.mkdir(),
}

"""Broken input: named with its line, never stored, never in the way of the rest."""

from __future__ import annotations

import json

import pytest

from memctl.errors import InvalidDataError
from memctl.transfer import formats, jsontext

GOOD = b'{"content": "good"}'


def read_with(bad: bytes):
    """Three good lines, with a bad one as the third of the file."""
    return formats.read(GOOD + b"\r\n" + GOOD + b"\n" + bad + b"\n\n" + GOOD)


BROKEN = {
    b'{"content": "cut': "is not JSON",
    b'{"content": "a"} {"content": "b"}': "is not JSON",
    b"{'content': 'a'}": "is not JSON",
    b"<<<<<<< HEAD": "is not JSON",
    b'"text"': "must be a JSON object",
    b'[{"content": "a"}]': "must be a JSON object",
    b'{"content": "a", "content": "b"}': "'content' occurs twice",
    b'{"content": "a", "value": NaN}': "NaN is not a JSON number",
    b'{"content": "a", "value": -Infinity}': "-Infinity is not a JSON number",
    b'{"content": "a", "value": 1e999}': "too large",
    b'{"content": "a", "value": ' + b"9" * 5000 + b"}": "cannot be read",
    b'{"content": "a", "tags": ["\\u0000"]}': "NUL",
    b'{"content": "a", "metadata": {"x\\u0000": 1}}': "NUL",
    b'{"content": "a\x00b"}': "is not JSON",
    b'{"content": "a", "metadata": {"x": ["\\ud83d"]}}': "half a character",
    b'{"content": "a\\uDE00"}': "half a character",
    b'{"content": "a", "value": ' + b"[" * 150 + b"]" * 150 + b"}": "100 levels",
    b'{"content": "a", "value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}": "nested",
    b'{"content": "\xff"}': "UTF-8",
    b'{"content": "  "}': "blank",
    b'{"content": ""}': "empty",
    b'{"tags": ["a"]}': "missing",
    b'{"content": ["a"]}': "must be text",
    b'{"content": "a", "created_at": "soon"}': "'created_at'",
    b'{"content": "a", "created_at": "9999-12-31T23:59:59-05:00"}': "'created_at'",
    b'{"content": "a", "confidence": 7}': "'confidence'",
    b'{"content": "a", "status": "gone"}': "'status'",
    b'{"content": "a", "kind": 5}': "'kind'",
    b'{"content": "a", "layer": "DOC"}': "'layer'",
    b'{"content": "a", "summary_md_ref": "../bob/memory.json"}': "summary_md_ref",
    b'{"content": "a", "summary_md_ref": "memory.json"}': "summary_md_ref",
    b'{"content": "a", "summary_md_ref": "reflections/../memory.md"}': "summary_md_ref",
    b'{"content": "a", "detail_content": 1}': "detail_content",
}


@pytest.mark.parametrize("bad", BROKEN, ids=[str(bad[:40]) for bad in BROKEN])
def test_a_broken_line_is_named_and_the_rest_is_read(bad):
    found = read_with(bad)
    [problem] = found.problems
    assert (problem.path, problem.line) == ("<stdin>", 3)
    assert BROKEN[bad] in problem.message
    assert [memory.content for memory in found.memories] == ["good"] * 3


@pytest.mark.parametrize(
    "fine",
    [
        b'{"content": "a \\\\u0000 \\\\ud83d backslash"}',
        b'{"content": "\\ud83d\\ude00"}',
        b'{"content": "' + b"[{" * 500 + b'"}',
        b'{"content": "a", "value": 12345678901234567890123456789012345678901234567890}',
    ],
)
def test_what_only_looks_broken_is_read(fine):
    assert read_with(fine).problems == ()


def test_a_line_of_many_megabytes_is_refused():
    found = read_with(json.dumps({"content": "x" * jsontext.LARGEST}).encode())
    assert [(p.line, p.message) for p in found.problems] == [(3, "is longer than 16 MiB")]


def test_a_broken_first_line_does_not_hide_the_form():
    found = formats.read(b'{"content": "cut\n' + GOOD + b"\n")
    assert (found.form, len(found.memories), found.problems[0].line) == ("memctl", 1, 1)


def test_the_path_is_part_of_a_problem(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_bytes(b"{\n" + GOOD + b"\nnonsense\n")
    assert [str(p).startswith(f"{path}:{p.line}: is not JSON") for p in formats.read(path).problems] == [True, True]


def test_the_same_id_with_two_texts_would_stop_the_whole_import():
    texts = (b"one", b"one", b"two")
    data = b"\n".join(b'{"memory_id": "a", "content": "%b"}' % text for text in texts)
    found = formats.read(data)
    assert [(p.line, "already occurs above" in p.message) for p in found.problems] == [(3, True)]
    assert len(found.memories) == 2


def test_broken_plain_lines():
    data = (
        b'{"id": "1", "text": "a"}\n{"id": [1], "text": "a"}\n{"id": "3"}\n{"id": "4", "text": "b", "time": "soon"}\n[]'
    )
    found = formats.read(data)
    assert (found.form, len(found.memories)) == ("jsonl", 1)
    assert [problem.line for problem in found.problems] == [2, 3, 4, 5]


def test_broken_lines_of_a_store_are_not_passed_over():
    data = b'{"store": "x", "text": "a"}\nnonsense\n{"store": "y", "text": "b"}'
    found = formats.read(data, only_store="x")
    assert ([m.content for m in found.memories], found.problems[0].line) == (["a"], 2)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('[\n  {"content": "a"},\n  {"content" "b"}\n]', 3, 14),
        ('[\n  {"content": "a"}\n  {"content": "b"}\n]', 3, 3),
        ('[\n  {"content": "a"},\n]', 3, 1),
        ('{\n  "memories": [{"content": "a", "value": NaN}]\n}', 2, 16),
        ('{\n  "memories": [],\n  "memories": []\n}', 3, 14),
        ('{\n  "memories": []\n} extra', 3, 3),
        ("[\n" + "[" * 100_000, 2, 1),
        ('{\n  "memories": [', 2, 16),
    ],
)
def test_a_broken_document_is_refused_with_its_place(text, line, column):
    with pytest.raises(InvalidDataError) as refused:
        formats.read(text.encode())
    assert (refused.value.line, refused.value.column) == (line, column)


def test_a_document_that_is_not_utf8():
    with pytest.raises(InvalidDataError, match="UTF-8") as refused:
        formats.read(b'[\n{"content": "\xff"}]')
    assert (refused.value.line, refused.value.column) == (2, 14)


@pytest.mark.parametrize("text", ["[{}]", '{{"memories": [{}]}}', '{{"results": [\n\n{}]}}', "{}"])
@pytest.mark.parametrize("odd", ['"\\u0000"', '"\\ud800"', "[" * 150 + "]" * 150])
def test_what_no_store_could_hold_is_refused_in_documents_too(text, odd):
    record = f'{{\n"content": "a", "other": [1, {odd}]}}'
    found = formats.read(text.format(record).encode())
    assert (len(found.memories), len(found.problems)) == (0, 1)

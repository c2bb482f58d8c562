"""Reflections: Markdown with front matter, between files and `Reflection`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memctl import times
from memctl.errors import InvalidDataError
from memctl.files import codec, document, safe_yaml
from memctl.models import Reflection

FOLDER = "reflections/"
FIELD_ORDER = (
    "memory_id",
    "title",
    "category",
    "tags",
    "created_at",
    "updated_at",
    "sources",
    "sources_hash",
    "generated_by",
    "generated_hash",
)

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_LARGEST_FRONT = 64 * 1024
_HINT = "The file is left as it is; mend the part between the two `---` lines by hand."


def parse(data: bytes, path: str) -> Reflection:
    """A reflection's file. A file without front matter is all body.

    Raises:
        InvalidDataError: not UTF-8, broken front matter, or conflict markers; with the line.
    """
    text = _decode(data, path)
    front = _FRONT.match(text)
    if front is None and re.match(r"---[ \t]*\r?\n", text):
        raise InvalidDataError("the front matter is not closed by a `---` line", path=path, line=1, hint=_HINT)
    fields = _front_fields(front[1], path) if front else {}
    body = text[front.end() :] if front else text
    memory_id, hashed = fields.get("memory_id"), fields.get("generated_hash")
    return Reflection(path, body.lstrip("\n"), str(memory_id or ""), fields, str(hashed or ""))


def _decode(data: bytes, path: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise InvalidDataError(document.no_utf8(data), path=path, line=line, hint=_HINT) from None
    if line := document.conflict_line(text):
        raise InvalidDataError("holds git conflict markers", path=path, line=line, hint="Settle the merge by hand.")
    return text.replace("\r\n", "\n")


def _front_fields(text: str, path: str) -> dict[str, Any]:
    if len(text) > _LARGEST_FRONT:
        raise InvalidDataError("the front matter is larger than 64 KiB", path=path, line=1, hint=_HINT)
    try:
        fields = safe_yaml.load(text)
    except safe_yaml.UnsafeYamlError as problem:
        line = problem.line + 1 if problem.line else 1
        raise InvalidDataError(f"broken front matter: {problem}", path=path, line=line, hint=_HINT) from None
    if fields is not None and not isinstance(fields, dict):
        raise InvalidDataError("the front matter must hold `name: value` lines", path=path, line=2, hint=_HINT)
    return {str(name): value for name, value in (fields or {}).items()}


def split(data: bytes) -> tuple[bytes, bytes]:
    """The front matter with its two lines, and the body; line ends as memctl writes them, no byte order mark."""
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    front = _FRONT.match(text)
    end = front.end() if front else 0
    return text[:end].encode(), text[end:].encode()


def with_memory_id(data: bytes, memory_id: str) -> bytes:
    """A hand-written file with the id of its record put into its front matter: one line more, all else to the byte."""
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    text = data[len(mark) :]
    end = b"\r\n" if b"\r\n" in text.split(b"\n", 1)[0] + b"\n" else b"\n"
    line = _front_line("memory_id", memory_id).strip().encode() + end
    if opening := re.match(rb"---[ \t]*\r?\n", text):
        return mark + opening[0] + line + text[opening.end() :]
    return mark + b"---" + end + line + b"---" + end + text


def with_ids(data: bytes, ids: Mapping[str, str]) -> bytes:
    """The file with other ids in its front matter; all else to the byte."""
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    text = data[len(mark) :].decode("utf-8", "surrogateescape")
    front = _FRONT.match(text)
    if front is None or not ids:
        return data
    named = "|".join(map(re.escape, sorted(ids, key=len, reverse=True)))
    changed = re.sub(rf"(?<![\w.-])({named})(?![\w-]|\.\w)", lambda found: ids[found[1]], front[0])
    return mark + (changed + text[front.end() :]).encode("utf-8", "surrogateescape")


def render(fields: Mapping[str, Any], body: str) -> bytes:
    """The file's bytes: known fields in a fixed order, then unknown ones as they came, then the body."""
    ordered = {name: fields[name] for name in FIELD_ORDER if fields.get(name) not in (None, "", [], ())}
    ordered |= {name: value for name, value in fields.items() if name not in FIELD_ORDER}
    front = "".join(_front_line(name, value) for name, value in ordered.items())
    try:
        return f"---\n{front}---\n\n{body.strip()}\n".encode()
    except UnicodeEncodeError:
        raise InvalidDataError("the text holds a lone surrogate, which is not valid Unicode") from None


def _front_line(name: str, value: Any) -> str:
    """One field, lists on one line, times as everywhere else; what YAML would fold or drop is escaped."""
    import yaml

    if isinstance(value, datetime):
        moment = times.to_text(times.from_value(value))
        # A time stands unquoted, so that it is read as one; an odd name is quoted as YAML wants it.
        return f"{name}: {moment}\n" if _is_plain(name) else _front_line(name, 0).removesuffix("0\n") + f"{moment}\n"
    plain = list(value) if isinstance(value, tuple) else value
    escaped = _ODD.search(json.dumps([name, plain], ensure_ascii=False, default=str)) is not None
    flow = isinstance(plain, list) and not any(isinstance(item, dict | list) for item in plain)
    settings: dict[str, Any] = {"allow_unicode": not escaped, "sort_keys": False}
    if flow and _is_plain(name):
        inner = yaml.safe_dump(plain, default_flow_style=True, width=10**9, **settings).strip()
        return f"{name}: {inner}\n"
    return str(yaml.safe_dump({name: plain}, default_flow_style=False, width=10**9, **settings))


def _is_plain(name: str) -> bool:
    """Whether a name means itself in YAML without quotes."""
    return _PLAIN_NAME.fullmatch(name) is not None and name.lower() not in _WORDS_OF_YAML


_WORDS_OF_YAML = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def body_hash(body: str) -> str:
    """Hash by which memctl knows that nobody edited what it generated; line ends and outer blank lines do not count."""
    return codec.digest("\n".join(line.rstrip() for line in body.strip().splitlines()).encode("utf-8", "surrogatepass"))


def hand_edited(reflection: Reflection) -> bool:
    """Whether a person wrote or changed the body since memctl last generated it."""
    return reflection.generated_hash != body_hash(reflection.body)


def render_generated(fields: Mapping[str, Any], body: str) -> bytes:
    """As `render`, for a body memctl wrote itself: remembers its hash."""
    return render({**fields, "generated_hash": body_hash(body)}, body)


def is_reference(path: str) -> bool:
    """Whether a `summary_md_ref` names a reflection: nothing else in the folder may be read, moved or written by it."""
    hidden = any(not part or part.startswith(".") for part in path.split("/"))
    return path.startswith(FOLDER) and path.endswith(".md") and not hidden and not set("\\\0") & set(path)


def path_for(memory_id: str) -> str:
    """Where the reflection of a record lies: its id where that is a safe file name, else a hash of it."""
    safe = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}", memory_id) and not memory_id.endswith(".proposed")
    return f"{FOLDER}{memory_id if safe else 'ref_' + codec.digest(memory_id.encode('utf-8', 'replace'))[:16]}.md"

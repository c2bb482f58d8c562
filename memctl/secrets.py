"""What looks like a secret: by its form (a GitHub token), by its name (`password: …`), by looking drawn at random.

One place knows this; `docs/secrets.md` says how often it is wrong. `found` is for what people and agents want to
remember: it must not cry at ordinary text. With `cautious` it errs on the safe side instead, for texts in which nothing
would be missed, such as the arguments of a tool: there a commit's hash is taken for a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from memctl.errors import RefusedError

REFUSE, MASK, ALLOW = "refuse", "mask", "allow"
POLICIES = (REFUSE, MASK, ALLOW)

LARGEST_FILE = 64 * 1024 * 1024
"""Bytes of a file that are looked at; a larger one is told by `in_files` as too large."""

T = TypeVar("T")


@dataclass(frozen=True)
class Secret:
    """A part of a text that looks like a secret: what kind, and from where to before where."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class Place:
    """Where a secret stands in a file: line and column count from 1; line 0 where the file could not be searched."""

    path: str
    line: int
    column: int
    kind: str

    def __str__(self) -> str:
        if not self.line:
            return f"{self.path}: {self.kind}"
        return f"{self.path}:{self.line}:{self.column}: looks like {self.kind}"


def found(text: str, *, cautious: bool = False) -> list[Secret]:
    """The parts of a text that look like secrets, in its order, none overlapping another.

    Args:
        cautious: take for a secret also what is often none.
    """
    candidates = [*_by_form(text, cautious), *_by_name(text, cautious), *_by_chance(text, cautious)]
    result: list[Secret] = []
    for secret in sorted(candidates, key=lambda one: (one.start, -one.end)):
        if result and secret.start < result[-1].end:
            last = result.pop()
            result.append(Secret(last.kind, last.start, max(last.end, secret.end)))
        else:
            result.append(secret)
    return result


def masked(text: str, *, cautious: bool = False, mask: str = "[redacted {kind}]", known: str = "") -> str:
    """A text with every secret replaced; masking it again changes nothing.

    Args:
        known: secrets that stand in this text too are left.
    """
    for _ in range(8):  # a mask may bring a name and a value together
        parts = [one for one in found(text, cautious=cautious) if not known or text[one.start : one.end] not in known]
        if not parts:
            return text
        for secret in reversed(parts):
            text = text[: secret.start] + mask.format(kind=_plain_kind(secret.kind)) + text[secret.end :]
    return text


def _plain_kind(kind: str) -> str:
    return kind.removeprefix("a ").removeprefix("an ")


def secret_name(name: str) -> bool:
    """Whether a field of this name holds a secret: `api_key`, `dbPassword`, `访问令牌`; not `max_tokens`."""
    if _CHINESE_SECRETS.search(name):
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT or words[0] in ("max", "min", "num"):
        return False
    if _INSIDE.search("".join(words)):
        return True
    pairs = {f"{one} {other}" for one, other in pairwise(words)}
    return bool(_SECRET_WORDS & set(words) or _SECRET_PAIRS & pairs or "".join(words) in _SECRET_WORDS)


# In values and files


def in_value(value: Any, name: str = "", known: str = "") -> Iterator[tuple[str, str]]:
    """Secrets in a JSON value, as (kind, where): in its texts, and what stands under the name of a secret.

    Args:
        name: the name it stands under; that of a part has dots.
        known: secrets that stand in this text are passed over.
    """
    if isinstance(value, str):
        whole = _names_secret(name) and _held(value)
        parts = [Secret(_kind_of(name), 0, len(value))] if whole else found(value)
        yield from ((one.kind, name) for one in parts if not known or value[one.start : one.end] not in known)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from in_value(part, f"{name}.{key}" if name else str(key), known)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from in_value(part, name, known)


def masked_value(value: Any, name: str = "", known: str = "") -> Any:
    """A JSON value with every secret in it masked; arguments as for `in_value`."""
    if isinstance(value, str):
        if _names_secret(name) and _held(value):
            return value if known and value in known else f"[redacted {_plain_kind(_kind_of(name))}]"
        return masked(value, known=known)
    if isinstance(value, Mapping):
        return {key: masked_value(part, f"{name}.{key}" if name else str(key), known) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(masked_value(part, name, known) for part in value)
    return value


def _names_secret(name: str) -> bool:
    """As `secret_name`, without names that often hold something else: a session's id, a function's signature."""
    last = name.rsplit(".", 1)[-1]
    return secret_name(last) and not re.search("session|signature|auth$|cookies?$", last.lower())


def _held(value: str) -> bool:
    """Whether a text under the name of a secret is one."""
    plain = value.strip()
    return len(plain) >= 4 and " " not in plain and not _is_masked(plain) and not _no_value(plain)


def guarded(value: T, policy: str, where: str = "", *, name: str = "", known: str = "") -> T:
    """A text or JSON value as it may be stored: as it is, or masked.

    Args:
        policy: the setting `secrets`: `refuse`, `mask` or `allow` (also where somebody insists).
        where: what it is, for the message, such as `the message`.
        name: the name it stands under, which may say that it is a secret.
        known: what was stored before: secrets in it were insisted on then.

    Raises:
        RefusedError: it holds a likely secret, and these are refused. The message does not repeat it.
    """
    if policy == ALLOW:
        return value
    if policy == MASK:
        result: T = masked_value(value, name, known)
        return result
    for kind, place in in_value(value, name, known):
        raise refusal(kind, where or place or "the text")
    return value


def refusal(kind: str, where: str) -> RefusedError:
    """What is said of a likely secret."""
    return RefusedError(
        f"{where} holds what looks like {kind}; nothing was stored",
        hint="Take it out, or insist with --allow-secret; `memctl config set secrets mask` blanks out such parts.",
    )


_ESCAPES = re.compile(r'\\[nrt"\\/]')
_JSON = (".json", ".jsonl")


def in_files(paths: Iterable[str | Path]) -> list[Place]:
    """Likely secrets in files, in their order: for `doctor` and for a hook of git.

    A file that is no text (its first bytes hold a NUL) is passed over, as is one that is not there.
    """
    result: list[Place] = []
    for path in paths:
        try:
            with open(path, "rb") as file:
                data = file.read(LARGEST_FILE + 1)
        except FileNotFoundError:
            continue
        except OSError as problem:
            result.append(Place(str(path), 0, 0, f"could not be searched for secrets: {problem.strerror}"))
            continue
        if len(data) > LARGEST_FILE:
            result.append(Place(str(path), 0, 0, "is too large to be searched for secrets"))
        elif b"\0" not in data[:8000]:
            result += in_text(data.decode("utf-8", "replace"), str(path))
    return result


def in_text(text: str, path: str) -> list[Place]:
    """Likely secrets in the text of a file, with line and column."""
    if path.endswith(_JSON):
        text = _ESCAPES.sub("  ", text)
    places, line, begin = [], 1, 0
    for secret in found(text):
        line += text.count("\n", begin, secret.start)
        begin = secret.start
        column = secret.start - text.rfind("\n", 0, secret.start)
        places.append(Place(path, line, column, secret.kind))
    return places

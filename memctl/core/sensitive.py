"""What looks like a secret: by its form (a GitHub token), by its name (`password: …`), by looking drawn at random.

The rules are in `looks`; `docs/secrets.md` says how often they are wrong. `found` is for what people and agents want
to remember: it must not cry at ordinary text. With `cautious` it errs on the safe side instead, for texts in which
nothing would be missed, such as the arguments of a tool: there a commit's hash is taken for a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from memctl.errors import RefusedError

REFUSE, MASK, ALLOW = "refuse", "mask", "allow"
POLICIES = (REFUSE, MASK, ALLOW)

LARGEST_FILE = 64 * 1024 * 1024
"""Bytes of a file that are looked at; a larger one is told by `in_files` as too large."""

_DIGITS_FOR_LETTERS = str.maketrans("@43$50", "aaesso")
"""As in `p@ssw0rd`."""

T = TypeVar("T")


class Secret(NamedTuple):
    """A part of a text that looks like a secret: what kind, and from where to before where."""

    kind: str
    start: int
    end: int


class Place(NamedTuple):
    """Where a secret is in a file: line and column count from 1; line 0 where the file could not be searched."""

    path: str
    line: int
    column: int
    kind: str

    def __str__(self) -> str:
        if not self.line:
            return f"{self.path}: {self.kind}"
        return f"{self.path}:{self.line}:{self.column}: looks like {self.kind}"


_LONG, _LONG_CAUTIOUS = r"[A-Za-z0-9_.+/=:~-]{16,}", r"[A-Za-z0-9_.+/=:~-]{12,}"
"""No form is shorter; ordinary text holds few such runs."""

_OWN = (
    r"(?<![A-Za-z0-9_])mem_\d{8}_[0-9a-f]{12}(?![A-Za-z0-9_])|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    r"|(?<=_hash: )[0-9a-f]{32}(?![^\n])"
)
"""Ids, times and hashes as memctl writes them, by the thousand."""
_ELSEWHERE = (
    *"""密码 密碼 口令 密钥 密鑰 秘钥 金鑰 私钥 私鑰 令牌 權杖 凭证 憑證 凭据 憑據 授权码 授權碼 验证码 驗證碼
    通行证 通行證 助记词 助記詞 パスワード 暗証番号 비밀번호 пароль κωδικός المرور السر סיסמה סיסמא पासवर्ड รหัสผ่าน
    验证 驗證""".split(),
    "密 码",
)
"""Names behind which a secret may stand with nothing between."""
_NAMES = (
    *_ELSEWHERE,
    *"""pass pwd pw psk secret token key auth cookie cred bearer jwt otp cvv basic pin sign sess kennwort wachtwoord
    senha contrasena clave haslo sifre parola heslo losenord salasana adgangskode jelszo khau otp 2fa mfa authenticator
    requirepass masterauth identified mnemonic phrase words curl mysql redis docker""".split(),
    "s w o r d",
)
_SIGNS = (
    *"""= : ： ＝ > → | 是 为 為 改 设 設 就 " ' ’ “ bearer basic user login phrase words mnemonic --""".split(),
    *(
        " is ",
        " was ",
        " ist ",
        " lautet ",
        " es ",
        " est ",
        " e ",
        " je ",
        " jest ",
        " on ",
        " ar ",
        " er ",
        " to ",
        " -",
    ),
    *("requirepass", "masterauth", "# ", "**", "__", "totp", "2fa", "mfa", "authenticator", "&quot;", "\t", " is\n"),
)
"""A text without any of these, in small letters, tells no secret by its name; nor one without a picture that points."""
_PICTURE = "[\u2190-\u21ff\u2300-\u2bff\U0001f000-\U0001faff]"


def found(text: str, *, cautious: bool = False) -> list[Secret]:
    """The parts of a text that look like secrets, in its order, none overlapping another.

    Args:
        cautious: take for a secret also what is often none.
    """
    return list(_found_short(text, cautious) if len(text) <= _SHORT else _found(text, cautious))


_SHORT = 64
"""Characters of a text that may come again: the name of a field, a tag, a category."""


@lru_cache(maxsize=4096)
def _found_short(text: str, cautious: bool) -> Sequence[Secret]:
    return _found(text, cautious)


def _found(text: str, cautious: bool) -> Sequence[Secret]:
    from memctl.core.folding import folded

    reading = folded(text)
    if not _may_hold(reading.text, cautious):
        return []
    from memctl.core.sensitive_looks import looks

    return [Secret(*span) for span in looks(reading, cautious)]


def _may_hold(text: str, cautious: bool) -> bool:
    """Whether it is worth to compile the rules, which takes longer than anything else here."""
    if any(begun in text for begun in ("://", "PRIVATE KEY", "AKIA", "ASIA")):
        return True
    if re.search(_LONG_CAUTIOUS if cautious else _LONG, text) and (
        cautious or re.search(_LONG, re.sub(_OWN, " ", text))
    ):
        return True
    lowered = text.lower().translate(_DIGITS_FOR_LETTERS)
    if not text.isascii() and any(map(lowered.__contains__, _ELSEWHERE)):
        return True
    if text.count(":") >= 4 and re.search(r":(?:\d+|\*):[^\s:]+:[^\s:]+:", text):
        return True
    return any(map(lowered.__contains__, _NAMES)) and (
        any(map(lowered.__contains__, _SIGNS))
        or ("," in text and "\n" in text)
        or re.search(_PICTURE, text) is not None
    )


def masked(text: str, *, cautious: bool = False, mask: str = "[redacted {kind}]", known: str = "") -> str:
    """A text with every secret replaced; masking it again changes nothing.

    Args:
        known: secrets that are in this text too are left.
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
    from memctl.core import sensitive_looks as looks

    return looks.secret_name(name)


# In values and files


def in_value(value: Any, name: str = "", known: str = "") -> Iterator[tuple[str, str]]:
    """Secrets in a JSON value, as (kind, where): in its texts and names, and what stands under the name of a secret.

    Args:
        name: the name it stands under; that of a part has dots.
        known: secrets that are in this text are passed over.
    """
    if isinstance(value, str):
        kind = _whole(value, name)
        parts = [Secret(kind, 0, len(value))] if kind else found(value)
        yield from ((one.kind, name) for one in parts if not known or value[one.start : one.end] not in known)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from ((kind, name) for kind, _ in in_value(key, "", known))
            yield from in_value(part, _place_of(key, value, name), known)
    elif isinstance(value, int) and _numeric_password(value, name, known):
        yield "a password", name
    elif isinstance(value, list | tuple):
        for part in value:
            yield from in_value(part, name, known)


def masked_value(value: Any, name: str = "", known: str = "") -> Any:
    """A JSON value with every secret in it masked; arguments as for `in_value`."""
    return mapped(value, name, lambda part, at: _masked_part(part, at, known))


def _masked_part(value: Any, name: str, known: str) -> Any:
    if isinstance(value, str):
        if kind := _whole(value, name):
            return value if known and value in known else f"[redacted {_plain_kind(kind)}]"
        return masked(value, known=known)
    return "[redacted password]" if isinstance(value, int) and _numeric_password(value, name, known) else value


def mapped(value: Any, name: str, change: Callable[[Any, str], Any]) -> Any:
    """A JSON value with its keys and its innermost parts changed.

    Args:
        name: the name it stands under; that of a part has dots.
        change: from a part and its name to the new part; keys have no name.
    """
    if isinstance(value, Mapping):
        return {change(key, ""): mapped(part, _place_of(key, value, name), change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(mapped(part, name, change) for part in value)
    return change(value, name)


def _place_of(key: Any, mapping: Mapping[Any, Any], name: str) -> str:
    """The name a part of a mapping stands under; the value in `{"name": "password", "value": …}` under `password`."""
    value = mapping.get("name", mapping.get("key")) if key == "value" else None
    last = value if isinstance(value, str) and re.fullmatch(r"[\w-]{2,60}", value) else str(key)
    return f"{name}.{last}" if name else last


def _whole(value: str, name: str) -> str:
    """The kind of secret that a whole text is, because of the name it stands under; empty where it is none."""
    last = name.rsplit(".", 1)[-1]
    if not _may_name(last):
        return ""
    from memctl.core import sensitive_looks as looks

    return looks.kind_of(last) if looks.names_secret(last) and looks.is_held(value) else ""


@lru_cache(maxsize=1024)
def _may_name(name: str) -> bool:
    """Whether it is worth to ask whether the name says that a secret stands under it; the same few come again."""
    lowered = name.lower()
    return not name.startswith("[redacted") and any(word in lowered for word in _NAMES)


def _numeric_password(value: int, name: str, known: str) -> bool:
    """Whether a number stands under the name of a password: `{"password": 482913}`, not `{"token": 30522}`."""
    return _whole(str(value), name) == "a password" and not (known and str(value) in known)


def guarded(value: T, policy: str, where: str = "", *, name: str = "", known: str = "", can_insist: bool = True) -> T:
    """A text or JSON value as it may be stored: as it is, or masked.

    Args:
        policy: the setting `secrets`: `refuse`, `mask` or `allow` (also where somebody insists).
        where: what it is, for the message, such as `the message`.
        name: the name it stands under, which may say that it is a secret.
        known: what was stored before: secrets in it were insisted on then.
        can_insist: whether there is an `allow_secret` to say that it is meant.

    Raises:
        RefusedError: it holds a likely secret, and these are refused. The message does not repeat it.
    """
    if policy == ALLOW:
        return value
    if policy == MASK:
        result: T = masked_value(value, name, known)
        return result
    for kind, place in in_value(value, name, known):
        raise refusal(kind, where or place or "the text", can_insist=can_insist)
    return value


def refusal(kind: str, where: str, *, can_insist: bool = True) -> RefusedError:
    """What is said of a likely secret."""
    insist = ", or insist with --allow-secret" if can_insist else ""
    return RefusedError(
        f"{where} holds what looks like {kind}; nothing was stored",
        hint=f"Take it out{insist}; `memctl config set secrets mask` blanks out such parts.",
    )


_ESCAPES = r'\\[nrt"\\/]'
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
        text = re.sub(_ESCAPES, "  ", text)
    places, line, begin = [], 1, 0
    for secret in found(text):
        line += text.count("\n", begin, secret.start)
        begin = secret.start
        column = secret.start - text.rfind("\n", 0, secret.start)
        places.append(Place(path, line, column, secret.kind))
    return places

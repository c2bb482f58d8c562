"""Values and texts without what looks secret: by the name of a field, and by the look of a text.

It errs on the safe side: a commit's hash is taken for a key. An empty value stays, because that it was empty is no
secret.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

REDACTED = "[redacted]"
TOO_LONG = "[too long]"
WITHHELD = (REDACTED, TOO_LONG)

LONGEST_VALUE = 2_000
"""Characters of a text that are kept; a longer one is a document, not an argument."""

DEEPEST = 40
_SHORTEST_RANDOM = 24
_LONGEST_PIECE = 4.0
"""Mean length of the pieces of one class (capitals, small letters, digits) below which a run looks drawn at random."""

_SECRET_WORDS = frozenset(
    """password passwd pwd passphrase passcode secret secrets token apikey apitoken accesstoken accesskey secretkey
    privatekey authtoken auth authorization cookie cookies credential credentials creds bearer jwt otp cvv sessionid
    signature""".split()
)
_SECRET_PAIRS = frozenset(
    """api key,api keys,access key,access keys,private key,secret key,signing key,encryption key,ssh key,session id,
    access tokens,refresh tokens,api tokens,auth tokens,session key,master key,deploy key,pin code""".replace(
        "\n", ""
    ).split(",")
)
_ABOUT = frozenset(
    """type method mode url uri endpoint name provider enabled required count length policy limit limits ttl expiry
    timeout file path size budget max min number usage""".split()
)
"""A last word with which a name is about a secret and does not hold it: `token_limit`, `password_file`."""

_INSIDE = re.compile("passw(?:or)?d|passphrase|secret(?!ar)|apikey|credential")
_CHINESE_SECRETS = re.compile("密码|口令|密钥|秘钥|私钥|令牌|凭证|凭据|授权码|验证码|通行证")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_KNOWN_LOOKS = re.compile(
    r"""-----BEGIN[ ][^-]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][^-]*PRIVATE[ ]KEY-----|\Z)
    | \beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?
    | \b(?:sk|rk)[-_][A-Za-z0-9_-]{12,}
    | \b(?:gh[pousr]|glpat|github_pat|hf|npm|pypi|dop_v1|shp[a-z]{2}|xox[a-z])[-_][A-Za-z0-9_-]{10,}
    | \b(?:AKIA|ASIA)[0-9A-Z]{12,}
    | \bAIza[A-Za-z0-9_-]{30,}
    | \bya29\.[A-Za-z0-9_-]{10,}
    | \bSG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}
    | \b\d{8,10}:[A-Za-z0-9_-]{35}\b""",
    re.VERBOSE | re.DOTALL,
)
_URL_PASSWORD = re.compile(r"(?<=://)([^\s/@:?#]*):([^\s/?#]+)@")
_SCHEME = re.compile(r"\b(Bearer|Basic)(\s+)[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_TELLING = "pass|pwd|secret|token|key|auth|cookie|cred|bearer|jwt|otp|cvv|sign|sess"
_NAME = rf"""(?P<name>(?<![A-Za-z0-9_.-])
    (?:(?:api|access|private|secret|signing|encryption|ssh|session|master|deploy)\ )?
    (?=[A-Za-z0-9_.-]{{0,40}}(?:{_TELLING}))[A-Za-z0-9_.-]{{1,60}}
    |密码|口令|密钥|秘钥|私钥|令牌|凭证|凭据|授权码|验证码|通行证)"""
_ASSIGNED = re.compile(
    rf"""{_NAME}(?P<sign>["']?\s*(?:=|:|：|是|为)\s*)(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s"',;&，；。)\]}}]+)""",
    re.VERBOSE | re.IGNORECASE,
)
_QUOTED_AFTER = re.compile(
    rf"""{_NAME}(?P<gap>\s*)(?P<value>"[^"\n]+"|'[^'\n]+'|“[^”\n]+”)""", re.VERBOSE | re.IGNORECASE
)
_RUN = re.compile(rf"[A-Za-z0-9+/_=-]{{{_SHORTEST_RANDOM},}}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


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


def secret_look(text: str) -> bool:
    """Whether a text holds something that looks like a key, whatever it is called."""
    return redacted_text(text) != text


def plain(value: Any, depth: int = 0) -> Any:
    """A Python value as JSON: what has no such form is told by its type, what lies too deep is left out."""
    if isinstance(value, str):
        return _UNWRITABLE.sub("\ufffd", value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 10**300 else TOO_LONG
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if depth >= DEEPEST:
        return TOO_LONG
    if isinstance(value, Mapping):
        return {str(plain(str(name))): plain(part, depth + 1) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        parts = [plain(part, depth + 1) for part in value]
        return sorted(parts, key=canonical) if isinstance(value, set | frozenset) else parts
    if isinstance(value, date):
        return value.isoformat()
    return f"<{type(value).__name__}>"


def canonical(value: Any) -> str:
    """The one text of a JSON value; equal for equal values, and only for those (1 is neither 1.0 nor true)."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def held_secrets(value: Any, named: bool = False) -> frozenset[str]:
    """The texts in a JSON value that stand under a secret name: to be masked wherever else they stand."""
    if isinstance(value, Mapping):
        parts = (held_secrets(part, named or secret_name(str(name))) for name, part in value.items())
        return frozenset().union(*parts)
    if isinstance(value, list):
        return frozenset().union(*(held_secrets(part, named) for part in value))
    if not named or value is None or isinstance(value, bool):
        return frozenset()
    return frozenset({str(value).strip()} - {""})


def redacted(value: Any, secrets: frozenset[str] = frozenset(), named: bool = False) -> Any:
    """A JSON value without secrets and without texts that are too long to be stored.

    Args:
        secrets: texts known to be secret, from `held_secrets`.
        named: whether it stands under a secret name.
    """
    if isinstance(value, Mapping):
        return {
            redacted_text(str(name)): redacted(part, secrets, named or secret_name(str(name)))
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [redacted(part, secrets, named) for part in value]
    if value is None or isinstance(value, bool) or (isinstance(value, str) and not value.strip()):
        return value
    if named or str(value) in secrets:
        return REDACTED
    if not isinstance(value, str):
        return value
    return TOO_LONG if len(value) > LONGEST_VALUE else redacted_text(value, secrets)


def redacted_text(text: str, secrets: frozenset[str] = frozenset()) -> str:
    """A text with every secret in it masked."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = _masked(text, secret)
    text = _KNOWN_LOOKS.sub(REDACTED, text)
    text = _URL_PASSWORD.sub(rf"\1:{REDACTED}@", text)
    text = _SCHEME.sub(rf"\1\2{REDACTED}", text)
    text = _ASSIGNED.sub(_assignment, text)
    text = _QUOTED_AFTER.sub(_quotation, text)
    return _RUN.sub(lambda run: REDACTED if _random(run[0]) else run[0], text)


def _masked(text: str, secret: str) -> str:
    """A short secret only as a word of its own: a password `a` must not blank out every a."""
    pattern = re.escape(secret)
    if len(secret) < 6:
        pattern = rf"(?<!\w){pattern}(?!\w)"
    return re.sub(pattern, REDACTED, text)


def _assignment(found: re.Match[str]) -> str:
    """`password=…`, `token: …`, `密码是…`; `password: must not be empty` says nothing secret."""
    name, sign, value = found["name"], found["sign"], found["value"]
    bare = value.strip("\"'")
    if not secret_name(name) or not bare or bare.startswith("["):
        return found[0]
    word = bare.isalpha() and bare.isascii() and bare.islower() and value == bare
    if word and "=" not in sign and found.end() < len(found.string) and found.string[found.end()] == " ":
        return found[0]
    return f"{name}{sign}{REDACTED}"


def _quotation(found: re.Match[str]) -> str:
    """`invalid password 'hunter2'`."""
    return f"{found['name']}{found['gap']}'{REDACTED}'" if secret_name(found["name"]) else found[0]


def _random(run: str) -> bool:
    """Whether a run of letters and digits looks drawn at random. Ids in the form of a UUID are no secrets."""
    if _UUID.fullmatch(run):
        return False
    parts = re.split(r"[-_/=+]+", run)
    if len(parts) - 1 > len(run) / 10:  # words with something between them, such as the name of a model
        return any(_drawn([part]) for part in parts)
    return _drawn(parts)


def _drawn(parts: Sequence[str]) -> bool:
    text = "".join(parts)
    if len(text) < _SHORTEST_RANDOM or text.isalpha() or text.isdigit():
        return False
    pieces = [piece for part in parts for piece in _WORD.findall(part)]
    return len(text) < _LONGEST_PIECE * len(pieces)

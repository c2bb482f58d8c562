"""Values and texts without what looks secret: by the name of a field, and by the look of a text.

What a secret looks like is known by `core.sensitive`; here it errs on the safe side. An empty value stays, because that
it was empty is no secret.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from memctl.core.sensitive import masked, secret_name

REDACTED = "[redacted]"
TOO_LONG = "[too long]"
WITHHELD = (REDACTED, TOO_LONG)

LONGEST_VALUE = 2_000
"""Characters of a text that are kept; a longer one is a document, not an argument."""

DEEPEST = 40
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


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
    return masked(text, cautious=True, mask=REDACTED)


def _masked(text: str, secret: str) -> str:
    """A short secret only as a word of its own: a password `a` must not blank out every a."""
    pattern = re.escape(secret)
    if len(secret) < 6:
        pattern = rf"(?<!\w){pattern}(?!\w)"
    return re.sub(pattern, REDACTED, text)

"""The looks of secrets: rules by form (a GitHub token), by name (`password: …`), by looking drawn at random.

Only `memctl.secrets` uses this module, and imports it only for a text that may hold a secret: to compile the rules
takes milliseconds. `docs/secrets.md` says how often they are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

Span = tuple[str, int, int]
"""A kind, from where, and to before where."""

# By form

_FORMS: Mapping[str, str] = {
    "a private key": r"-----BEGIN[ ][A-Z0-9 ]*PRIVATE[ ]KEY(?:[ ]BLOCK)?-----.*?"
    r"(?:-----END[ ][A-Z0-9 ]*PRIVATE[ ]KEY(?:[ ]BLOCK)?-----|\Z)"
    r"|PuTTY-User-Key-File-\d.*?Private-MAC:\s*\w+|AGE-SECRET-KEY-1[0-9A-Z]{50,}",
    "a JSON web token": r"eyJ[\w-]{8,}\.[\w-]{10,}(?:\.[\w-]*){0,3}",
    "an AWS key": r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])",
    "a Google key": r"AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}",
    "an Azure key": r"AccountKey=[A-Za-z0-9+/=]{80,}|[\w~.]{3}\dQ~[\w~.-]{31,34}",
    "a GitHub token": r"gh[pousr]_\w{30,}|github_pat_\w{22,}",
    "a GitLab token": r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[\w-]{20,}|GR1348941[\w-]{20,}",
    "a Slack token": r"xox[a-z]-[\w-]{10,}|xapp-\d-[\w-]{10,}|hooks\.slack\.com/(?:services|workflows)/[\w/]{20,}",
    "a Stripe key": r"[rs]k_(?:live|test|prod)_\w{10,}|whsec_[A-Za-z0-9+/=]{24,}",
    "a chat bot token": r"\d{8,10}:[\w-]{35}(?!\w)|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,38}"
    r"|discord(?:app)?\.com/api/webhooks/\d+/[\w-]{30,}",
    "a package registry token": r"npm_[A-Za-z0-9]{36}|pypi-AgE[\w-]{40,}|rubygems_[0-9a-f]{48}|CLOJARS_\w{60}"
    r"|:_authToken=\s*[\w-]{20,}",
    "a mail service key": r"SG\.[\w-]{16,}\.[\w-]{16,}|[0-9a-f]{32}-us\d{1,2}(?!\d)|xkeysib-[0-9a-f]{64}-\w{16}"
    r"|key-[0-9a-f]{32}(?!\w)",
    "a cloud service key": r"dop_v1_[0-9a-f]{40,}|do[or]_v1_[0-9a-f]{40,}|dapi[0-9a-f]{32}|LTAI[A-Za-z0-9]{12,26}"
    r"|AKID[A-Za-z0-9]{32}|hv[sb]\.[\w-]{24,}|sbp_[0-9a-f]{40}|tskey-\w+-[\w-]{10,}|ops_eyJ[\w+/=]{40,}"
    r"|sntrys_[\w+/=-]{30,}|gl(?:c|sa)_[\w+/=-]{30,}|NRAK-[A-Z0-9]{27}|ATATT3[\w=-]{40,}|lin_api_\w{40}"
    r"|AKCp[A-Za-z0-9]{60,}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|ntn_\w{40,}",
    "a payment or shop key": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|sq0[a-z]{3}-[\w-]{22,}"
    r"|(?:SK|AC)[0-9a-f]{32}(?!\w)",
    "a model provider key": r"hf_[A-Za-z0-9]{30,}|gsk_\w{40,}|r8_\w{37}|pplx-\w{40,}|xai-\w{60,}|tvly-[\w-]{20,}",
}
_FORM = re.compile(
    r"(?<![A-Za-z0-9])(?:" + "|".join(f"(?P<k{at}>{form})" for at, form in enumerate(_FORMS.values())) + ")", re.DOTALL
)
_KINDS = tuple(_FORMS)

_PREFIXED = re.compile(r"(?<![A-Za-z0-9])[sr]k-[A-Za-z0-9_-]{20,}")
"""`sk-…`, the form that most model providers took over; also how a package may be called."""

_CAUTIOUS_FORM = re.compile(
    r"""-----BEGIN[ ][^-]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][^-]*PRIVATE[ ]KEY-----|\Z)
    | \beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?
    | \b(?:sk|rk)[-_][A-Za-z0-9_-]{12,}
    | \b(?:gh[pousr]|glpat|github_pat|hf|npm|pypi|dop_v1|shp[a-z]{2}|xox[a-z])[-_][A-Za-z0-9_-]{10,}
    | \b(?:AKIA|ASIA)[0-9A-Z]{12,}
    | \bAIza[A-Za-z0-9_-]{30,}
    | \bya29\.[A-Za-z0-9_-]{10,}
    | \bSG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}""",
    re.VERBOSE | re.DOTALL,
)

_LONG = re.compile(r"[A-Za-z0-9_.+/=:~-]{16,}")

# By name

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
_PASSWORD = re.compile("passw(?:or)?d|passphrase|passcode|pwd|密码|口令")
_CHINESE = "密码|口令|密钥|秘钥|私钥|令牌|凭证|凭据|授权码|验证码|通行证"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_NAME = rf"""(?P<name>(?<![A-Za-z0-9_.-])
    (?:(?:api|access|private|secret|signing|encryption|ssh|session|master|deploy)\ )?
    [A-Za-z0-9_.-]{{1,60}}+
    |{_CHINESE})"""
_LONGEST_READ = 1_000
"""Characters of a value that are looked at: a text such as `key=key=…` must not be read from each name to its end."""

_ASSIGNED = re.compile(
    rf"""{_NAME}(?P<sign>["'`*]{{0,3}}\s*(?:=|:|：|改成了?|设为|设成|就是|是|为)\s*[`*]{{0,3}})
    (?P<value>"[^"\n]*"|'[^'\n]*'|[^\s"',;&，；。)\]}}]{{1,{_LONGEST_READ}}})""",
    re.VERBOSE | re.IGNORECASE,
)
_MORE = re.compile(r"""[^\s"',;&，；。)\]}]*""")
_QUOTED_AFTER = re.compile(
    rf"""{_NAME}(?P<sign>\s*)(?P<value>"[^"\n]+"|'[^'\n]+'|“[^”\n]+”)""", re.VERBOSE | re.IGNORECASE
)
_SAID = re.compile(
    r"""\b(?P<name>password|passwd|passphrase|passcode|pin(?:\ code)?|(?:api|access|secret|private)\ key|token|secret)
    (?:\s+(?:for|of|to|on|at|in)\s[^\n.!?:=]{1,60}?)?\s+(?:is|was|=)\s+(?:now\s+)?["'“`]?
    (?P<value>[^\s"'”`]{4,})""",
    re.VERBOSE | re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(?<=://)[^\s/@:?#]*:(?P<value>[^\s/?#]+)@")
_SCHEME = re.compile(r"\b(?P<scheme>Bearer|Basic)\s+(?P<value>[A-Za-z0-9._~+/=-]{6,})", re.IGNORECASE)

_PLACEHOLDERS = frozenset(
    """string str text bytes null none nil true false yes no required optional missing wrong unknown forgotten invalid
    expired changed empty hidden redacted password passwd pass pwd secret token user username example changeme change_me
    yourpassword mypassword undefined default disabled enabled incorrect correct secure strong weak different
    needed protected stored""".split()
)
_NO_VALUE = re.compile(
    r"""[<\[{$%(*@]            # <password>, ${PASSWORD}, %s, ****
    |.*[(\[{<]                # a call, a template
    |(?:your|my|the|some|example|placeholder|xxx|\.\.\.|…)
    |[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$       # NAME_OF_A_VARIABLE
    |[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$     # settings.password
    |\.{0,2}/                             # a path
    |https?://""",
    re.VERBOSE,
)
_MEASURE = re.compile(r"\d+(?:\.\d+)?[-–]?[A-Za-z]+$|v?\d+(?:[.:/-]\d+)+$")
"""`64-bit`, `10:30`, `v1.2`: letters and digits that are no key."""

# By chance

_SHORTEST_RANDOM = 24
_LONGEST_PIECE = 4.0
"""Mean length of the pieces of one class (capitals, small letters, digits) below which a run looks drawn at random."""

_RUN = re.compile(rf"[A-Za-z0-9+/_=-]{{{_SHORTEST_RANDOM},}}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PUBLIC = re.compile(
    r"AAAA[BCE]|Qm[1-9A-HJ-NP-Za-km-z]{44}$|sha(?:1|256|384|512)-|R0lGOD|iVBORw0|/9j/"
    r"|(?:call|toolu|srvtoolu|chatcmpl|msg|resp|req|run|step|item|gen|evt|batch|thread|asst|file|rs|fc|mem)[_-]"
)
"""How public keys, content addresses, checksums, pictures, and the ids of calls and answers begin."""

_BEFORE_PUBLIC = re.compile(r"(?:[a-z][a-z0-9+.-]*://\S*|www\.\S*|base64,|sha\d+[:=-]|[#@%.\\]|\w/)$")
"""In an address, a picture or a checksum, a run of letters and digits is expected."""


def secret_name(name: str) -> bool:
    """See `memctl.secrets.secret_name`."""
    if any(word in name for word in _CHINESE.split("|")):
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT or words[0] in ("max", "min", "num"):
        return False
    if _INSIDE.search("".join(words)):
        return True
    pairs = {f"{one} {other}" for one, other in pairwise(words)}
    return bool(_SECRET_WORDS & set(words) or _SECRET_PAIRS & pairs or "".join(words) in _SECRET_WORDS)


def _tells(name: str) -> bool:
    """As `secret_name`, without names that mostly hold something else: a session's id, a function's signature."""
    return secret_name(name) and not re.search("session|signature", name, re.IGNORECASE)


def names_secret(name: str) -> bool:
    """Whether a text under this name is a secret whatever it looks like."""
    return _tells(name) and not re.search("auth$|cookies?$", name, re.IGNORECASE)


def is_held(value: str) -> bool:
    """Whether a text under such a name is one: not empty, no sentence, no placeholder."""
    plain = value.strip()
    return len(plain) >= 4 and " " not in plain and not is_masked(plain) and not is_placeholder(plain)


def looks(text: str, cautious: bool) -> list[Span]:
    """What `memctl.secrets.found` finds; parts that overlap are one."""
    candidates = [*_by_form(text, cautious), *_by_name(text, cautious), *_by_chance(text, cautious)]
    result: list[Span] = []
    for kind, start, end in sorted(candidates, key=lambda span: (span[1], -span[2])):
        if result and start < result[-1][2]:
            first = result.pop()
            result.append((first[0], first[1], max(first[2], end)))
        else:
            result.append((kind, start, end))
    return result


def _by_form(text: str, cautious: bool) -> Iterator[Span]:
    if _LONG.search(text) or "PRIVATE KEY" in text:
        for match in _FORM.finditer(text):
            yield (_KINDS[int((match.lastgroup or "k0")[1:])], *match.span())
        for match in _PREFIXED.finditer(text):
            if _mixed(match[0], 2):
                yield ("a model provider key", *match.span())
    if cautious:
        yield from (("a key", *match.span()) for match in _CAUTIOUS_FORM.finditer(text))
    if "://" in text:
        for match in _URL_PASSWORD.finditer(text):
            if not is_masked(match["value"]) and (cautious or not is_placeholder(match["value"])):
                yield ("a password in a URL", *match.span("value"))


def _by_name(text: str, cautious: bool) -> Iterator[Span]:
    for match in _SCHEME.finditer(text):
        if cautious or _keylike(match["value"]) or _is_base64(match["value"]):
            yield ("an authorization header", *match.span("value"))
    for match in _SAID.finditer(text):
        if _said(match):
            start = match.start("value")
            yield (kind_of(match["name"]), start, start + len(match["value"].rstrip(".,;!?)")))
    tells = secret_name if cautious else _tells
    for pattern in (_ASSIGNED, _QUOTED_AFTER):
        at = 0
        while named := pattern.search(text, at):
            at = max(named.end("name"), named.start() + 1)
            if tells(named["name"]) and (span := _value_of(named, cautious)):
                yield (kind_of(named["name"]), *span)
                at = span[1]


def _value_of(match: re.Match[str], cautious: bool) -> tuple[int, int] | None:
    """Where the value of `password=…`, `密码是…` stands; None where it is none, as in `password: must not be empty`."""
    value, (start, end) = match["value"], match.span("value")
    bare = value.strip("\"'“”`*")
    if not bare or bare.startswith("[") or is_masked(bare):
        return None
    followed = end < len(match.string) and match.string[end] == " "
    if cautious:
        word = bare.isalpha() and bare.isascii() and bare.islower() and value == bare
        said = word and "=" not in match["sign"] and match["sign"].strip() and followed
        return None if said else (start, _end_of(match))
    start += value.index(bare)
    if (cut := _east_asian(bare)) >= 0:
        bare, followed = bare[:cut], False
    bare = bare.rstrip(".!?:…`*")
    alone = bool(match["sign"].strip()) and not followed
    if " " in bare or is_placeholder(bare) or not _good(match["name"], bare, value[0] in "\"'“", alone):
        return None
    return start, (_end_of(match) if len(value) == _LONGEST_READ else start + len(bare))


def _end_of(match: re.Match[str]) -> int:
    """Where the value ends, also where it is longer than what was read of it."""
    more = _MORE.match(match.string, match.end()) if len(match["value"]) == _LONGEST_READ else None
    return more.end() if more else match.end()


def _good(name: str, bare: str, quoted: bool, alone: bool) -> bool:
    """Whether a value is one that a secret of this name has.

    Args:
        alone: nothing follows it, so that a word may be the value: `password: swordfish`, not `password: Alice has it`.
    """
    if not _PASSWORD.search(name.lower()):
        return _keylike(bare)
    return _passwordlike(bare) or (len(bare) >= 6 and (quoted or (alone and bare.isalpha())))


def _said(match: re.Match[str]) -> bool:
    """`the password for the router is X9-kitten`; not `the token is required`."""
    name, value = match["name"].lower(), match["value"].rstrip(".,;!?)")
    if is_placeholder(value) or is_masked(value) or _east_asian(value) >= 0:
        return False
    if name.startswith("pin"):
        return value.isdigit() and 4 <= len(value) <= 8
    if _PASSWORD.search(name):
        return _passwordlike(value) and not value.isdigit()
    return _keylike(value)


def is_placeholder(value: str) -> bool:
    """Whether something stands for a value and is none: a placeholder, a type, an expression."""
    plain = value.lower().strip("\"'`")
    return plain in _PLACEHOLDERS or len(set(plain)) < 3 or bool(_NO_VALUE.match(value))


def _passwordlike(value: str) -> bool:
    """Digits of four or more, or six characters of which not all are letters, as no word or measure has them."""
    if value.isdigit():
        return 4 <= len(value) <= 32
    odd = any(not c.isalpha() for c in value.strip("-_.,:/"))
    hyphened = all(part.isalpha() for part in re.split(r"[-_/.,:'’]+", value) if part)
    return len(value) >= 6 and odd and not hyphened and not _MEASURE.match(value)


def _keylike(value: str) -> bool:
    """Eight characters or more, letters and digits mixed, no measure and no words with numbers between them."""
    if len(value) < 8 or not _mixed(value, 2) or _MEASURE.match(value) or _east_asian(value) >= 0:
        return False
    parts = [part for part in re.split(r"[-_/.=+:~]+", value) if part]
    return any(len(part) >= 8 and _mixed(part, 2) for part in parts) or bool(_UUID.fullmatch(value))


def _east_asian(text: str) -> int:
    """Where the first Chinese, Japanese or Korean character stands; -1 where none does. (A pattern would cost 5 ms.)"""
    return next((at for at, character in enumerate(text) if character >= "\u2e80"), -1)


def _mixed(text: str, classes: int) -> bool:
    """Whether digits and at least so many classes (digits, small letters, capitals) stand in a text."""
    digits = any(c.isdigit() for c in text)
    present = digits + any(c.islower() for c in text) + any(c.isupper() for c in text)
    return digits and present >= classes


def _is_base64(value: str) -> bool:
    """`dXNlcjpwYXNz`, as it stands behind `Basic`: no word, because capitals stand inside."""
    return len(value) >= 12 and value[1:] != value[1:].lower() and value != value.upper() and "-" not in value


def is_masked(value: str) -> bool:
    return value.startswith("[redacted")


def kind_of(name: str) -> str:
    lowered = name.lower()
    if _PASSWORD.search(lowered):
        return "a password"
    if lowered.startswith("pin"):
        return "a PIN"
    return "a key" if "key" in lowered or any(word in name for word in ("密钥", "秘钥", "私钥")) else "a token"


def _by_chance(text: str, cautious: bool) -> Iterator[Span]:
    for match in _RUN.finditer(text):
        if _random(match[0]) and (cautious or _unexpected(match)):
            yield ("a random key", *match.span())


def _unexpected(match: re.Match[str]) -> bool:
    """Whether a random run is neither a number written in hex, nor public, nor part of an address."""
    run = match[0]
    if not (_mixed(run, 3) and not _PUBLIC.match(run)):
        return False
    return not _BEFORE_PUBLIC.search(match.string, max(0, match.start() - 300), match.start())


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

"""The rules for likely secrets: by form (a GitHub token), by name (`password: …`), by a random look.

Only `sensitive` uses this module. It imports it only for a text that may hold a secret: compiling the rules takes
milliseconds. `docs/secrets.md` says how often they are wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

from memctl.core.folding import Folded, fold

Span = tuple[str, int, int]
"""A kind, a start and an end (exclusive)."""

# By form

_FORMS: Mapping[str, str] = {
    "a private key": r"-----BEGIN[ ][A-Z0-9 ]*PRIVATE[ ]KEY(?:[ ]BLOCK)?-----(?=.{0,400}?[A-Za-z0-9+/=]{32}).*?"
    r"(?:-----END[ ][A-Z0-9 ]*PRIVATE[ ]KEY(?:[ ]BLOCK)?-----|\Z)"
    r"|PuTTY-User-Key-File-\d.{0,8000}?Private-MAC:\s*\w+|AGE-SECRET-KEY-1[0-9A-Z]{50,}",
    "a JSON web token": r"eyJ[\w-]{8,4000}+\.[\w-]{10,}(?:\.[\w-]*){0,3}",
    "an AWS key": r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])",
    "a Google key": r"AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}",
    "an Azure key": r"AccountKey=[A-Za-z0-9+/=]{80,}|[\w~.]{3}\dQ~[\w~.-]{31,34}|(?<=[?&])sig=[A-Za-z0-9%+/]{40,}=*"
    r"|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?!\w)",
    "a GitHub token": r"gh[pousr]_\w{30,}|github_pat_\w{22,}",
    "a GitLab token": r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[\w-]{20,}(?:\.\w{2}\.\w{7,9})?"
    r"|GR1348941[\w-]{20,}",
    "a Slack token": r"xox[a-z]-[\w-]{10,}|xapp-\d-[\w-]{10,}|hooks\.slack\.com/(?:services|workflows)/[\w/]{20,}",
    "a Stripe key": r"[rs]k_(?:live|test|prod)_\w{10,}|whsec_[A-Za-z0-9+/=]{24,}",
    "a chat bot token": r"\d{8,10}:[\w-]{35}(?!\w)|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,38}"
    r"|discord(?:app)?\.com/api/webhooks/\d+/[\w-]{30,}|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=[\w-]{30,}"
    r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/[\w-]{30,}",
    "a package registry token": r"npm_[A-Za-z0-9]{36}|pypi-AgE[\w-]{40,}|rubygems_[0-9a-f]{48}|CLOJARS_\w{60}"
    r"|:_authToken=\s*[\w-]{20,}|oy2[a-z0-9]{43}(?!\w)",
    "a mail service key": r"SG\.[\w-]{16,}\.[\w-]{16,}|[0-9a-f]{32}-us\d{1,2}(?!\d)|xkeysib-[0-9a-f]{64}-\w{16}"
    r"|key-[0-9a-f]{32}(?!\w)|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])",
    "a cloud service key": r"dop_v1_[0-9a-f]{40,}|do[or]_v1_[0-9a-f]{40,}|dapi[0-9a-f]{32}|LTAI[A-Za-z0-9]{12,26}"
    r"|AKID[A-Za-z0-9]{32}|hv[sb]\.[\w-]{24,}|s\.(?=\w*\d)(?=\w*[A-Z])[A-Za-z0-9]{24}(?![\w(-]|\.\w)"
    r"|sbp_[0-9a-f]{40}|tskey-\w+-[\w-]{10,}|ops_eyJ[\w+/=]{40,}"
    r"|sntrys_[\w+/=-]{30,}|gl(?:c|sa)_[\w+/=-]{30,}|NRAK-[A-Z0-9]{27}|ATATT3[\w=-]{40,}|lin_api_\w{40}"
    r"|v1\.0-[0-9a-f]{24}-[0-9a-f]{146}|\w{14}\.atlasv1\.[\w-]{60,}|dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.]{40,}"
    r"|pul-[0-9a-f]{40}|pat\w{14}\.[0-9a-f]{64}|AKCp[A-Za-z0-9]{60,}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|ntn_\w{40,}",
    "a payment or shop key": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|sq0[a-z]{3}-[\w-]{22,}"
    r"|(?:SK|AC)[0-9a-f]{32}(?!\w)",
    "a password hash": r"\$(?:apr1|[1567y]|2[abxy]|argon2\w{1,2}|pbkdf2[\w-]{0,10}|scrypt)\$[^\s\"'|]{16,300}"
    r"|\{(?:SSHA|SHA)\d{0,3}\}[A-Za-z0-9+/=]{20,}",
    "a model provider key": r"hf_[A-Za-z0-9]{30,}|gsk_\w{40,}|r8_\w{37}|pplx-\w{40,}|xai-\w{60,}|tvly-[\w-]{20,}"
    r"|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|fc-[0-9a-f]{32}(?!\w)|[0-9a-f]{32}\.[A-Za-z0-9]{16}(?!\w)",
}
_FORM = re.compile(
    r"(?<![A-Za-z0-9])(?:" + "|".join(f"(?P<k{at}>{form})" for at, form in enumerate(_FORMS.values())) + ")", re.DOTALL
)
_KINDS = tuple(_FORMS)

_PREFIXED = re.compile(r"(?<![A-Za-z0-9])[sr]k-[A-Za-z0-9_-]{20,}")
"""`sk-…`, the form that most model providers adopted; names of packages may look like this too."""

_CAUTIOUS_FORM = re.compile(
    r"""-----BEGIN[ ][^-]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][^-]*PRIVATE[ ]KEY-----|\Z)
    | \beyJ[A-Za-z0-9_-]{5,4000}+\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?
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
    signature pw psk passwort kennwort wachtwoord senha contrasena haslo sifre heslo losenord salasana passord
    adgangskode jelszo khau requirepass masterauth""".split()
)
_SECRET_PAIRS = frozenset(
    part.strip()
    for part in """api key,api keys,access key,access keys,private key,secret key,signing key,encryption key,ssh key,
    session id,
    access tokens,refresh tokens,api tokens,auth tokens,session key,master key,deploy key,pin code,de passe,mat khau,
    palavra passe""".split(",")
)
_ABOUT = frozenset(
    """type method mode url uri endpoint name provider enabled required count length policy limit limits ttl expiry
    timeout file path size budget max min number usage stdin prompt strength""".split()
)
"""A name that ends in one of these is about a secret and does not hold one: `token_limit`, `password_file`."""

_INSIDE = re.compile("passw(?:or)?d|passphrase|secret(?!ar)|apikey|credential")
_NO_PASS = frozenset("boarding mountain ski bus season day hall back".split())
"""Before `pass`, these mean that the name holds no password, unlike `db_pass` and `smtpPass`."""
_PASSWORD = re.compile(
    "passw?(?:or)?[dt]|passphrase|passcode|pwd|pass$|^pw$|[_.-]pw$|psk|kennwort|wachtwoord|senha|requirepass|masterauth"
    "|contrasena|clave|haslo|sifre|parola|heslo|losenord|salasana|adgangskode|jelszo|mat khau|palavra-passe"
    "|密码|密碼|口令|パスワード|暗証番号|비밀번호|пароль|mot de passe|κωδικός"
    "|كلمة ?(?:المرور|السر)|סיסמ[הא]|पासवर्ड|รหัสผ่าน"
)
_CHINESE = (
    "密码|密碼|口令|密钥|密鑰|秘钥|金鑰|私钥|私鑰|令牌|權杖|凭证|憑證|凭据|憑據|授权码|授權碼|验证码|驗證碼|通行证|通行證"
    "|パスワード|暗証番号|비밀번호|пароль|mot[ ]de[ ]passe|mat[ ]khau|palavra-passe|κωδικός|كلمة[ ]?المرور|كلمة[ ]?السر"
    "|סיסמ[הא]|पासवर्ड|รหัสผ่าน"
)
_IS = "改成了?|改[为為]|[设設][置定]?[为為成]|换成了?|換成了?|[变變]成?了?|就?叫做?|就是|即是?|是|为|為|係|系|は|는|은"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_NAME = rf"""(?P<name>(?<![A-Za-z0-9_.-])
    (?:(?:api|access|private|secret|signing|encryption|ssh|session|master|deploy)\ )?
    [A-Za-z0-9_.-]{{1,60}}+
    |{_CHINESE})"""
_LONGEST_READ = 1_000
"""The most characters of a value that are read: else `key=key=…` would be read to its end for each name."""

_ASSIGNED = re.compile(
    rf"""{_NAME}(?P<sign>["'`*]{{0,3}}(?:\ ?\([^)\n]{{1,20}}\))?
    \s*(?::?=>?|:|：|＝|[-–]>|→|['’]s\ |{_IS})\s*+[`*]{{0,3}}+\s*+)
    (?P<value>"[^"\n]*"|'[^'\n]*'|[^\s"',;&，；。)\]}}]{{1,{_LONGEST_READ}}})""",
    re.VERBOSE | re.IGNORECASE,
)
_MORE = re.compile(r"""[^\s"',;&，；。)\]}]*""")
_QUOTED_AFTER = re.compile(
    rf"""{_NAME}(?P<sign>\s*)(?P<value>"[^"\n]+"|'[^'\n]+'|“[^”\n]{{1,1000}}”)""", re.VERBOSE | re.IGNORECASE
)
_HIDDEN = r"""password|passwd|passphrase|passcode|passwor[dt]|kennwort|contrasena|senha|mot\ de\ passe|clave|haslo|sifre
    |parola|heslo|losenord|salasana|passord|adgangskode|jelszo|mat\ khau|palavra-passe|пароль|κωδικός"""
_VALUE = """["'“`]?(?P<value>[^\\s"'”`]{4,})"""
_SAID = re.compile(
    rf"""\b(?P<name>{_HIDDEN}|pin(?:\ code)?|(?:api|access|secret|private)\ key|token|secret)
    (?:\s+(?:for|of|to|on|at|in|fur|von|del?|di|do|da|du|pour|para|от|ot|для|k)\s[^\n.!?:=]{{1,60}}?)?
    (?:\s+(?:is|was|=|ist|lautet|est|es|e|je|jest|on|ar|er|-|is:|-+)|\s?[:：])\s+(?:now\s+)?{_VALUE}""",
    re.VERBOSE | re.IGNORECASE,
)
_CHANGED = rf"""\b(?:(?:set|chang(?:ed?|ing)|reset|updated?)\s+(?:\w+(?:['’]s)?\s+){{0,4}}(?P<name>{_HIDDEN}|pin)
    |(?P<other>{_HIDDEN}|pin)\s+(?:is|was|has\ been)\s+(?:now\s+)?(?:set|changed|reset|updated))\s+to\s+{_VALUE}"""
_LOGIN = rf"""(?:\b(?:login|user(?:name)?)|账号|帳號|帐号|用户名?)[\s:：=]\s*[^\s,，;；/]{{1,60}}[\s,，;；/]+(?:and\s+)?
    (?P<name>{_HIDDEN}|pass|pw)\s+{_VALUE}"""
_DIRECT = rf"""(?P<name>密码|密碼|口令|パスワード|비밀번호|пароль|κωδικός|סיסמ[הא]|पासवर्ड|รหัสผ่าน)\s{{0,2}}+["'“`「『]?
    (?P<value>(?!\]\()(?!(?:sha|md|aes|rsa|argon|b?crypt|pbkdf|hmac|base|utf|gbk?|oauth|totp|wpa|web|sm)[-_]?\d)
        (?:(?=[!-~]{{0,40}}?[0-9])(?=[!-~]{{0,40}}?[A-Za-z])[!-~]{{6,{_LONGEST_READ}}}
        |\d{{6,32}}(?![\d年月日号位次个天])))"""
"""`WiFi密码Kitten99`: with nothing between the name and the value; not `密码SHA256加密`."""
_EAST = "密码|密碼|口令|パスワード|暗証番号|비밀번호"
_LETTERS_AND_DIGITS = rf"(?=[!-~]{{0,40}}?[0-9])(?=[!-~]{{0,40}}?[A-Za-z])[A-Za-z0-9#@!$*+~^][!-~]{{5,{_LONGEST_READ}}}"
_POINTED = rf"""(?:[【「『《〔](?P<name>{_EAST}|{_HIDDEN}|pass|pin)[】」』》〕]
    |(?P<other>{_EAST}|\b(?:{_HIDDEN}))\s{{0,3}}[\u2190-\u21ff\u2300-\u2bff\U0001f000-\U0001faff]{{1,4}})
    \s{{0,3}}(?P<value>{_LETTERS_AND_DIGITS}|\d{{4,32}}(?![\w./-]))"""
"""`【密码】Kitten99`, `password 👉 Kitten99`: the name in brackets, or a pictogram that points to the value."""
_AFTER_WORDS = rf"""(?P<name>{_EAST})
    (?![\u3400-\u9fff]{{0,12}}(?:[学學器库庫軟软]|算法|办法|辦法|方法|工具|链接|網址|网址|文档|版本|教程|时间))
    [\u3400-\u9fff]{{1,12}}\s{{0,3}}[:：]\s{{0,3}}(?P<value>(?!\w+://){_LETTERS_AND_DIGITS})"""
"""`密码还是老样子：Kitten99`."""
_MIXED_SCRIPTS = rf"""(?P<name>{_EAST})\s{{0,3}}[:：=]\s{{0,3}}["'“「『]?(?P<value>[\u3400-\u9fff]{{2,12}}
    (?!(?:sha|md|aes|rsa|argon|b?crypt|pbkdf|hmac|base|utf|gbk?|oauth|totp|wpa|web|sm|ipv?|http)[-_]?\d)
    (?=[!-~]{{0,40}}?[0-9])(?=[!-~]{{0,40}}?[A-Za-z])[!-~]{{3,40}})(?![\u3400-\u9fff])"""
"""`口令：芝麻开门88Xx`."""
_IN_TWO_WORDS = rf"""(?P<name>{_EAST}|\b(?:{_HIDDEN}))\s{{0,3}}[:：=]\s{{0,3}}
    (?P<value>[A-Za-z]{{3,20}}[ ](?!(?:19|20)\d\d(?!\d))\d{{4,12}})(?=\s{{0,3}}(?:\Z|[\n，。；,;.)）]))"""
"""`密码：kitten 4471`; not `password: changed 2024`."""
_PIN = r"""(?<![A-Za-z0-9])(?P<name>pin(?:[ _-]?code)?)["'`*]{0,3}\s{0,3}(?:[:：=]|->|→|是|为|為)\s{0,3}["'`*]{0,3}
    (?P<value>\d{4,8})(?![\w/年月日]|[.:-]\d)"""
_SQL = r"""\b(?:(?:(?:create|alter)\s+(?:user|role|login)|grant)\b[^;]{0,300}?
        \b(?:identified\s+(?:with\s+\S{1,60}\s+)?(?:by|as)\s+(?:password\s+)?|password\s{0,3}=?\s{0,3})
    |set\s+password\b[^;='"]{0,100}(?:'[^'\n]{0,60}'[^;='"]{0,9}){0,2}=\s{0,3})
    (?P<value>'[^'\n]{4,200}'|"[^"\n]{4,200}")"""
_OF_REDIS = r"""^[ \t>]{0,9}(?:config\s+set\s+)?(?:requirepass|masterauth)[ \t]{1,9}
    (?P<value>[^\s]{3,300})[ \t]{0,9}\r?$"""
_HEADING = r"""^[ \t>]{0,9}(?:\#{1,6}[ \t]{1,4}|\*\*|__)(?P<name>[^\n*:：]{2,60}?)
    [ \t]{0,4}(?:\*\*|__|\#{1,6})?[ \t:：]{0,4}\r?\n(?:[ \t]{0,9}\r?\n){0,2}(?:[ \t>]{0,9}```\w{0,20}\r?\n)?
    [ \t>]{0,9}(?:[-*][ \t]+)?[`"'*]{0,2}(?P<value>[^\s`"']{4,200}?)[`"'*]{0,2}[ \t]{0,9}\r?$"""
"""`## Password`, with the value alone on the next line."""
_COMMAND = rf"""\b(?:sshpass\s+-p\s*|redis-cli\b[^\n|;]{{0,80}}?\s-a\s+|docker\s+login\b[^\n|;]{{0,120}}?\s-p\s+
    |(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;]{{0,120}}?\s-p
    |(?:curl|wget)\b[^\n|;]{{0,200}}?\s(?:-u|--user)\s*["']?[^\s:"']{{1,60}}:)
    ["']?(?P<value>[^\s"']{{4,{_LONGEST_READ}}})"""
_PHRASE = r"""(?:\b(?:(?:seed|recovery|backup|secret|mnemonic)\s+(?:phrase|words?)|mnemonic)|助[记記][词詞])
    \s*+(?:(?:is|are|was|:|：|=|是|为|為)\s*+)?["'“`]?(?P<value>(?:[a-z]{3,8}[ ,\n]{1,2}){11,23}[a-z]{3,8})\b"""
"""The 12 to 24 words from which a wallet derives its keys."""


@cache
def _rule(pattern: str) -> re.Pattern[str]:
    """A rule that few texts need, compiled at its first use."""
    return re.compile(pattern, re.VERBOSE | re.IGNORECASE)


_KEY_IN_HEX = re.compile(
    r"\b(?P<name>(?:api|access|private|secret)[ _-]key|token)\s+(?P<value>(?:0x)?[0-9a-f]{32,128})\b", re.IGNORECASE
)
_HEX_RUN = re.compile(r"[0-9A-Fa-f]{32}")
_TAGGED = re.compile(
    r"<(?:\w{1,40}:)?(?P<name>[A-Za-z][\w.-]{0,60})(?:\s[^<>\n]{0,200})?(?P<sign>>)"
    rf"(?P<value>[^<\s]{{1,{_LONGEST_READ}}})</"
)
_TABLE = re.compile(
    r"\|\s{1,20}[*`_]{0,3}(?P<name>[\w.-]{2,60})[*`_]{0,3}(?P<sign>\s{1,60}\|\s{1,60})"
    rf"`?(?P<value>[^\s|`]{{1,{_LONGEST_READ}}})`?\s{{1,60}}\|"
)
_OPTION = re.compile(
    r"(?<!\S)--?(?P<name>[A-Za-z][A-Za-z0-9_-]{1,40})(?P<sign>\s{1,9})"
    rf"""(?P<value>"[^"\n]+"|'[^'\n]+'|[^\s"'-][^\s"']{{0,{_LONGEST_READ}}})"""
)
"""In XML, in a Markdown table, on a command line."""
_URL_PASSWORD = re.compile(r"(?<=://)[^\s/@:?#]*:(?P<value>[^\s/?#]+)@")
_SCHEME = re.compile(r"\b(?P<scheme>Bearer|Basic)\s+(?P<value>[A-Za-z0-9._~+/=-]{6,})", re.IGNORECASE)

_PLACEHOLDERS = frozenset(
    """string str text bytes null none nil true false yes no required optional missing wrong unknown forgotten invalid
    expired changed empty hidden redacted password passwd pass pwd secret token user username example changeme change_me
    yourpassword mypassword undefined default disabled enabled incorrect correct secure strong weak different
    needed protected stored guest anonymous""".split()
)
_NO_VALUE = re.compile(
    r"""[<\[{$%(*@:]           # <password>, ${PASSWORD}, %s, ****
    |.*[(\[{<]                # a call, a template
    |(?:your|my|the|some|example|placeholder|xxx|\.\.\.|…)
    |[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$       # NAME_OF_A_VARIABLE
    |[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$     # settings.password
    |\.{0,2}/                             # a path
    |!(?:vault|secret|env|env_var|encrypted|ref|sub|include)\b   # a tag of YAML
    |https?://""",
    re.VERBOSE,
)
_MEASURE = re.compile(r"\d+(?:\.\d+)?[-–]?[A-Za-z]+$|v?\d+(?:[.:/-]\d+)+$")
"""`64-bit`, `10:30`, `v1.2`: letters and digits that are not a key."""

# By a random look

_SHORTEST_RANDOM = 24
_LONGEST_PIECE = 4.0
"""A run looks random if its pieces of one class (capitals, lower case, digits) are shorter than this on average."""

_RUN = re.compile(rf"[A-Za-z0-9+/_=-]{{{_SHORTEST_RANDOM},}}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PUBLIC = re.compile(
    r"AAAA[BCE]|MII[BC]IjAN|Qm[1-9A-HJ-NP-Za-km-z]{44}$|[13][1-9A-HJ-NP-Za-km-z]{25,33}$|0x[0-9A-Fa-f]{40}$"
    r"|(?i:sha(?:1|256|384|512)[-=:])|R0lGOD|iVBORw0|/9j/"
    r"|(?:call|toolu|srvtoolu|chatcmpl|msg|resp|req|run|step|item|gen|evt|batch|thread|asst|file|rs|fc|mem)[_-]"
)
"""The beginnings of public keys, addresses of wallets and contents, checksums, images, and ids of calls and answers."""

_PUBLISHED = re.compile(r"-----BEGIN (?![A-Z0-9 ]*PRIVATE)[A-Z0-9 ]+-----[A-Za-z0-9+/=\s:.-]{0,8000}?(?:-----END|\Z)")
"""Certificates, public keys and signatures."""

_BEFORE_PUBLIC = re.compile(r"(?:[a-z][a-z0-9+.-]*://\S*|www\.\S*|base64,|(?i:sha\d+)[:=-]|[#@%.\\]|\w/)$")
"""An address, an image or a checksum: a run of letters and digits is expected there."""


def secret_name(name: str) -> bool:
    """See `memctl.core.sensitive.secret_name`."""
    if not name.isascii():
        name = fold(name)
    if not name.isascii() and re.search(_CHINESE, name, re.VERBOSE):
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT or words[0] in ("max", "min", "num"):
        return False
    if _INSIDE.search("".join(words)):
        return True
    if words[-1] == "pass" and (len(words) == 1 or words[-2] not in _NO_PASS):
        return True
    pairs = {f"{one} {other}" for one, other in pairwise(words)}
    return bool(_SECRET_WORDS & set(words) or _SECRET_PAIRS & pairs or "".join(words) in _SECRET_WORDS)


_OF_OTHERS = re.compile(
    "session|signature|(?:page|next|continuation|sync|pad|eos|bos|cls|sep|unk|mask)_?token", re.IGNORECASE
)


def _usually_secret(name: str) -> bool:
    """As `secret_name`, without names that mostly hold something else: a session's id, a page token."""
    return secret_name(name) and not _OF_OTHERS.search(name)


def names_secret(name: str) -> bool:
    """Whether any text in a field of this name is a secret, whatever it looks like."""
    return _usually_secret(name) and not re.search("auth$|cookies?$", name, re.IGNORECASE)


def is_held(value: str) -> bool:
    """Whether a text in such a field is a secret: not empty, not a sentence, not a placeholder."""
    plain = value.strip()
    return len(plain) >= 4 and " " not in plain and not is_masked(plain) and not is_placeholder(plain)


def looks(reading: Folded, cautious: bool) -> list[Span]:
    """The spans that `memctl.core.sensitive.secrets_in` returns; overlapping spans are joined."""
    candidates = [*_read(reading, cautious)]
    candidates += _of_split_tokens(reading, candidates)
    unwrapped = _unwrapped(reading)
    if unwrapped is not reading:
        candidates += _read(unwrapped, cautious)
    result: list[Span] = []
    for kind, start, end in sorted(candidates, key=lambda span: (span[1], -span[2])):
        if result and start < result[-1][2]:
            first = result.pop()
            result.append((first[0], first[1], max(first[2], end)))
        else:
            result.append((kind, start, end))
    return result


def _read(reading: Folded, cautious: bool) -> Iterator[Span]:
    """The spans that the rules match in one reading of a text."""
    text = reading.text
    for find in (_by_form(text, cautious), _by_name(text, cautious), _by_chance(text, cautious), _in_tables(text)):
        for kind, start, end in find:
            if start < end:
                yield (kind, *reading.original(start, end))


# Readings

_DIGITS_FOR_LETTERS = str.maketrans("@43$50", "aaesso")
_WRAPPINGS: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = (
    (re.compile(r"\\{1,9}(?:u0022|[\"'/])|&quot;|&#34;"), lambda match: match[0][-1] if match[0][-1] in "/'" else '"'),
    (re.compile(r"\$\{\w{1,60}:?[-=]([^${}\s]{1,200})\}"), lambda match: match[1]),
    (re.compile(r"%(?:3[AaDd]|2[26])"), lambda match: chr(int(match[0][1:], 16))),
    (
        re.compile(
            r"((?:pass[a-z]*|pwd|pw|psk|secret[a-z]*|token|key|senha|kennwort|clave|密码|密碼|口令|密钥|密鑰|令牌)[\"'`*]{0,3}:)"
            r"[ \t]{0,9}(?:[>|][+\d-]{0,2}[ \t]{0,9}\n[ \t]{1,40}|(?:!!|&)[\w-]{1,40}[ \t]{1,9}"
            r"|\n[ \t]{0,40}-[ \t]{1,9})",
            re.IGNORECASE,
        ),
        lambda match: match[1] + " ",
    ),
    (
        re.compile(
            r"(?<![A-Za-z0-9])(?:p[ ]?[a@4][ ]?[s$5][ ]?[s$5](?:[ ]?w[ ]?[o0][ ]?r?[ ]?[dt])?|s[e3]cr[e3]t|t[o0]k[e3]n)"
            r"(?![A-Za-z0-9])|密[ ]码|密[ ]碼",
            re.IGNORECASE,
        ),
        lambda match: match[0].replace(" ", "").lower().translate(_DIGITS_FOR_LETTERS),
    ),
    (
        re.compile(r"</t[hd]>\s{0,20}<t[hd]\b[^<>]{0,80}>|<t[rhd]\b[^<>]{0,80}>|</t[rhd]>"),
        lambda match: "\n" if match[0] == "</tr>" else "\t" if "><" in match[0].replace(" ", "") else "",
    ),
)
"""Notations that hide a secret from the rules, each with its plain form: JSON or a query within JSON or HTML, YAML
blocks and tags, letters written as digits and signs, HTML tables."""


def _unwrapped(reading: Folded) -> Folded:
    """The text with such notations made plain; the same reading if it has none."""
    for pattern, plain in _WRAPPINGS:
        reading = _replaced(reading, pattern, plain)
    return reading


def _replaced(reading: Folded, pattern: re.Pattern[str], plain: Callable[[re.Match[str]], str]) -> Folded:
    parts, places, at = list[str](), list[int](), 0
    for match in pattern.finditer(reading.text):
        new = plain(match)
        if new == match[0].lower():
            continue
        parts += [reading.text[at : match.start()], new]
        places += reading.places[at : match.start()]
        places += [reading.places[match.start()]] * len(new)
        at = match.end()
    if not at:
        return reading
    return Folded("".join([*parts, reading.text[at:]]), [*places, *reading.places[at:]])


_BEGUN = re.compile(
    r"(?:gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|AIza|ya29|GOCSPX-|eyJ|xox[a-z]-|[sr]k[-_]|hf_|npm_|pypi-|SG\.|hv[sb]\.|LTAI"
    r"|AKID|gsk_|dop_v1_|shp[a-z]{2}_|whsec_|dapi|sq0|xai-|lin_api_)[\w.-]{4}|(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{0,15}[^A-Za-z0-9]"
)
_BEGINNINGS = tuple(
    """ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- AKIA ASIA AIza ya29 GOCSPX- eyJ xox sk- sk_ rk- rk_ hf_ npm_ pypi-
    SG. hvs. hvb. LTAI AKID gsk_ dop_v1_ shp whsec_ dapi sq0 xai- lin_api_""".split()
)
"""The same beginnings, for a quick search."""
_SPLIT = re.compile(
    r"""-?(?:\\?\r?\n[ \t>#*]{0,20}|["'][ \t]{0,9}[\\+.]?[ \t]{0,9}\r?\n?[ \t]{0,20}["'])(?=[A-Za-z0-9_])"""
)
"""Where a token continues on the next line, or in the next of two concatenated strings."""


def _of_split_tokens(reading: Folded, known: Sequence[Span]) -> Iterator[Span]:
    """Tokens of a known form that are split over lines, except those that are complete on the first line."""
    if not any(begin in reading.text for begin in _BEGINNINGS) or not _BEGUN.search(reading.text):
        return
    joined = _replaced(reading, _SPLIT, lambda match: "")
    if joined is reading:
        return
    starts = {start for kind, start, _ in known if kind in _FORMS}
    for kind, start, end in _by_form(joined.text, False):
        begin, until = joined.original(start, end)
        parted = until - begin > end - start
        if (
            parted
            and begin not in starts
            and kind != "a password in a URL"
            and (_mixed(joined.text[end - 4 : end], 1) or (kind == "an AWS key" and _mixed(joined.text[start:end], 2)))
        ):
            yield kind, begin, until


# In tables

_CELLS = re.compile(r"[|\t,;]")
_LONGEST_LINE = 500


def _in_tables(text: str) -> Iterator[Span]:
    """The cells of columns named like a secret, in Markdown, CSV or tab-separated text."""
    if "\n" not in text or not _CELLS.search(text):
        return
    columns: dict[int, str] = {}
    sign, count, at = "", 0, 0
    for line in text.split("\n"):
        cells = line.split(sign) if sign else []
        if sign and len(cells) == count:
            yield from _row(cells, columns, at)
        elif line.strip():
            sign, count, columns = _header(line)
        at += len(line) + 1


def _header(line: str) -> tuple[str, int, dict[int, str]]:
    """The separator of a line's cells, their number, and the cells that name secrets; empty if none does."""
    if len(line) <= _LONGEST_LINE:
        for sign in (sign for sign in "|\t,;" if sign in line):
            cells = line.split(sign)
            if len(cells[0]) <= 40 and all(len(cell.split()) <= 3 and len(cell.strip()) <= 30 for cell in cells):
                named = {at: cell.strip(" \t*_`\"'") for at, cell in enumerate(cells)}
                if columns := {at: name for at, name in named.items() if _usually_secret(name)}:
                    return sign, len(cells), columns
    return "", 0, {}


def _row(cells: Sequence[str], columns: Mapping[int, str], at: int) -> Iterator[Span]:
    for number, cell in enumerate(cells):
        bare = cell.strip(" \t\r*`\"'")
        name = columns.get(number, "")
        held = name and bare and " " not in bare and not is_masked(bare) and not is_placeholder(bare)
        if held and _good(name, bare, False, False):
            start = at + cell.index(bare)
            yield kind_of(name), start, start + len(bare)
        at += len(cell) + 1


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
    yield from _in_sentences(text)
    yield from _elsewhere(text, text.lower())
    is_secret = secret_name if cautious else _usually_secret
    for pattern in (_ASSIGNED, _QUOTED_AFTER, _OPTION, _TAGGED, _TABLE):
        at = 0
        while named := pattern.search(text, at):
            at = max(named.end("name"), named.start() + 1)
            if is_secret(named["name"]) and (span := _value_of(named, cautious)):
                yield (kind_of(named["name"]), *span)
                at = span[1]


_BASE32 = r"""(?i:\b(?:totp|otp|2fa|mfa|authenticator|two-factor)\b|[验驗][证證])[^\n]{0,40}?(?<![A-Za-z0-9])
    (?P<value>(?-i:(?:[A-Z2-7]{4}[ -]?){3,15}[A-Z2-7]{4}))(?![A-Za-z0-9])"""
"""The key of one-time codes: `JBSWY3DPEHPK3PXP`, or in groups of four."""
_LINE_OF_PGPASS = r"""^(?:[\w.-]{1,80}|\*):(?:\d{2,5}|\*):[\w*$.-]{1,60}:[\w*.@-]{1,60}:(?P<value>[^\s:]{4,200})$"""
_PAIRED = r"""["']?\b(?:name|key|variable)["']?\s{0,9}[:=]\s{0,9}["']?(?P<name>[\w.-]{2,60})["']?
    (?:\s{0,9},\s{0,40}|\s{1,40})
    (?:["']?\w{1,30}["']?\s{0,9}[:=]\s{0,9}["']?[\w.-]{0,40}["']?(?:\s{0,9},\s{0,40}|\s{1,40})){0,3}?
    ["']?value["']?\s{0,9}[:=]\s{0,9}["']?(?P<value>[^\s"',;}]{4,300})"""
"""`name: DB_PASSWORD` followed by `value: …`, as in lists of variables."""
_PAIRED_BEFORE = r"""["']value["']\s{0,9}:\s{0,9}["'](?P<value>[^\s"',;}]{4,300})["']\s{0,9},\s{0,40}
    (?:["']\w{1,30}["']\s{0,9}:\s{0,9}["']?[\w.-]{0,40}["']?\s{0,9},\s{0,40}){0,3}?
    ["'](?:name|key|variable)["']\s{0,9}:\s{0,9}["'](?P<name>[\w.-]{2,60})["']"""
"""The same in JSON, with the value first."""


def _elsewhere(text: str, lowered: str) -> Iterator[Span]:
    """Secrets whose name is not a field beside them: in lists of variables and in the files of some programs."""
    if "value" in lowered:
        for match in (match for pattern in (_PAIRED, _PAIRED_BEFORE) for match in _rule(pattern).finditer(text)):
            value = match["value"]
            usable = _usually_secret(match["name"]) and not is_placeholder(value)
            if usable and _good(match["name"], value, True, False):
                yield (kind_of(match["name"]), *match.span("value"))
    if any(word in lowered for word in ("otp", "2fa", "mfa", "authenticator", "two-factor", "验证", "驗證")):
        for match in _rule(_BASE32).finditer(text):
            if any(c.isdigit() for c in match["value"]):
                yield ("a key of one-time codes", *match.span("value"))
    for match in re.finditer(_LINE_OF_PGPASS, text, re.MULTILINE) if text.count(":") >= 4 else ():
        if _passwordlike(match["value"]) and not is_placeholder(match["value"]):
            yield ("a password", *match.span("value"))


def _in_sentences(text: str) -> Iterator[Span]:
    """Secrets in sentences and commands: `the password is …`, `WiFi密码…`, `curl -u me:…`, the words of a wallet."""
    lowered = text.lower()
    patterns = [_SAID]
    if " to " in lowered:
        patterns.append(_rule(_CHANGED))
    if any(word in lowered for word in ("login", "user", "账号", "帳號", "帐号", "用户")):
        patterns.append(_rule(_LOGIN))
    for match in (match for pattern in patterns for match in pattern.finditer(text)):
        name, value = next(filter(None, match.groups())), match["value"].rstrip(".,;!?)")
        if _said(name.lower(), value):
            yield (kind_of(name), match.start("value"), match.start("value") + len(value))
    if _HEX_RUN.search(text):
        yield from ((kind_of(match["name"]), *match.span("value")) for match in _KEY_IN_HEX.finditer(text))
    for match in _rule(_DIRECT).finditer(text) if not text.isascii() else ():
        value = match["value"].rstrip(".,;!?)\"'`")
        yield ("a password", match.start("value"), match.start("value") + len(value))
    for match in _rule(_COMMAND).finditer(text) if " -" in text else ():
        if not is_placeholder(match["value"]) and not is_masked(match["value"]):
            yield ("a password", *match.span("value"))
    yield from _written_otherwise(text, lowered)
    if any(word in lowered for word in ("phrase", "mnemonic", " word", "助记", "助記")):
        yield from (("a recovery phrase", *match.span("value")) for match in _rule(_PHRASE).finditer(text))


def _written_otherwise(text: str, lowered: str) -> Iterator[Span]:
    """Values after brackets, pictograms and words, in two scripts or words, below a heading, in SQL and in Redis."""
    patterns = [_IN_TWO_WORDS] if _TWO_WORDS.search(text) else []
    if not text.isascii():
        patterns += [_POINTED] if _POINTER.search(text) else []
        patterns += [_AFTER_WORDS, _MIXED_SCRIPTS] if _EAST_SIGNED.search(text) else []
    if _PIN_SIGNED.search(lowered):
        patterns.append(_PIN)
    for match in (match for pattern in patterns for match in _rule(pattern).finditer(text)):
        value = match["value"].rstrip(".,;!?)\"'`")
        if not is_placeholder(value) and not is_placeholder(value.split(" ")[0]):
            yield (kind_of(match[1] or match["other"]), match.start("value"), match.start("value") + len(value))
    patterns = [_SQL] if "identified" in lowered or ("password" in lowered and _SQL_WORDS.search(lowered)) else []
    patterns += [_lines(_OF_REDIS)] if "requirepass" in lowered or "masterauth" in lowered else []
    for match in (match for pattern in patterns for match in _rule(pattern).finditer(text)):
        value = match["value"].strip("\"'")
        if not is_placeholder(value) and not is_masked(value):
            start = match.start("value") + match["value"].index(value)
            yield ("a password", start, start + len(value))
    if "\n" in text and ("# " in text or "**" in text or "__" in text):
        for match in _rule(_lines(_HEADING)).finditer(text):
            value = match["value"]
            usable = _usually_secret(match["name"]) and not is_placeholder(value)
            if usable and _good(match["name"], value, False, False):
                yield (kind_of(match["name"]), *match.span("value"))


_TWO_WORDS = re.compile(r"[:：=]\s{0,3}[A-Za-z]{3,20} \d{4}")
_POINTER = re.compile(rf"[【「『《〔](?:{_EAST}|[A-Za-z])|[\u2190-\u21ff\u2300-\u2bff\U0001f000-\U0001faff]")
_EAST_SIGNED = re.compile(rf"(?:{_EAST})[\u3400-\u9fff]{{0,12}}\s{{0,3}}[:：=]")
_PIN_SIGNED = re.compile(r"pin(?:[ _-]?code)?[\"'`*]{0,3}\s{0,3}(?:[:：=]|->|→|是|为|為)")
"""A text without these cannot match the slower rules above."""
_SQL_WORDS = re.compile(r"\b(?:user|role|login)\b")


def _lines(pattern: str) -> str:
    """The pattern with `^` and `$` matching at every line."""
    return f"(?m:{pattern})"


_COUNTED = "年月日号號位次个個天点點分秒岁歲"
"""After a number, these mean a count or a date, not a password: `密码是2024年改的`."""


def _value_of(match: re.Match[str], cautious: bool) -> tuple[int, int] | None:
    """The span of the value in `password=…`, `密码是…`; None if it is no value, as in `password: must not be empty`."""
    value, (start, end) = match["value"], match.span("value")
    bare = value.strip("\"'“”「」『』`*")
    if not bare or bare.startswith("[") or is_masked(bare):
        return None
    followed = end < len(match.string) and match.string[end] == " "
    if cautious:
        word = bare.isalpha() and bare.isascii() and bare.islower() and value == bare
        in_prose = word and "=" not in match["sign"] and match["sign"].strip() and followed
        return None if in_prose else (start, _end_of(match))
    start += value.index(bare)
    if (cut := _east_asian(bare)) >= 0:
        counted = bare[:cut].isdigit() and bare[cut] in _COUNTED
        bare, followed = "" if counted else bare[:cut], False
    bare = bare.rstrip(".!?:…`*")
    alone = bool(match["sign"].strip()) and not followed
    if " " in bare or is_placeholder(bare) or not _good(match["name"], bare, value[0] in "\"'“", alone):
        return None
    return start, (_end_of(match) if len(value) == _LONGEST_READ else start + len(bare))


def _end_of(match: re.Match[str]) -> int:
    """Where the value ends, even if it is longer than the part that was read."""
    more = _MORE.match(match.string, match.end()) if len(match["value"]) == _LONGEST_READ else None
    return more.end() if more else match.end()


def _good(name: str, bare: str, quoted: bool, alone: bool) -> bool:
    """Whether a value looks like a secret of this name.

    Args:
        alone: nothing follows it, so a word may be the value: `password: swordfish`, not `password: Alice has it`.
    """
    if not _PASSWORD.search(name.lower()):
        return _keylike(bare)
    if name.lower() == "pass":  # also what a test does
        return len(bare) >= 8 and "_" not in bare and _mixed(bare, 2) and _passwordlike(bare)
    return _passwordlike(bare) or (len(bare) >= 6 and (quoted or (alone and bare.isalpha())))


def _said(name: str, value: str) -> bool:
    """`the password for the router is X9-kitten`; not `the token is required`."""
    if is_placeholder(value) or is_masked(value) or _east_asian(value) >= 0:
        return False
    if name.startswith(("pin", "passcode")) and value.isdigit():
        return 4 <= len(value) <= 8
    if _PASSWORD.search(name):
        return _passwordlike(value) and not (value.isdigit() and len(value) < 6)
    return not name.startswith("pin") and _keylike(value)


def is_placeholder(value: str) -> bool:
    """Whether a text only stands for a value: a placeholder, a type, an expression."""
    plain = value.lower().strip("\"'`")
    return plain in _PLACEHOLDERS or len(set(plain)) < 3 or bool(_NO_VALUE.match(value))


def _passwordlike(value: str) -> bool:
    """Four digits or more, or six characters or more that are not all letters, and no words or measure."""
    if value.strip("#*").isdigit():  # `#7731*`, as on a keypad
        return 4 <= len(value) <= 32
    odd = any(not c.isalpha() for c in value.strip("-_.,:/"))
    hyphened = all(part.isalpha() for part in re.split(r"[-_/.,:'’]+", value) if part)
    return len(value) >= 6 and odd and not hyphened and not _MEASURE.match(value)


def _keylike(value: str) -> bool:
    """Eight characters or more, letters and digits mixed; not a measure, not words with numbers between them."""
    if len(value) < 8 or not _mixed(value, 2) or _MEASURE.match(value) or _east_asian(value) >= 0:
        return False
    parts = [part for part in re.split(r"[-_/.=+:~]+", value) if part]
    return any(len(part) >= 8 and _mixed(part, 2) for part in parts) or bool(_UUID.fullmatch(value))


def _east_asian(text: str) -> int:
    """The index of the first Chinese, Japanese or Korean character, or -1. (A pattern would cost 5 ms.)"""
    return next((at for at, character in enumerate(text) if character >= "\u2e80"), -1)


def _mixed(text: str, classes: int) -> bool:
    """Whether a text holds digits, and at least `classes` of digits, lower case and capitals."""
    digits = any(c.isdigit() for c in text)
    present = digits + any(c.islower() for c in text) + any(c.isupper() for c in text)
    return digits and present >= classes


def _is_base64(value: str) -> bool:
    """`dXNlcjpwYXNz`, as after `Basic`; capitals inside show that it is not a word."""
    return len(value) >= 12 and value[1:] != value[1:].lower() and value != value.upper() and "-" not in value


def is_masked(value: str) -> bool:
    return value.startswith("[redacted")


def kind_of(name: str) -> str:
    lowered = name.lower()
    if _PASSWORD.search(lowered):
        return "a password"
    if lowered.startswith("pin"):
        return "a PIN"
    return (
        "a key"
        if "key" in lowered or any(word in name for word in ("密钥", "密鑰", "秘钥", "金鑰", "私钥", "私鑰"))
        else "a token"
    )


def _by_chance(text: str, cautious: bool) -> Iterator[Span]:
    published = [match.span() for match in _PUBLISHED.finditer(text)] if "-----BEGIN " in text else []
    for match in _RUN.finditer(text):
        before = bisect_right(published, (match.start(), len(text)))
        if before and match.start() < published[before - 1][1]:
            continue
        if _random(match[0]) and (cautious or _unexpected(match)):
            yield ("a random key", *match.span())


def _unexpected(match: re.Match[str]) -> bool:
    """Whether a random run is not a hexadecimal number, not public, and not part of an address."""
    run = match[0]
    if not (_mixed(run, 3) and not (_PUBLIC.match(run) or _PUBLIC.match(run.lstrip("/")))):
        return False
    start = match.start() + len(run) - len(run.lstrip("/"))  # `ipfs://` ends in what a run may begin with
    return not _BEFORE_PUBLIC.search(match.string, max(0, start - 300), start)


def _random(run: str) -> bool:
    """Whether a run of letters and digits looks random. UUIDs are not secrets."""
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

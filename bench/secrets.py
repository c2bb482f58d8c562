"""How often the search for secrets is wrong: what it misses of made-up secrets, what it takes for one in ordinary text.

    python -m bench.secrets                  the made-up corpus
    python -m bench.secrets FILE-OR-FOLDER…  false alarms on your own text: JSONL (`text` or `content`), or text files

Where detect-secrets is installed it is measured on the same texts, with its named and keyword detectors; its entropy
detectors flag any word of an unquoted text.
"""

from __future__ import annotations

import base64
import json
import random
import string
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from memctl.core import sensitive

SEED = 20261121
ALNUM, HEX, URLSAFE = (
    string.ascii_letters + string.digits,
    "0123456789abcdef",
    string.ascii_letters + string.digits + "-_",
)

Draw = Callable[[random.Random], str]


def _run(alphabet: str, length: int) -> Draw:
    return lambda rng: "".join(rng.choice(alphabet) for _ in range(length))


def _after(prefix: str, alphabet: str, length: int) -> Draw:
    return lambda rng: prefix + _run(alphabet, length)(rng)


def _password(rng: random.Random) -> str:
    word = rng.choice(("Kitten", "winter", "Dragon", "tulip", "Falcon"))
    return f"{word}{rng.choice('!@_-$')}{rng.randrange(10, 9999)}"


def _jwt(rng: random.Random) -> str:
    body = (
        base64.urlsafe_b64encode(json.dumps({"sub": _run(HEX, 12)(rng), "admin": True}).encode()).decode().rstrip("=")
    )
    return f"eyJhbGciOiJIUzI1NiJ9.{body}.{_run(URLSAFE, 43)(rng)}"


FORMS: dict[str, Draw] = {
    "AWS access key": _after("AKIA", string.ascii_uppercase + string.digits, 16),
    "AWS secret key": _run(ALNUM + "+/", 40),
    "GitHub": _after("ghp_", ALNUM, 36),
    "GitHub, fine-grained": _after("github_pat_", ALNUM, 82),
    "GitLab": _after("glpat-", URLSAFE, 20),
    "OpenAI": lambda rng: f"sk-{_run(ALNUM, 20)(rng)}T3BlbkFJ{_run(ALNUM, 20)(rng)}",
    "OpenAI, project": _after("sk-proj-", URLSAFE, 60),
    "Anthropic": _after("sk-ant-api03-", URLSAFE, 93),
    "DeepSeek, DashScope": _after("sk-", HEX, 32),
    "Hugging Face": _after("hf_", string.ascii_letters, 34),
    "Google": _after("AIza", URLSAFE, 35),
    "Slack": lambda rng: f"xoxb-{rng.randrange(10**11, 10**12)}-{rng.randrange(10**11, 10**12)}-{_run(ALNUM, 24)(rng)}",
    "Stripe": _after("sk_live_", ALNUM, 24),
    "SendGrid": lambda rng: f"SG.{_run(URLSAFE, 22)(rng)}.{_run(URLSAFE, 43)(rng)}",
    "npm": _after("npm_", ALNUM, 36),
    "PyPI": _after("pypi-AgEIcHlwaS5vcmc", URLSAFE, 80),
    "Telegram": lambda rng: f"{rng.randrange(10**9, 10**10)}:{_run(URLSAFE, 35)(rng)}",
    "Discord": lambda rng: f"M{_run(ALNUM, 23)(rng)}.{_run(URLSAFE, 6)(rng)}.{_run(URLSAFE, 27)(rng)}",
    "Twilio": _after("SK", HEX, 32),
    "Mailchimp": lambda rng: f"{_run(HEX, 32)(rng)}-us{rng.randrange(1, 20)}",
    "Square": _after("sq0csp-", URLSAFE, 43),
    "Alibaba Cloud": _after("LTAI", ALNUM, 20),
    "JWT": _jwt,
    "private key": lambda rng: f"-----BEGIN RSA PRIVATE KEY-----\n{_run(ALNUM, 64)(rng)}\n-----END RSA PRIVATE KEY-----",
    "URL with a password": lambda rng: f"postgres://app:{_password(rng)}@db.example.com/orders",
    "GitLab, routable": lambda rng: f"glpat-{_run(URLSAFE, 27)(rng)}.01.{_run(ALNUM, 9)(rng).lower()}",
    "Zhipu": lambda rng: f"{_run(HEX, 32)(rng)}.{_run(ALNUM, 16)(rng)}",
    "LangSmith": lambda rng: f"lsv2_pt_{_run(HEX, 32)(rng)}_{_run(HEX, 10)(rng)}",
    "Terraform": lambda rng: f"{_run(ALNUM, 14)(rng)}.atlasv1.{_run(URLSAFE, 67)(rng)}",
    "Airtable": lambda rng: f"pat{_run(ALNUM, 14)(rng)}.{_run(HEX, 64)(rng)}",
    "Feishu webhook": lambda rng: f"https://open.feishu.cn/open-apis/bot/v2/hook/{_run(HEX, 36)(rng)}",
    "Azure storage": lambda rng: f"AccountKey={_run(ALNUM + '+/', 86)(rng)}==",
    "a random key": _run(ALNUM, 40),
}  # fmt: skip

CARRIERS = (
    "{}",
    "For the deploy use {} from now on.",
    "The one that works is {}, I tried it yesterday",
    "部署的时候用{}，别弄丢了。",
    'config = {{"value": "{}"}}',
)

SENTENCES: dict[str, str] = {
    "password: (English)": "password: {}",
    "my password is": "My password is {}.",
    "password for … is": "The wifi password for the office is {}",
    "in code": 'db_password = "{}"',
    "in an .env file": "DB_PASSWORD={}",
    "changed to": "I changed the wifi password to {} today",
    "label in Markdown": "**Password:** {}",
    "table in Markdown": "| password | {} |",
    "in XML": "<password>{}</password>",
    "in Go": 'password := "{}"',
    "option of a command": "mytool login --password {} --region eu",
    "curl": "curl -u admin:{} https://example.com/api",
    "sshpass": "sshpass -p '{}' ssh bob@host",
    "db_pass": "DB_PASS={}",
    "Passwort ist": "Das Passwort ist {}",
    "contraseña": "contraseña: {}",
    "パスワードは": "パスワードは{}です",
    "密码 without a sign": "WiFi密码{}",
    "账号，密码": "账号alice，密码 {}",
    "密码设置为": "把密码设置为{}了",
    "密碼是": "我的密碼是{}，別忘了",
    "密码是": "家里的WiFi密码是{}，记得告诉妈妈",
    "密码：": "数据库密码：{}",
}


def secret_texts(each: int = 20) -> dict[str, list[str]]:
    """Made-up secrets in sentences, by kind."""
    rng = random.Random(SEED)
    made = {kind: [rng.choice(CARRIERS).format(draw(rng)) for _ in range(each)] for kind, draw in FORMS.items()}
    in_sentences = {kind: [carrier.format(_password(rng)) for _ in range(each)] for kind, carrier in SENTENCES.items()}
    return made | in_sentences


WHO = ("Alice", "Clara", "Mr. Okafor", "小林", "我", "The team")
ORDINARY = (
    "{who} prefers assam tea in the morning", "{who} forgot the password again and had to reset it",
    "The secret of {who}'s bread is a slow rise", "{who} keeps the key under the pot: the blue one",
    "The access token expires after {n} minutes, says {who}", "max_tokens: {n}", "token_limit = {n}",
    "See https://example.com/docs/{hex}/page?id={uuid}", "commit {hex} fixed the build of {who}",
    "sha256:{hex64}", "mem_20250109_{hex12} supersedes mem_20250108_{hex12}", "request id {uuid}, tool call_{alnum24}",
    "Basic qualifications: {n} years of work", "Cookies: {n} sheets of dough", "Signature: by {who}, on paper",
    "{who}的密码锁坏了", "验证码一直收不到", "密码是他女儿的生日", "密码至少{n}位，要有数字", "口令是什么，{who}忘了",
    "The PIN is needed for payments over {n} euro", "Password: must not be empty", "password: string, required",
    "api_key: str = os.environ['KEY']", "API key is 32 characters long", "export TOKEN=${{CI_JOB_TOKEN}}",
    "qwen2-vl-7b-instruct-awq-int4-w8a8", "/home/{who}/projects/memctl-2024/tests/test_payment_settlement_2024.py",
    "Phone {n}{n}, flight LH{n}, order 4711-{n}", "ISBN 978-3-16-148410-0", "https://youtu.be/dQw4w9WgXcQ",
    "SHA256:{alnum44} is the host's fingerprint", "utils.py,sha256={alnum44},1532", "next_page_token: CAUQAA{n}x{n}",
    "Change the password to something new every {n} days", "密码是2024年改的", "密码用SHA256加密", "password: !vault |",
    "The file must begin with -----BEGIN RSA PRIVATE KEY-----", "docker login --password-stdin registry{n}.example.com",
    "Boarding pass: seat {n}A, gate B{n}", "| password | required |", "cachet: {hex}, token limit {n}",
    "https://docs.google.com/document/d/{alnum44}/edit", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{alnum44} {who}@host",
)  # fmt: skip


def ordinary_texts(each: int = 50) -> list[str]:
    """Made-up text that holds no secret, much of it close to one."""
    rng = random.Random(SEED)
    lengths = {"hex": (HEX, 40), "hex64": (HEX, 64), "hex12": (HEX, 12), "alnum24": (ALNUM, 24), "alnum44": (ALNUM, 44)}
    made = []
    for text in ORDINARY:
        for _ in range(each):
            runs = {name: _run(*how)(rng) for name, how in lengths.items()}
            uuid = "-".join(_run(HEX, length)(rng) for length in (8, 4, 4, 4, 12))
            made.append(text.format(who=rng.choice(WHO), n=rng.randrange(2, 999), uuid=uuid, **runs))
    return made


def texts_of(path: Path) -> Iterator[str]:
    """Texts of a file, or of all files below a folder."""
    if path.is_dir():
        for each in sorted(path.rglob("*")):
            if each.is_file():
                yield from texts_of(each)
        return
    try:
        data = path.read_text("utf-8")
    except (UnicodeDecodeError, OSError):
        return
    if path.suffix != ".jsonl":
        yield from (part for part in data.split("\n\n") if part.strip())
        return
    for line in data.splitlines():
        value = json.loads(line)
        yield str(value.get("text") or value.get("content") or "")


def detect_secrets() -> Callable[[str], bool] | None:
    """detect-secrets on one text, where it is installed."""
    try:
        from detect_secrets.core import scan
        from detect_secrets.settings import configure_settings_from_baseline
    except ImportError:
        return None
    left_out = {"Base64HighEntropyString", "HexHighEntropyString", "IPPublicDetector"}
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    names = {plugin.__name__ for plugin in get_mapping_from_secret_type_to_class().values()} - left_out
    configure_settings_from_baseline({"plugins_used": [{"name": name} for name in sorted(names)]})
    return lambda text: any(next(iter(scan.scan_line(line)), None) for line in text.splitlines())


def share(name: str, texts: Sequence[str], find: Callable[[str], bool]) -> tuple[int, float]:
    """How many texts hold something, and how long one takes."""
    begun = time.perf_counter()
    hits = sum(find(text) for text in texts)
    return hits, (time.perf_counter() - begun) / max(len(texts), 1) * 1e6


def main(paths: Sequence[str]) -> None:
    ways: dict[str, Callable[[str], bool]] = {"memctl": lambda text: bool(sensitive.secrets_in(text))}
    if other := detect_secrets():
        ways["detect-secrets"] = other
    if paths:
        corpora = {path: list(texts_of(Path(path))) for path in paths}
    else:
        corpora = {"made-up ordinary text": ordinary_texts()}
    print("false alarms")
    for name, texts in corpora.items():
        for way, find in ways.items():
            hits, each = share(name, texts, find)
            print(f"  {name:32} {way:15} {hits:5} of {len(texts):6,} texts   {each:7.0f} µs each")
    if paths:
        for name, texts in corpora.items():
            shown = [text for text in texts if sensitive.secrets_in(text)][:10]
            for text in shown:
                print(f"  {name}: {sensitive.masked(text)[:200]!r}")
        return
    print("found of made-up secrets")
    for kind, texts in secret_texts().items():
        shares = "   ".join(f"{way} {share(kind, texts, find)[0]:2}" for way, find in ways.items())
        print(f"  {kind:24} of {len(texts)}   {shares}")
    everything = [text for texts in secret_texts().values() for text in texts]
    for way, find in ways.items():
        print(f"  all: {way} {share('', everything, find)[0]} of {len(everything)}")


if __name__ == "__main__":
    main(sys.argv[1:])

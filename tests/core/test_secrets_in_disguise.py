"""Secrets in other letters, in wrappings of programs and parted over lines are found and masked where they stand."""

from __future__ import annotations

import pytest
from conftest import cases
from hypothesis import given
from hypothesis import strategies as st

from bench.secrets import secret_texts
from memctl.core import sensitive

DISGUISED = [
    ('{"body": "{\\"password\\": \\"Zebra-4471\\"}"}', 'Zebra-4471'),
    ('{"a":"{\\"b\\":\\"{\\\\\\"api_key\\\\\\":\\\\\\"Zq81kdLw02mX\\\\\\"}\\"}"}', 'Zq81kdLw02mX'),
    ('log: "payload={\\"user\\":\\"bob\\",\\"secret\\":\\"hunter22!\\"}"', 'hunter22!'),
    ('{\\"token\\":\\"9f8e7d6c5b4a3210\\"}', '9f8e7d6c5b4a3210'),
    ('"{\\u0022password\\u0022:\\u0022Zebra4471\\u0022}"', 'Zebra4471'),
    ('{&quot;password&quot;: &quot;Zebra4471&quot;}', 'Zebra4471'),
    ('password%3DZebra4471%26user%3Dbob', 'Zebra4471'),
    ('https://x.example.com/cb?user=bob&password=Zebra4471&x=1', 'Zebra4471'),
    ('env: DB_PASSWORD=\\"Zebra4471\\"', 'Zebra4471'),
    ('db.example.com:5432:orders:app:Zebra_4471', 'Zebra_4471'),
    ('*:*:*:postgres:Pg-secret-99', 'Pg-secret-99'),
    ('localhost:5433:*:bob:q8Lm!27xz', 'q8Lm!27xz'),
    ('bob:$apr1$r31.....$HqJZimcKQFAMYayBlzkrA/', 'HqJZimcKQFAMYayBlzkrA'),
    ('alice:$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC', 'c4WoMPo3SXsafkva'),
    ('root:$6$rounds=5000$saltsalt$hGxMqxn8Wr7oboPiC2bTr7q1BB8I2s0BRqCc4WoMPo3SXsafkvaHHa6uXQZ:19000:0:99999:7:::', 'hGxMqxn8Wr7oboPi'),
    ('carol:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=', 'W6ph5Mm5Pz8GgiULbPgzG37mj9g'),
    ('$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b9dWRWJTmaaJObG', 'RdescudvJCsgt3ub'),
    ('machine api.example.com\n  login bob\n  password Zebra4471', 'Zebra4471'),
    ('[client]\nuser = root\npassword = Zebra4471', 'Zebra4471'),
    ('spring.datasource.password=Zebra4471', 'Zebra4471'),
    ('otpauth://totp/ACME:bob?secret=JBSWY3DPEHPK3PXP&issuer=ACME', 'JBSWY3DPEHPK3PXP'),
    ('TOTP secret JBSWY3DPEHPK3PXP', 'JBSWY3DPEHPK3PXP'),
    ('My 2FA secret is JBSW Y3DP EHPK 3PXP', 'JBSW Y3DP EHPK 3PXP'),
    ('the authenticator seed: GEZDGNBVGY3TQOJQ', 'GEZDGNBVGY3TQOJQ'),
    ('两步验证密钥 JBSWY3DPEHPK3PXP', 'JBSWY3DPEHPK3PXP'),
    ('client_secret: 7dQ8~kLm2.Wp_4ZxR9tYvB1nC6sE3uG5aHj', '7dQ8~kLm2'),
    ('Use ghp_a1B2c3D4e5F6g7H8i9J0\nk1L2m3N4o5P6q7R8 for deploying', 'k1L2m3N4o5P6q7R8'),
    ('Use ghp_a1B2c3D4e5F6g7H8i9J0-\nk1L2m3N4o5P6q7R8 now', 'k1L2m3N4o5P6q7R8'),
    ('key: AKIAQ3EGRP\n     J7TZX4K2WM', 'J7TZX4K2WM'),
    ('> ghp_a1B2c3D4e5F6\n> g7H8i9J0k1L2m3N4\n> o5P6q7R8', 'o5P6q7R8'),
    ('export TOKEN=ghp_a1B2c3D4e5F6g7H8\\\ni9J0k1L2m3N4o5P6q7R8', 'i9J0k1L2m3N4o5P6q7R8'),
    ('token = "ghp_a1B2c3D4e5F6g7H8" \\\n "i9J0k1L2m3N4o5P6q7R8"', 'i9J0k1L2m3N4o5P6q7R8'),
    ("token = 'ghp_a1B2c3D4e5F6' + 'g7H8i9J0k1L2m3N4o5P6q7R8'", 'g7H8i9J0k1L2m3N4o5P6q7R8'),
    ('password:\nZebra-4471', 'Zebra-4471'),
    ('The password is\n\nZebra-4471', 'Zebra-4471'),
    ('密码：\nZebra4471', 'Zebra4471'),
    ('ｐａｓｓｗｏｒｄ：Ｚｅｂｒａ４４７１', 'Ｚｅｂｒａ４４７１'),
    ('password: Ｚｅｂｒａ４４７１', 'Ｚｅｂｒａ４４７１'),
    ('密码是Ｚｅｂｒａ４４７１', 'Ｚｅｂｒａ４４７１'),
    ('pаssword: Zebra4471', 'Zebra4471'),
    ('раssword: Zebra4471', 'Zebra4471'),
    ('ѕесrеt = Zebra4471', 'Zebra4471'),
    ('ΑPI_KEY=9f8e7d6c5b4a3210', '9f8e7d6c5b4a3210'),
    ('pass\u200bword: Zebra4471', 'Zebra4471'),
    ('ghp_a1B2c3D4e5\u200bF6g7H8i9J0k1L2m3N4o5P6q7R8', 'F6g7H8i9J0k1L2m3'),
    ('gh\xadp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8', 'a1B2c3D4e5F6'),
    ('𝗽𝗮𝘀𝘀𝘄𝗼𝗿𝗱: Zebra4471', 'Zebra4471'),
    ('p@ssw0rd: Zebra4471', 'Zebra4471'),
    ('my p@ssword is Zebra4471', 'Zebra4471'),
    ('pa$$word = Zebra4471', 'Zebra4471'),
    ('P4SSW0RD=Zebra4471', 'Zebra4471'),
    ('s3cr3t: Zebra4471x', 'Zebra4471x'),
    ('t0k3n=9f8e7d6c5b4a3210', '9f8e7d6c5b4a3210'),
    ('p a s s w o r d : Zebra4471', 'Zebra4471'),
    ('The password is p@ssw0rd', 'p@ssw0rd'),
    ('password: >-\n  Zebra-4471', 'Zebra-4471'),
    ('db:\n  password: |\n    Zebra-4471\n  port: 5432', 'Zebra-4471'),
    ('api_key: >\n   9f8e7d6c5b4a3210\n', '9f8e7d6c5b4a3210'),
    ('password: !!str Zebra-4471', 'Zebra-4471'),
    ('? password\n: Zebra-4471', 'Zebra-4471'),
    ('token:\n  - 9f8e7d6c5b4a3210', '9f8e7d6c5b4a3210'),
    ('- name: DB_PASSWORD\n  value: Zebra-4471', 'Zebra-4471'),
    ('{"name": "DB_PASSWORD", "value": "Zebra-4471"}', 'Zebra-4471'),
    ('data:\n  password: WmVicmEtNDQ3MQ==', 'WmVicmEtNDQ3MQ=='),
    ('| user | password |\n|------|----------|\n| bob  | Zebra4471 |', 'Zebra4471'),
    ('| Service | Login | Passwort |\n|:--|:-:|--:|\n| mail | bob | Zebra4471 |\n| vpn | bob | Tiger-9902 |', 'Tiger-9902'),
    ('| 账号 | 密码 |\n| --- | --- |\n| alice | Zebra4471 |', 'Zebra4471'),
    ('host | api key\n--- | ---\nx.example.com | 9f8e7d6c5b4a3210', '9f8e7d6c5b4a3210'),
    ('name,password,role\nbob,Zebra4471,admin', 'Zebra4471'),
    ('user\tpassword\nbob\tZebra4471', 'Zebra4471'),
    ('<tr><th>user</th><th>password</th></tr>\n<tr><td>bob</td><td>Zebra4471</td></tr>', 'Zebra4471'),
    ('Mein Kennwort lautet Zebra-4471.', 'Zebra-4471'),
    ('la clave del wifi es Zebra4471', 'Zebra4471'),
    ('la password del wifi è Zebra4471', 'Zebra4471'),
    ('hasło: Zebra4471', 'Zebra4471'),
    ('şifre: Zebra4471', 'Zebra4471'),
    ('heslo je Zebra4471', 'Zebra4471'),
    ('mật khẩu: Zebra4471', 'Zebra4471'),
    ('كلمة المرور: Zebra4471', 'Zebra4471'),
    ('סיסמה: Zebra4471', 'Zebra4471'),
    ('पासवर्ड: Zebra4471', 'Zebra4471'),
    ('เสผ่านรหัสผ่าน: Zebra4471', 'Zebra4471'),
    ('Пароль от вайфая — Zebra4471', 'Zebra4471'),
    ('пароль Zebra4471', 'Zebra4471'),
    ('lösenord: Zebra4471', 'Zebra4471'),
    ('salasana on Zebra4471', 'Zebra4471'),
    ('palavra-passe: Zebra4471', 'Zebra4471'),
    ('κωδικός: Zebra4471', 'Zebra4471'),
    ('暗証番号は４８２９１３です', '４８２９１３'),
    ('パスワードは「Ｚｅｂｒａ４４７１」です', 'Ｚｅｂｒａ４４７１'),
    ('WiFi的密码：Zebra4471', 'Zebra4471'),
    ('密 码：Zebra4471', 'Zebra4471'),
    ('口令→Zebra4471', 'Zebra4471'),
    ('pass: hunter2Xy', 'hunter2Xy'),
    ('pаss: hunter2Xy', 'hunter2Xy'),
    ('AKIAIOSFODNN\n7EXAMPLE', '7EXAMPLE'),
    ('key AKIA\nIOSFODNN7EXAMPLE now', 'IOSFODNN7EXAMPLE'),
    ('口令：芝麻开门88Xx', '芝麻开门88Xx'),
    ('p@ssw0rd for the router: Kumo2291', 'Kumo2291'),
    ('门禁密码：#7731*', '#7731'),
    ('{"name":"password","value":"Kumo2291"}', 'Kumo2291'),
    ('{"key": "db_password", "type": "text", "enabled": true, "value": "Kumo2291"}', 'Kumo2291'),
    ('{"value":"Kumo2291","name":"password"}', 'Kumo2291'),
    ("CREATE USER u IDENTIFIED BY 'tiger'", 'tiger'),
    ("CREATE USER 'u'@'%' IDENTIFIED WITH mysql_native_password BY 'Kumo-2291';", 'Kumo-2291'),
    ("ALTER ROLE app WITH LOGIN PASSWORD 'tiger'", 'tiger'),
    ("SET PASSWORD FOR 'u'@'%' = 'Kumo2291'", 'Kumo2291'),
    ('DB_PASSWORD: "${X:-Kumo2291}"', 'Kumo2291'),
    ('DB_PASSWORD=${X:-Kumo2291}', 'Kumo2291'),
    ('password: &a Kumo2291', 'Kumo2291'),
    ('## password\n\nKumo2291', 'Kumo2291'),
    ('# Passwort\nKumo2291\n', 'Kumo2291'),
    ('### 密码\n\n`Kumo2291`', 'Kumo2291'),
    ('## WiFi password\n\n```text\nKumo2291\n```', 'Kumo2291'),
    ('**password**\nKumo2291', 'Kumo2291'),
    ('【密码】Kumo2291', 'Kumo2291'),
    ('密码：kumo 2291', 'kumo 2291'),
    ('密码👉Kumo2291', 'Kumo2291'),
    ('password 👉 Kumo2291', 'Kumo2291'),
    ('password ➡️ Kumo2291', 'Kumo2291'),
    ('密碼 係 Kumo2291', 'Kumo2291'),
    ('开机密码还是老样子：Kumo2291', 'Kumo2291'),
    ('PIN: 4821', '4821'),
    ('pin=4821', '4821'),
    ('{"pin": 4821}', '4821'),
    ('requirepass Kumo2291', 'Kumo2291'),
    ('port 6379\nrequirepass foobared\n', 'foobared'),
    ('CONFIG SET requirepass Kumo', 'Kumo'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "held"), DISGUISED)
def test_a_disguised_secret_is_masked(text: str, held: str) -> None:
    shown = sensitive.masked(text)
    assert held not in shown
    assert "[redacted " in shown
    assert sensitive.masked(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("用ｐａｓｓｗｏｒｄ：Ｚｅｂｒａ４４７１，别忘了", "用ｐａｓｓｗｏｒｄ：[redacted password]，别忘了"),
        ("the p\u200ba\u0301ssw\u043erd: Zebra4471 is caf\u00e9", "the p\u200ba\u0301ssw\u043erd: [redacted password] is caf\u00e9"),
        ('{"body": "{\\"password\\": \\"Zebra-4471\\"}", "é": 1}', '{"body": "{\\"password\\": \\"[redacted password]\\"}", "é": 1}'),
        ("use ghp_a1B2c3D4e5F6g7H8i9J0\nk1L2m3N4o5P6q7R8 now", "use [redacted GitHub token] now"),
        ("ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\nand then", "[redacted GitHub token]\nand then"),
        ("| user | password |\n|---|---|\n| bob | Zebra4471 |\n\nend", "| user | password |\n|---|---|\n| bob | [redacted password] |\n\nend"),
        ("p@ssw0rd: Zebra4471", "p@ssw0rd: [redacted password]"),
        ("password: >-\n  Zebra-4471\nnext: 1", "password: >-\n  [redacted password]\nnext: 1"),
    ],
)  # fmt: skip
def test_the_mask_stands_where_the_secret_stood(text: str, shown: str) -> None:
    assert sensitive.masked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "| password | required |\n|---|---|\n| yes | no |", "| key | meaning |\n| --- | --- |\n| model | the name of the model |",
        "name,key,value\nbob,blue,12", "at 10:30:15:20 we met", "10.0.0.1:8080:a:b:c", "the token is\nnot needed", "password: >-\n  must not be empty",
        "the TOTP code changes every 30 seconds", "2FA is REQUIRED for ADMINISTRATORS", "MFA: see NOTICE ABOUT SAFE USES", "s3 bucket: photos2024",
        "пароль забыт в 2024 году", "Пароль от Wi-Fi на холодильнике", "la clave del éxito es trabajar", "she has 2 passports: one blue", "clave: de sol",
        "[登录密码](https://example.com/a1b2c3)", 'pass: 12 tests', 'Result: pass: all_tests_1', 'shipping: 4821', 'GPIO pin: 17', 'the secret to success: work hard', '【忘记密码】iPhone15 怎么办', '忘记密码的解决办法：iPhone15', '密码学习资料：CS101abc', '密码：请联系IT部门', '密码：采用SHA256', '密码：长度8-16位', 'password: changed 2024', '# Password\n\nMust have 8 characters', '## Password policy\n\nnone-2024', "The bug was identified by 'Anna-22'", 'requirepass is a setting', '# Token\n\nJWT', '${HOME:-/root}', 'PIN: 2024年', 'password → reset it', "CREATE USER u IDENTIFIED BY 'password'", '{"name":"password","type":"string","value":"string"}', '{"name":"token","value":"blue"}', 'password for the demo: ask Anna', '**Password**\n2024-01-01', '- [x] password ✅ 2024-01-01', 'AKIA\nASIA\nare prefixes',
        r'{\"name\": \"token\", \"value\": \"none\"}', "name: KEY\nvalue: blue", "AKIA\nis a prefix of keys", "sk-learn\nand numpy2 are installed",
        "κωδικός πρόσβασης", "パスワードを忘れました２０２４", "ｗｉｄｅ　ｌｅｔｔｅｒｓ：ｏｎｅ２３", "$6 a kilo, $5 a pound", "f%3Dma", "costs $1$2",
    ],
)  # fmt: skip
def test_what_is_close_to_a_disguised_secret_and_is_none(text: str) -> None:
    assert sensitive.secrets_in(text) == []


def test_a_value_beside_its_name_is_masked_in_json_values() -> None:
    value = {"env": [{"name": "DB_PASSWORD", "value": "swordfish"}, {"name": "Secret Garden", "value": "music"}]}
    shown = {
        "env": [{"name": "DB_PASSWORD", "value": "[redacted password]"}, {"name": "Secret Garden", "value": "music"}]
    }
    assert sensitive.masked_value(value) == shown
    assert [kind for kind, _ in sensitive.in_value(value)] == ["a password"]
    assert list(sensitive.in_value(shown)) == []


WIDE = {ord(plain): chr(ord(plain) + 0xFEE0) for plain in map(chr, range(0x21, 0x7F))}
MADE = [text for texts in secret_texts(2).values() for text in texts if "PRIVATE KEY" not in text and "://" not in text]


@given(st.sampled_from(MADE), st.data())
@cases(100)
def test_wide_letters_and_invisible_ones_hide_nothing(text: str, data: st.DataObject) -> None:
    whole = sensitive.secrets_in(text)
    wide = "".join(letter.translate(WIDE) if data.draw(st.booleans()) else letter for letter in text)
    assert [(one.start, one.end) for one in sensitive.secrets_in(wide)] == [(one.start, one.end) for one in whole]
    at = data.draw(st.integers(0, len(text)))
    hidden = sensitive.masked(text[:at] + data.draw(st.sampled_from("\u200b\u00ad\u2060\ufe0f\u034f")) + text[at:])
    assert all(text[one.start : one.end] not in hidden for one in whole)

"""The shipped embedder: same bits on every path, meaning kept, broken files refused."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
from operator import add
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from memctl.errors import ProviderError
from memctl.providers.builtin import (
    BIAS,
    CHINESE_FILE,
    DATA,
    DIMENSIONS,
    HEADER,
    MAX_CHARACTERS,
    ROWS_FILE,
    VOCABULARY_FILE,
    BuiltinEmbedder,
)

TEXTS = [
    "Alice prefers tea to coffee",
    "",
    "Zażółć gęślą jaźń, naïve café — 東京で会いましょう 🎉",
    "The deployment failed because the database migration timed out after 30s.\n\n* retry\n* alert",
    "[PAD] [UNK] [CLS] are not special in a memory",
    "用 PostgreSQL 部署，周末去上海看朋友。",
]
ZEROS = [0] * DIMENSIONS

PARAPHRASES = [
    ("Alice prefers tea to coffee", "Which hot drink does Alice like best?", "The server runs on port 8080"),
    ("My dog is called Rex", "What is the name of the user's pet?", "The invoice is due in March"),
    ("The build fails with a compiler error", "Compilation broke", "We ate pasta in Rome"),
    ("She moved to Paris last summer", "When did she relocate to France?", "The tests run in parallel"),
    ("He is a physician at the hospital", "The doctor works in a clinic", "Python has a garbage collector"),
    ("我对海鲜过敏", "我吃不了虾和螃蟹", "服务器昨天重启了"),
    ("他上周搬到了上海", "他现在住在哪个城市？", "猫在沙发上睡觉"),
    ("我养了一只狗", "I have a dog", "The invoice is due in March"),
]


@pytest.fixture(scope="module")
def embedder() -> BuiltinEmbedder:
    return BuiltinEmbedder()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with copies of the data files."""
    for name in (ROWS_FILE, VOCABULARY_FILE, CHINESE_FILE):
        shutil.copyfile(DATA / name, tmp_path / name)
    return tmp_path


def naive_sum(text: str) -> list[int]:
    """The sum of the token rows, read byte by byte as the module's docstring lays them out."""
    tokenizer = Tokenizer(models.WordPiece.from_file(str(DATA / VOCABULARY_FILE), unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    data = (DATA / ROWS_FILE).read_bytes()
    total = ZEROS
    chinese = "|".join(sorted((DATA / CHINESE_FILE).read_text("utf-8").split(), key=len, reverse=True))
    words = [tokenizer.get_vocab_size() + _place(word) for word in re.findall(chinese, text)]
    for token in [*tokenizer.encode(re.sub("[\u4e00-\u9fff]+", " ", text)).ids, *words]:
        start = HEADER.size + token * DIMENSIONS
        row = [byte - BIAS for byte in data[start : start + DIMENSIONS]]
        total = list(map(add, total, row[0::2] + row[1::2]))
    return total


def _place(word: str) -> int:
    return (DATA / CHINESE_FILE).read_text("utf-8").split().index(word)


def cosine(a: list[int], b: list[int]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def flip_byte(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


def test_one_text_gives_the_same_bits_as_in_a_batch(embedder: BuiltinEmbedder) -> None:
    assert embedder.embed(TEXTS) == [embedder.embed([text])[0] for text in TEXTS]


def test_a_fresh_embedder_gives_the_same_bits(embedder: BuiltinEmbedder) -> None:
    assert BuiltinEmbedder().embed(TEXTS[::-1]) == embedder.embed(TEXTS)[::-1]


@pytest.mark.parametrize("text", TEXTS)
def test_the_vector_is_the_sum_of_the_token_rows(embedder: BuiltinEmbedder, text: str) -> None:
    assert embedder.embed([text])[0] == naive_sum(text)


@pytest.mark.parametrize("count", [255, 256, 257, 258, 512, 513, 1000])
def test_long_texts_do_not_overflow(embedder: BuiltinEmbedder, count: int) -> None:
    assert embedder.embed(["zebra " * count])[0] == [count * x for x in embedder.embed(["zebra"])[0]]


def test_a_long_mixed_text_equals_the_naive_sum(embedder: BuiltinEmbedder) -> None:
    text = " ".join(f"word{n} tea {n}" for n in range(300))
    assert embedder.embed([text])[0] == naive_sum(text)


@pytest.mark.parametrize("extreme", [0, 255])
def test_lanes_hold_the_most_extreme_rows(copied: Path, extreme: int) -> None:
    rows = copied / ROWS_FILE
    data = rows.read_bytes()
    rows.write_bytes(data[: HEADER.size] + bytes([extreme]) * (len(data) - HEADER.size))
    assert BuiltinEmbedder(copied).embed(["a " * 256]) == [[256 * (extreme - BIAS)] * DIMENSIONS]


@pytest.mark.parametrize(("text", "close", "far"), PARAPHRASES)
def test_a_paraphrase_is_nearer_than_another_subject(
    embedder: BuiltinEmbedder, text: str, close: str, far: str
) -> None:
    a, b, c = embedder.embed([text, close, far])
    assert cosine(a, b) > cosine(a, c) + 0.1


@pytest.mark.parametrize("text", ["", " \n\t", "\x00", "🎉🎉", "x" * 101])
def test_no_known_token_gives_zeros(embedder: BuiltinEmbedder, text: str) -> None:
    assert embedder.embed([text]) == [ZEROS]


def test_no_texts_give_no_vectors(embedder: BuiltinEmbedder) -> None:
    assert embedder.embed([]) == []


def test_lone_surrogates_are_left_out(embedder: BuiltinEmbedder) -> None:
    assert embedder.embed(["te\ud800a\udfff", "\ud83d"]) == [embedder.embed(["tea"])[0], ZEROS]


def test_only_the_beginning_of_a_huge_text_counts(embedder: BuiltinEmbedder) -> None:
    text = "green tea " * 100_000
    assert embedder.embed([text]) == embedder.embed([text[:MAX_CHARACTERS]])


def test_the_shipped_files_are_intact(embedder: BuiltinEmbedder) -> None:
    embedder.verify()


@pytest.mark.parametrize(
    ("name", "offset"), [(ROWS_FILE, 22), (ROWS_FILE, 5_000_000), (VOCABULARY_FILE, 100_000), (CHINESE_FILE, 5_001)]
)
def test_verify_rejects_a_flipped_byte(copied: Path, name: str, offset: int) -> None:
    flip_byte(copied / name, offset)
    with pytest.raises(ProviderError, match="checksum"):
        BuiltinEmbedder(copied).verify()


@pytest.mark.parametrize("content", [b"", b"short", bytes(1000)])
def test_another_file_is_refused(copied: Path, content: bytes) -> None:
    (copied / ROWS_FILE).write_bytes(content)
    with pytest.raises(ProviderError):
        BuiltinEmbedder(copied)


@pytest.mark.parametrize("name", [ROWS_FILE, VOCABULARY_FILE, CHINESE_FILE])
def test_a_missing_file_is_named(copied: Path, name: str) -> None:
    (copied / name).unlink()
    with pytest.raises(ProviderError, match=name) as caught:
        BuiltinEmbedder(copied)
    assert caught.value.hint


def test_the_identity_follows_the_digest(embedder: BuiltinEmbedder, copied: Path) -> None:
    assert BuiltinEmbedder(copied).identity == embedder.identity
    flip_byte(copied / ROWS_FILE, HEADER.size - 32)
    assert BuiltinEmbedder(copied).identity != embedder.identity


def test_embedding_loads_no_numpy_and_constructing_no_tokenizers() -> None:
    code = (
        "import sys; from memctl.providers.builtin import BuiltinEmbedder; embedder = BuiltinEmbedder();"
        "assert 'tokenizers' not in sys.modules; embedder.embed(['tea']);"
        "print({'numpy', 'onnxruntime', 'fastembed', 'huggingface_hub'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("set()\n", "")

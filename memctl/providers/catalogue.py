"""Recommended models with their languages, size, weights and published figures.

The published figures were not measured here; `docs/models.md` says what was. A test compares names, lengths
and sizes with fastembed's own list.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from memctl.providers.model_files import PREFIX, is_folder

SENTENCE, STATIC, RERANKER = KINDS = ("sentence", "static", "reranker")
"""A sentence model reads a whole text; a static model adds up word vectors, a hundred times faster; a reranker reads
a question together with a candidate."""

SERVER = "server"
"""The reranker on a server; `server:MODEL` if the server has several."""

WEIGHTS = {SENTENCE: (0.4, 0.6), STATIC: (0.5, 0.5)}
"""Weights of full text and vectors, as measured for all-MiniLM-L6-v2 and for the built-in model."""


@dataclass(frozen=True)
class Model:
    """One of fastembed's models.

    Args:
        dimensions: length of its vectors; 0 for a reranker.
        megabytes: size of the download.
        published: its authors' retrieval figure with the benchmark's name; may be empty.
        note: other reasons for or against it.
    """

    name: str
    kind: str
    languages: str
    dimensions: int
    megabytes: int
    published: str = ""
    note: str = ""


_MTEB, _BEIR = "MTEB retrieval", "BEIR"

MODELS = (
    Model("sentence-transformers/all-MiniLM-L6-v2", SENTENCE, "English", 384, 90, f"{_MTEB} 42.0", "small and fast"),
    Model("BAAI/bge-small-en-v1.5", SENTENCE, "English", 384, 67, f"{_MTEB} 51.7", "the one to try first"),
    Model("snowflake/snowflake-arctic-embed-xs", SENTENCE, "English", 384, 90, f"{_MTEB} 50.2"),
    Model("snowflake/snowflake-arctic-embed-s", SENTENCE, "English", 384, 130, f"{_MTEB} 52.0"),
    Model("BAAI/bge-base-en-v1.5", SENTENCE, "English", 768, 210, f"{_MTEB} 53.3"),
    Model("snowflake/snowflake-arctic-embed-m", SENTENCE, "English", 768, 430, f"{_MTEB} 54.9"),
    Model("mixedbread-ai/mxbai-embed-large-v1", SENTENCE, "English", 1024, 640, f"{_MTEB} 54.4", "slow on a CPU"),
    Model("BAAI/bge-large-en-v1.5", SENTENCE, "English", 1024, 1200, f"{_MTEB} 54.3", "slow on a CPU"),
    Model("BAAI/bge-small-zh-v1.5", SENTENCE, "Chinese", 512, 90, "C-MTEB retrieval 61.8", "the one for Chinese"),
    Model("jinaai/jina-embeddings-v2-base-zh", SENTENCE, "Chinese, English", 768, 640, "", "texts in both"),
    Model(
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", SENTENCE, "about 50", 384, 220, "",
        "trained for sentence similarity, not for questions",
    ),
    Model("intfloat/multilingual-e5-large", SENTENCE, "about 100", 1024, 2240, "MIRACL about 66", "slow on a CPU"),
    Model("minishlab/potion-base-8M", STATIC, "English", 256, 30, f"{_MTEB} 31.7"),
    Model("minishlab/potion-retrieval-32M", STATIC, "English", 512, 129, f"{_MTEB} 35.1"),
    Model("minishlab/potion-multilingual-128M", STATIC, "about 100", 256, 512, "", "other languages at little cost"),
    Model("Xenova/ms-marco-MiniLM-L-6-v2", RERANKER, "English", 0, 80, f"{_BEIR} 48.6", "the one to try first"),
    Model("Xenova/ms-marco-MiniLM-L-12-v2", RERANKER, "English", 0, 120, "", "no better than L-6, say its authors"),
    Model("jinaai/jina-reranker-v1-tiny-en", RERANKER, "English", 0, 130, f"{_BEIR} 48.5", "four layers; long texts"),
    Model("jinaai/jina-reranker-v1-turbo-en", RERANKER, "English", 0, 150, f"{_BEIR} 49.6", "six layers; long texts"),
    Model("BAAI/bge-reranker-base", RERANKER, "Chinese, English", 0, 1040),
    Model("BAAI/bge-reranker-v2-m3", RERANKER, "about 100", 0, 2270, f"{_BEIR} 53.7", "slow on a CPU"),
    Model("BAAI/bge-reranker-v2-m3-int8", RERANKER, "about 100", 0, 570, "", "the same, quantised"),
    Model(
        "jinaai/jina-reranker-v2-base-multilingual", RERANKER, "multilingual", 0, 1110, f"{_BEIR} 53.2",
        "not for commercial use",
    ),
)  # fmt: skip


def find(model: str) -> Model | None:
    """The model with this fastembed name, ignoring case."""
    return next((known for known in MODELS if known.name.lower() == model.lower()), None)


def weights(model: str) -> tuple[float, float]:
    """Weights of full text and vectors for one of fastembed's models or a local folder."""
    known = find(model)
    return WEIGHTS[known.kind if known and known.kind in WEIGHTS else SENTENCE]


def languages_of(model: str) -> frozenset[str]:
    """`en` for one of fastembed's models that is known to be only for English; empty for any other."""
    known = find(model)
    return frozenset({"en"}) if known is not None and known.languages == "English" else frozenset()


def is_reranker(name: str) -> bool:
    """Whether a name in the settings names a reranker; for a local folder, `config.json` decides."""
    kind, _, model = name.partition(":")
    if not name.startswith(PREFIX):
        return kind == SERVER
    known = find(model)
    return _classifies(Path(model).expanduser()) if is_folder(model) else known is not None and known.kind == RERANKER


def _classifies(folder: Path) -> bool:
    """Whether a folder holds a cross-encoder, which scores a text, rather than an embedding model."""
    try:
        architectures = json.loads((folder / "config.json").read_bytes()).get("architectures", [])
        return any("SequenceClassification" in str(name) for name in architectures)
    except (OSError, ValueError, AttributeError, TypeError):
        return False

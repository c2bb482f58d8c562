"""Sentence models that fastembed runs locally: its own models or a folder with an ONNX model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memctl.errors import ProviderError, UsageError
from memctl.providers import model_files
from memctl.providers.model_files import broken, is_folder

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from fastembed.common.types import NumpyArray

POOLINGS = ("mean", "cls", "last_token", "disabled")

MAX_CHARACTERS = 20_000
"""Only the beginning of a text is embedded: a memory may hold 10 MB."""


@dataclass(frozen=True)
class ModelInfo:
    """A model that fastembed offers; `size_gb` is the size of the download."""

    name: str
    dimensions: int
    size_gb: float
    description: str


class FastembedEmbedder:
    """Embeds texts with one of fastembed's models or a local folder; imports fastembed at the first text.

    Texts run one at a time: on a CPU that is as fast as padded batches, and a quantised model's vector of a text
    depends on the rest of the batch (cosine down to 0.98).

    Args:
        model: a name from `catalogue()`, or a folder (starts with `/`, `.` or `~`).
        cache_dir: where `FAMILY.install` puts models; unused for a local folder.
        pooling: how a local folder's token vectors are combined, one of `POOLINGS`; fastembed's own models define it.
        normalize: scale a local folder's vectors to length 1.
        model_file: the ONNX file in the local folder; default: the first of `model_files.MODEL_FILES`.
        lexical_weight: the weight of full text when a search combines it with these vectors, 0 to 1.
        languages: the languages the model is for; empty if unknown.

    Raises:
        ProviderError: the model is not installed, or a file is missing or has another size than when installed.
        UsageError: unknown pooling.
    """

    slow = True

    def __init__(
        self,
        model: str,
        *,
        cache_dir: Path,
        pooling: str = "mean",
        normalize: bool = True,
        model_file: str = "",
        lexical_weight: float = 0.4,
        languages: frozenset[str] = frozenset(),
    ) -> None:
        if pooling not in POOLINGS:
            raise UsageError(f"unknown pooling {pooling!r}", hint=f"Choose one of: {', '.join(POOLINGS)}.")
        self.name = f"fastembed:{model}"
        self.lexical_weight, self.languages = lexical_weight, languages
        self._local = (pooling, normalize) if is_folder(model) else None
        self._files = (
            model_files.local_files(model, model_file, self._local)
            if self._local
            else model_files.installed_files(model, cache_dir)
        )
        self.identity, self.dimensions, self.folder = self._files.identity, self._files.dimensions, self._files.folder
        self._loaded: TextEmbedding | None = None

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Vectors of memories, `dimensions` floats each; only the first `MAX_CHARACTERS` of a text are read.

        Raises:
            ProviderError: the model cannot be loaded or returns unusable vectors.
        """
        if not texts:
            return []
        return self._vectors(self._model().passage_embed([_clean(text) for text in texts], batch_size=1))

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question, with the prefix that the model expects. Raises as `embed` does."""
        return self._vectors(self._model().query_embed([_clean(text)], batch_size=1))[0]

    def verify(self) -> None:
        """Load the model and embed a word. Raises ProviderError if that fails."""
        if not any(self.embed_query("memory")):
            raise broken(self.name, "its vectors are all zeros")

    def _model(self) -> TextEmbedding:
        with model_files.LOADING:
            if self._loaded is None:
                self._loaded = self._load(_fastembed())
            return self._loaded

    def _load(self, fastembed: type[TextEmbedding]) -> TextEmbedding:
        """Load from the known folder, so that fastembed does not search or download."""
        folder = str(self._files.folder)
        try:
            if self._local:
                _register(fastembed, self._files, *self._local)
            return fastembed(self._files.key, cache_dir=folder, specific_model_path=folder, local_files_only=True)
        except Exception as error:  # tokenizers and onnxruntime raise bare Exception
            raise broken(self.name, str(error)) from error

    def _vectors(self, lazy: Iterable[NumpyArray]) -> list[Sequence[float]]:
        """Run the model, which computes lazily, and check the vectors."""
        try:
            vectors: list[Sequence[float]] = [vector.tolist() for vector in lazy]
        except Exception as error:  # as in _load
            raise broken(self.name, str(error)) from error
        for vector in vectors:
            if len(vector) != self.dimensions:
                raise broken(self.name, f"its vectors have {len(vector)} numbers, not {self.dimensions}")
            if not all(map(math.isfinite, vector)):
                raise broken(self.name, "its vectors contain numbers that are not finite")
        return vectors


def catalogue() -> list[ModelInfo]:
    """The models fastembed can download, in its order. Imports fastembed."""
    return [
        ModelInfo(offer["model"], offer["dim"], offer["size_in_GB"], offer["description"]) for offer in FAMILY.offers()
    ]


def installed(model: str, cache_dir: Path) -> bool:
    """Whether the files of a model or local folder exist, by names and sizes only."""
    try:
        FastembedEmbedder(model, cache_dir=cache_dir)
    except ProviderError:
        return False
    return True


def _clean(text: str) -> str:
    return model_files.clean(text, MAX_CHARACTERS)


def _fastembed() -> type[TextEmbedding]:
    loaded: type[TextEmbedding] = model_files.fastembed_class("fastembed", "TextEmbedding")
    return loaded


def _register(fastembed: type[TextEmbedding], files: model_files.Files, pooling: str, normalize: bool) -> None:
    """Register a local folder with fastembed, once: it rejects a known name."""
    from fastembed.common.model_description import ModelSource, PoolingType

    if any(offer["model"] == files.key for offer in fastembed.list_supported_models()):
        return
    fastembed.add_custom_model(
        files.key,
        pooling=PoolingType(pooling.upper()),
        normalization=normalize,
        sources=ModelSource(hf=files.key),
        dim=files.dimensions,
        model_file=files.model_file,
    )


def _verified(model: str, cache_dir: Path) -> Path:
    embedder = FastembedEmbedder(model, cache_dir=cache_dir)
    embedder.verify()
    return embedder.folder


FAMILY = model_files.Family(_fastembed, _verified)

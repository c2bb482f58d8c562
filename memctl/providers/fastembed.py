"""Sentence models that fastembed runs on this machine: those it lists, or a local folder with an ONNX model."""

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
"""Only this much of a text's beginning is embedded: one memory may hold 10 MB."""


@dataclass(frozen=True)
class ModelInfo:
    """A model fastembed offers: its name, the length of its vectors, its download in GB, languages and other facts."""

    name: str
    dimensions: int
    size_gb: float
    description: str


class FastembedEmbedder:
    """Embeds texts with one of fastembed's models or a local one; imports fastembed at the first text.

    Texts run one by one: on a CPU that is as fast as padded batches, and a quantised model gives a text another vector
    (cosine down to 0.98) in every other company.

    Args:
        model: a name from `catalogue()`, or a folder, which begins with `/`, `.` or `~`.
        cache_dir: where `install` puts models; a local folder needs none.
        pooling: how a local folder's token vectors become one, from `POOLINGS`; fastembed knows it for its own models.
        normalize: bring a local folder's vectors to length 1.
        model_file: the network within a local folder; empty for the first of `model_files.MODEL_FILES`.
        lexical_weight, vector_weight: how a search blends full text and vectors; they add up to 1.

    Raises:
        ProviderError: the model is not installed, or a file is missing or not of the size that was installed.
        UsageError: there is no such pooling.
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
        vector_weight: float = 0.6,
    ) -> None:
        if pooling not in POOLINGS:
            raise UsageError(f"no pooling {pooling!r}", hint=f"Choose one of: {', '.join(POOLINGS)}.")
        self.name = f"fastembed:{model}"
        self.lexical_weight, self.vector_weight = lexical_weight, vector_weight
        self._local = (pooling, normalize) if is_folder(model) else None
        self._files = (
            model_files.local_files(model, model_file, self._local)
            if self._local
            else model_files.noted_files(model, cache_dir)
        )
        self.identity, self.dimensions, self.folder = self._files.identity, self._files.dimensions, self._files.folder
        self._loaded: TextEmbedding | None = None

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Vectors of memories, `dimensions` floats each; only the first `MAX_CHARACTERS` of a text count.

        Raises:
            ProviderError: the model cannot be loaded or gives no usable vectors.
        """
        if not texts:
            return []
        return self._vectors(self._model().passage_embed([_clean(text) for text in texts], batch_size=1))

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question, as the model wants questions treated. Raises as `embed` does."""
        return self._vectors(self._model().query_embed([_clean(text)], batch_size=1))[0]

    def verify(self) -> None:
        """Load the model and embed a word.

        Raises:
            ProviderError: that does not work.
        """
        if not any(self.embed_query("memory")):
            raise broken(self.name, "its vectors are all zeros")

    def _model(self) -> TextEmbedding:
        with model_files.LOADING:
            if self._loaded is None:
                self._loaded = self._load(_fastembed())
            return self._loaded

    def _load(self, fastembed: type[TextEmbedding]) -> TextEmbedding:
        """Load from the known folder, so that fastembed neither searches nor downloads."""
        folder = str(self._files.folder)
        try:
            if self._local:
                _register(fastembed, self._files, *self._local)
            return fastembed(self._files.key, cache_dir=folder, specific_model_path=folder, local_files_only=True)
        except Exception as error:  # tokenizers and onnxruntime raise bare Exception
            raise broken(self.name, str(error)) from error

    def _vectors(self, lazy: Iterable[NumpyArray]) -> list[Sequence[float]]:
        """Run the model, which works only while `found` is read, and check what it gives."""
        try:
            vectors: list[Sequence[float]] = [vector.tolist() for vector in lazy]
        except Exception as error:  # as in _load
            raise broken(self.name, str(error)) from error
        for vector in vectors:
            if len(vector) != self.dimensions:
                raise broken(self.name, f"its vectors have {len(vector)} numbers, not {self.dimensions}")
            if not all(map(math.isfinite, vector)):
                raise broken(self.name, "its vectors hold numbers that are not finite")
        return vectors


def catalogue() -> list[ModelInfo]:
    """The models fastembed can download, in its order. Imports fastembed."""
    return [
        ModelInfo(offer["model"], offer["dim"], offer["size_in_GB"], offer["description"]) for offer in FAMILY.offers()
    ]


def installed(model: str, cache_dir: Path) -> bool:
    """Whether the files of a model or of a local folder are there, judged by names and sizes alone."""
    try:
        FastembedEmbedder(model, cache_dir=cache_dir)
    except ProviderError:
        return False
    return True


def install(model: str, cache_dir: Path) -> Path:
    """As `model_files.Family.install`."""
    return FAMILY.install(model, cache_dir)


def _clean(text: str) -> str:
    return model_files.clean(text, MAX_CHARACTERS)


def _fastembed() -> type[TextEmbedding]:
    loaded: type[TextEmbedding] = model_files.fastembed_class("fastembed", "TextEmbedding")
    return loaded


def _register(fastembed: type[TextEmbedding], files: model_files.Files, pooling: str, normalize: bool) -> None:
    """Tell fastembed of a local folder, once: it refuses a name it knows."""
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

"""Cross-encoders that fastembed runs locally: its own models or a folder with an ONNX model."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from memctl.errors import ProviderError
from memctl.providers import model_files
from memctl.providers.model_files import PREFIX, broken, is_folder

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

MAX_CHARACTERS = 4_000
"""Only the beginning of a text is read: most cross-encoders cut it at 512 tokens, and longer texts take longer."""


class FastembedReranker:
    """Scores each text against a question with one of fastembed's cross-encoders or a local one.

    Imports fastembed at the first question. Texts run one at a time, as with `FastembedEmbedder`: a score does not
    depend on the rest of the batch.

    Args:
        model: a name from fastembed's list, or a folder (starts with `/`, `.` or `~`).
        cache_dir: where `model install` puts models; unused for a local folder.

    Raises:
        ProviderError: the model is not installed, or a file is missing or has another size than when installed.
    """

    def __init__(self, model: str, *, cache_dir: Path) -> None:
        self.name, self._is_local = f"{PREFIX}{model}", is_folder(model)
        self._files = (
            model_files.local_files(model, "", "cross-encoder", vectors=False)
            if self._is_local
            else model_files.installed_files(model, cache_dir)
        )
        self.folder = self._files.folder
        self._loaded: TextCrossEncoder | None = None

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One logit for each text; only the first `MAX_CHARACTERS` of each text are read.

        Raises:
            ProviderError: the model cannot be loaded or returns unusable numbers.
        """
        if not texts:
            return []
        model = self._model()
        query, *cleaned = (model_files.clean(text, MAX_CHARACTERS) for text in (question, *texts))
        try:
            scores = [float(score) for score in model.rerank(query, cleaned, batch_size=1)]
        except Exception as error:  # tokenizers and onnxruntime raise bare Exception; a vector is not a number
            raise broken(self.name, f"as a reranker: {error}") from error
        if not all(map(isfinite, scores)):
            raise broken(self.name, "its scores are not finite")
        return scores

    def verify(self) -> None:
        """Load the model and score a word. Raises as `scores` does."""
        self.scores("memory", ["memory"])

    def _model(self) -> TextCrossEncoder:
        with model_files.LOADING:
            if self._loaded is None:
                self._loaded = self._load(_fastembed())
            return self._loaded

    def _load(self, fastembed: type[TextCrossEncoder]) -> TextCrossEncoder:
        """Load from the known folder, so that fastembed does not search or download."""
        folder = str(self._files.folder)
        try:
            if self._is_local:
                _register(fastembed, self._files)
            return fastembed(self._files.key, cache_dir=folder, specific_model_path=folder, local_files_only=True)
        except Exception as error:  # as in `scores`
            raise broken(self.name, str(error)) from error


def installed(model: str, cache_dir: Path) -> bool:
    """Whether the files of a cross-encoder exist, by names and sizes only."""
    try:
        FastembedReranker(model, cache_dir=cache_dir)
    except ProviderError:
        return False
    return True


def _register(fastembed: type[TextCrossEncoder], files: model_files.Files) -> None:
    """Register a local folder with fastembed, once: it rejects a known name."""
    from fastembed.common.model_description import ModelSource

    if not any(offer["model"] == files.key for offer in fastembed.list_supported_models()):
        fastembed.add_custom_model(files.key, sources=ModelSource(hf=files.key), model_file=files.model_file)


def _fastembed() -> type[TextCrossEncoder]:
    loaded: type[TextCrossEncoder] = model_files.fastembed_class("fastembed.rerank.cross_encoder", "TextCrossEncoder")
    return loaded


def _verified(model: str, cache_dir: Path) -> Path:
    reranker = FastembedReranker(model, cache_dir=cache_dir)
    reranker.verify()
    return reranker.folder


FAMILY = model_files.Family(_fastembed, _verified)

"""What an embedding model must offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Turns texts into vectors whose cosine says how near their meanings are.

    Attributes:
        name: as the user writes it in the settings: `builtin`, `fastembed:MODEL`, `openai:MODEL`.
        identity: equal for two embedders only if their vectors may be compared.
        slow: worth a cache of its own, and never run while the store's lock is held.
        lexical_weight, vector_weight: how a search blends full text and vectors of this model; they add up to 1.
    """

    name: str
    identity: str
    slow: bool
    lexical_weight: float
    vector_weight: float

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Vectors of memories, one a text, all of one length; all zeros where the model knows nothing of a text.

        Raises:
            ProviderError: the model is missing, broken or unreachable; its hint names the command that mends it.
        """

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question; some models treat it otherwise than a memory. Raises as `embed` does."""

    def verify(self) -> None:
        """Check that the model is whole and works.

        Raises:
            ProviderError: it does not; with the command that mends it.
        """

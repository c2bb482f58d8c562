"""What an embedding model, a reranker and a language model must offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


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
            ProviderError: the model is missing, broken or unreachable; its hint names the command that fixes it.
        """

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question; some models treat it otherwise than a memory. Raises as `embed` does."""

    def verify(self) -> None:
        """Check that the model is whole and works.

        Raises:
            ProviderError: it does not; with the command that fixes it.
        """


class Reranker(Protocol):
    """Reads a question together with each of its candidates, and says how well they answer it.

    Attributes:
        name: as the user writes it in the settings: `fastembed:MODEL`, `server`, `server:MODEL`.
    """

    name: str

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """A finite number a text, larger is better: probabilities in [0, 1], or logits.

        Raises:
            ProviderError: the model is missing, broken or unreachable; its hint says how to fix it.
        """

    def verify(self) -> None:
        """Check that it works.

        Raises:
            ProviderError: it does not.
        """


class LLM(Protocol):
    """Answers a conversation. Whoever asks has rules to fall back on: a model may always be missing or fail.

    Attributes:
        name: as the user writes it in the settings: `openai:MODEL`.
    """

    name: str

    def complete(self, messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None = None) -> Any:
        """The model's answer.

        Args:
            messages: the conversation, each with `role` (`system`, `user` or `assistant`) and `content`.
            schema: a JSON Schema, for an answer in JSON.

        Returns:
            Text; with a schema a JSON value that is valid against it.

        Raises:
            ProviderError: there is no answer, or none that is valid; its message says what was wrong and its hint what
                to do.
        """

"""Vectors from a server that speaks OpenAI's `/embeddings`: Ollama, vLLM, SiliconFlow, OpenAI and others.

The key is given by the caller, who has it from the environment; it stands in no message and in no identity.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memctl.providers import http
from memctl.providers.http import MAX_CHARACTERS as MAX_CHARACTERS
from memctl.providers.waiting import at_most

if TYPE_CHECKING:
    import httpx

_LARGEST = 3.4e38  # of the 32-bit floats that an index stores

API = http.Api("the embeddings server", "model", ("/embeddings",))


class OpenAIEmbedder:
    """Embeds texts over HTTP; imports `httpx` at the first text.

    Args:
        model: as the server calls it.
        base_url: what comes before `/embeddings`, such as `http://localhost:11434/v1`.
        api_key: empty for a server that needs none.
        timeout: seconds for one request of up to `batch` texts, repetitions included.
        dimensions: the length of vectors to ask for; None for the model's own.
        lexical_weight, vector_weight: how a search blends full text and vectors; they add up to 1.

    Raises:
        ProviderError: the address or the key cannot be one.
    """

    slow = True

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str,
        timeout: float = 10.0,
        dimensions: int | None = None,
        batch: int = 64,
        lexical_weight: float = 0.4,
        vector_weight: float = 0.6,
    ) -> None:
        self._endpoint = http.Endpoint(API, base_url, api_key, model, timeout)
        self.name, self.identity = f"openai:{model}", f"openai:{self._endpoint.base}:{model}:{dimensions or ''}"
        self.lexical_weight, self.vector_weight = lexical_weight, vector_weight
        self._model, self._batch = model, batch
        self._options, self._length = {"dimensions": dimensions} if dimensions else {}, dimensions

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Vectors of memories, all of one length; only the first `MAX_CHARACTERS` of a text count.

        Raises:
            ProviderError: the server cannot be reached, refuses, or answers with other than one vector for each text.
        """
        return self._endpoint.batched(texts, self._batch, self._vectors)

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question. Raises as `embed` does."""
        return self.embed([text])[0]

    def verify(self) -> None:
        """Ask the server for one vector, also if it did not answer lately. Raises as `embed` does."""
        with at_most(math.inf):
            self.embed_query("memory")

    def _vectors(self, client: httpx.Client, texts: list[str]) -> list[Sequence[float]]:
        """The vectors of one batch, in its order."""
        content = self._endpoint.post(client, {"model": self._model, "input": texts, **self._options})
        try:
            vectors = _read(content, len(texts))
            length = self._length or len(vectors[0])
            checked: list[Sequence[float]] = [_checked_vector(vector, length) for vector in vectors]
        except ValueError as problem:
            raise self._endpoint.unusable(problem) from None
        self._length = length
        return checked


def _read(content: bytes, count: int) -> list[list[Any]]:
    """The embeddings in an answer, in the order of their `index`; a ValueError says what there is instead.

    Some servers leave `index` out, Gemini where it is 0: then an item's place counts.
    """
    try:
        items = json.loads(content)["data"]
        places = [place if item.get("index") is None else item["index"] for place, item in enumerate(items)]
        vectors = {place: list(item["embedding"]) for place, item in zip(places, items, strict=True)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("something else than embeddings") from None
    if len(items) != count:
        raise ValueError(f"{len(items)} vectors for {count} texts")
    if vectors.keys() != set(range(count)):
        raise ValueError("vectors that are numbered wrongly")
    return [vectors[place] for place in range(count)]


def _checked_vector(vector: list[Any], length: int) -> list[float]:
    """A vector that an index can store; a ValueError says why it is none."""
    if not vector or len(vector) != length:
        raise ValueError(f"a vector of {len(vector)} numbers, not {length}")
    if not all(type(value) in (int, float) and -_LARGEST < value < _LARGEST for value in vector):
        raise ValueError("a vector that holds something else than finite numbers")
    return [float(value) for value in vector]

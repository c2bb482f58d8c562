"""Rerankers on a server: the `/rerank` of Cohere, Jina, vLLM, Text Embeddings Inference (TEI), llama.cpp and others.

They agree on nearly everything. What is sent is `query` and `documents`, or `query` and `texts` (TEI). What comes back
is a list, or an object with `results` or `data`, of `index` and `relevance_score` or `score`. The key is given by the
caller, who has it from the environment; it stands in no message.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from memctl.providers import http
from memctl.providers.waiting import at_most

if TYPE_CHECKING:
    import httpx

BATCH = 32
"""Texts in one request: TEI takes no more, unless it is told to."""

API = http.Api("the reranking server", "rerank", ("/rerank", "/reranking"), "http://localhost:8080/v1")

Form = Callable[[str, Sequence[str]], dict[str, Any]]


def _documents(question: str, texts: Sequence[str]) -> dict[str, Any]:
    return {"query": question, "documents": list(texts)}


def _texts(question: str, texts: Sequence[str]) -> dict[str, Any]:
    return {"query": question, "texts": list(texts), "truncate": True}


class ServerReranker:
    """Asks a server over HTTP; imports `httpx` at the first question.

    Args:
        model: as the server calls it; empty for a server that runs one alone.
        base_url: what comes before `/rerank`, or the whole address.
        api_key: empty for a server that needs none.
        timeout: seconds for one request of up to `BATCH` texts, repetitions included.

    Raises:
        ProviderError: the address or the key cannot be one.
    """

    def __init__(self, model: str, *, base_url: str, api_key: str, timeout: float = 10.0) -> None:
        self.name = f"server:{model}" if model else "server"
        self._named = {"model": model} if model else {}
        self._endpoint = http.Endpoint(API, base_url, api_key, model, timeout)
        self._forms: tuple[Form, ...] = (_documents, _texts)

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """A number a text, larger is better; only the first `http.MAX_CHARACTERS` of each text count.

        Raises:
            ProviderError: the server cannot be reached, refuses, or answers with other than one number for each text.
        """
        cleaned = http.clean(question)
        return self._endpoint.batched(texts, BATCH, lambda client, batch: self._batch(client, cleaned, batch))

    def verify(self) -> None:
        """Ask for one number, also if the server did not answer lately. Raises as `scores` does."""
        with at_most(math.inf):
            self.scores("memory", ["memory"])

    def _batch(self, client: httpx.Client, question: str, texts: Sequence[str]) -> list[float]:
        content = self._answer(client, question, texts)
        try:
            return _read(content, len(texts))
        except ValueError as problem:
            raise self._endpoint.unusable(problem) from None

    def _answer(self, client: httpx.Client, question: str, texts: Sequence[str]) -> bytes:
        """The server's answer to the first form that it takes; the others are not tried again."""
        refusals = []
        for form in self._forms:
            try:
                content = self._endpoint.post(client, form(question, texts) | self._named)
            except http.RefusedByServerError as refusal:
                refusals.append(refusal)
                if not refusal.unsuited:
                    break
            else:
                self._forms = (form,)
                return content
        raise refusals[0]


def _read(content: bytes, count: int) -> list[float]:
    """The numbers in an answer, in the order of the texts; a ValueError says what there is instead."""
    try:
        answer = json.loads(content)
        items = answer if isinstance(answer, list) else answer.get("results", answer.get("data"))
        scores = {item["index"]: _number(item) for item in items}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("something else than the scores of texts") from None
    if len(items) != count:
        raise ValueError(f"{len(items)} scores for {count} texts")
    if scores.keys() != set(range(count)):
        raise ValueError("scores that are numbered wrongly")
    if not all(map(isfinite, scores.values())):
        raise ValueError("scores that are not finite")
    return [scores[place] for place in range(count)]


def _number(item: Mapping[str, Any]) -> float:
    value = item["relevance_score"] if "relevance_score" in item else item["score"]
    if type(value) not in (int, float):
        raise TypeError
    return float(value)

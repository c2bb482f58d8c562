"""Rerankers on a server: the `/rerank` of Cohere, Jina, vLLM, Text Embeddings Inference (TEI), llama.cpp and others.

The request has `query` and `documents`, or `query` and `texts` (TEI). The answer is a list, or an object with the list
in `results` or `data`; its items have `index`, and `relevance_score` or `score`. The key appears in no message.
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
"""Texts in one request; TEI's default limit."""

API = http.Api("the reranking server", "rerank", ("/rerank", "/reranking"), "http://localhost:8080/v1")

Form = Callable[[str, Sequence[str]], dict[str, Any]]


def _documents(question: str, texts: Sequence[str]) -> dict[str, Any]:
    return {"query": question, "documents": list(texts)}


def _texts(question: str, texts: Sequence[str]) -> dict[str, Any]:
    return {"query": question, "texts": list(texts), "truncate": True}


class ServerReranker:
    """Calls a server over HTTP; imports `httpx` at the first question.

    Args:
        model: its name on the server; empty if the server has only one.
        base_url: the address before `/rerank`, or the full address.
        api_key: empty if the server needs none.
        timeout: seconds for one request of up to `BATCH` texts, including retries.

    Raises:
        ProviderError: the address or the key is invalid.
    """

    def __init__(self, model: str, *, base_url: str, api_key: str, timeout: float = 10.0) -> None:
        self.name = f"server:{model}" if model else "server"
        self._named = {"model": model} if model else {}
        self._endpoint = http.Endpoint(API, base_url, api_key, model, timeout)
        self._forms: tuple[Form, ...] = (_documents, _texts)

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One number for each text, higher is better; only the first `http.MAX_CHARACTERS` of each text are sent.

        Raises:
            ProviderError: the server is unreachable, rejects the request, or does not return one number for each text.
        """
        cleaned = http.clean(question)
        return self._endpoint.batched(texts, BATCH, lambda client, batch: self._batch(client, cleaned, batch))

    def verify(self) -> None:
        """Request one score, even if the server failed recently. Raises as `scores` does."""
        with at_most(math.inf):
            self.scores("memory", ["memory"])

    def _batch(self, client: httpx.Client, question: str, texts: Sequence[str]) -> list[float]:
        content = self._answer(client, question, texts)
        try:
            return _read(content, len(texts))
        except ValueError as problem:
            raise self._endpoint.unusable(problem) from None

    def _answer(self, client: httpx.Client, question: str, texts: Sequence[str]) -> bytes:
        """The server's answer to the first form of the request that it accepts; later requests use that form."""
        refusals = []
        for form in self._forms:
            try:
                content = self._endpoint.post(client, form(question, texts) | self._named)
            except http.RefusedByServerError as refusal:
                refusals.append(refusal)
                if not refusal.bad_request:
                    break
            else:
                self._forms = (form,)
                return content
        raise refusals[0]


def _read(content: bytes, count: int) -> list[float]:
    """The scores in an answer, in the order of the texts. Raises ValueError if it has anything else."""
    try:
        answer = json.loads(content)
        items = answer if isinstance(answer, list) else answer.get("results", answer.get("data"))
        scores = {item["index"]: _number(item) for item in items}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("something other than the scores of texts") from None
    if len(items) != count:
        raise ValueError(f"{len(items)} scores for {count} texts")
    if scores.keys() != set(range(count)):
        raise ValueError("wrongly numbered scores")
    if not all(map(isfinite, scores.values())):
        raise ValueError("scores that are not finite")
    return [scores[position] for position in range(count)]


def _number(item: Mapping[str, Any]) -> float:
    value = item["relevance_score"] if "relevance_score" in item else item["score"]
    if type(value) not in (int, float):
        raise TypeError
    return float(value)

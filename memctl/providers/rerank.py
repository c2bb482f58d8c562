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

from memctl.errors import ProviderError
from memctl.providers import http
from memctl.providers.waiting import at_most

if TYPE_CHECKING:
    import httpx

BATCH = 32
"""Texts in one request: TEI takes no more, unless it is told to."""

PATHS = ("/rerank", "/reranking")

_WHAT = "the reranking server"
_URL_HINT = "Set `rerank_url` to the server's base URL, such as http://localhost:8080/v1."
_KEY_HINT = (
    "Set a valid key for this server in the environment variable that `rerank_key_variable` names; a server on this "
    "machine gets it after `memctl config trust rerank_url`."
)
_HINTS = {
    401: _KEY_HINT,
    403: _KEY_HINT,
    404: "Check the model's name, and that `rerank_url` is what comes before `/rerank` (often it ends in `/v1`).",
    429: "The server limits requests, or the account is used up: wait, or check the account.",
    500: "The fault is the server's: see its log, or try again later.",
}
_NOT_TAKEN = (400, 422)
"""Statuses by which a server says that it does not understand a request."""

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
        base = http.address(base_url, _WHAT, _URL_HINT)
        path = base.path.rstrip("/")
        url = base._replace(path=path if path.endswith(PATHS) else f"{path}{PATHS[0]}")
        key = http.checked_key(api_key, _WHAT, _KEY_HINT)
        self.name = f"server:{model}" if model else "server"
        self._named = {"model": model} if model else {}
        self._endpoint = http.Endpoint(url, key, model, timeout, _HINTS)
        self._forms: tuple[Form, ...] = (_documents, _texts)

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """A number a text, larger is better; only the first `http.MAX_CHARACTERS` of each text count.

        Raises:
            ProviderError: the server cannot be reached, refuses, or answers with other than one number for each text.
        """
        if not texts:
            return []
        asked, cleaned = http.clean(question), [http.clean(text) for text in texts]
        return self._endpoint.service.ask(lambda: self._scored(asked, cleaned))

    def _scored(self, asked: str, cleaned: Sequence[str]) -> list[float]:
        found: list[float] = []
        with self._endpoint.client() as client:
            for start in range(0, len(cleaned), BATCH):
                found += self._batch(client, asked, cleaned[start : start + BATCH])
        return found

    def verify(self) -> None:
        """Ask for one number, also if the server did not answer lately. Raises as `scores` does."""
        with at_most(math.inf):
            self.scores("memory", ["memory"])

    def _batch(self, client: httpx.Client, question: str, texts: Sequence[str]) -> list[float]:
        content = self._answer(client, question, texts)
        try:
            return _read(content, len(texts))
        except ValueError as error:
            hint = "Check that `rerank_url` and the model in the settings belong to a reranking server."
            message = f"{self._endpoint.place} answered with {error}{self._endpoint.of_model}"
            raise ProviderError(message, hint=hint) from error

    def _answer(self, client: httpx.Client, question: str, texts: Sequence[str]) -> bytes:
        """The server's answer to the first form that it takes; the others are not tried again."""
        refused: ProviderError | None = None
        for form in self._forms:
            try:
                content = self._endpoint.post(client, form(question, texts) | self._named)
            except http.RefusedByServerError as error:
                refused = refused or error
                if error.status not in _NOT_TAKEN:
                    break
            else:
                self._forms = (form,)
                return content
        assert refused is not None
        raise refused


def _read(content: bytes, count: int) -> list[float]:
    """The numbers in an answer, in the order of the texts; a ValueError says what there is instead."""
    try:
        answer = json.loads(content)
        items = answer if isinstance(answer, list) else answer.get("results", answer.get("data"))
        found = {item["index"]: _number(item) for item in items}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("something else than the scores of texts") from None
    if len(items) != count:
        raise ValueError(f"{len(items)} scores for {count} texts")
    if found.keys() != set(range(count)):
        raise ValueError("scores that are numbered wrongly")
    if not all(map(isfinite, found.values())):
        raise ValueError("scores that are not finite")
    return [found[place] for place in range(count)]


def _number(item: Mapping[str, Any]) -> float:
    value = item["relevance_score"] if "relevance_score" in item else item["score"]
    if type(value) not in (int, float):
        raise TypeError
    return float(value)

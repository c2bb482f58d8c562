"""What `--json` prints: the shapes of documents, which stay as they are from version to version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memctl.present.plain import safe_json

if TYPE_CHECKING:
    from memctl.core.kept import KeptMessage
    from memctl.core.models import Hit, Memory, QueryResult, Reranking


def dumped(value: Any) -> str:
    """One JSON document."""
    import json

    return safe_json(json.dumps(value, ensure_ascii=False, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    from datetime import datetime

    from memctl.core import times

    if isinstance(value, datetime):
        return times.to_text(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    return str(value)


def memory_json(memory: Memory) -> dict[str, Any]:
    """A record as JSON shows it: all that is set, in the file's order."""
    from memctl.core.formats import codec

    return {"status": memory.status, **codec.encode(memory)}


def message_json(message: KeptMessage) -> dict[str, Any]:
    """A message as JSON shows it: as in its file, with its whole text."""
    import json

    from memctl.core import kept

    found: dict[str, Any] = json.loads(kept.encode(message))
    return {**found, "text": message.text}


def query_json(result: QueryResult) -> dict[str, Any]:
    """The answer as `--json` prints it."""
    return {
        "query": result.query.text,
        "hits": [hit_json(hit) for hit in result.hits],
        "receipt": result.receipt,
        "index": {"state": result.index.state, "notes": list(result.index.notes)},
        "route": vars(result.route)
        | {"categories": list(result.route.categories), "layers": list(result.route.layers)},
        "degraded": list(result.degraded),
        **reranked_json(result.reranked),
        **({"as_of": result.origin} if result.origin else {}),
    }


def reranked_json(done: Reranking | None) -> dict[str, Any]:
    """The same as a field of a document; nothing where there was no reranker."""
    if done is None:
        return {}
    return {"rerank": {"model": done.model, "candidates": done.candidates, "ms": round(done.milliseconds, 1)}}


def hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "memory": memory_json(hit.memory),
        "score": round(hit.score, 6),
        "relevance": round(hit.relevance, 6),
        "parts": {name: round(value, 6) for name, value in hit.parts.items()},
        "via": hit.via,
        "matched": list(hit.matched),
        **({"user": hit.owner} if hit.owner else {}),
    }

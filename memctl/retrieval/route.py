"""Routing a question: its intent by its form, its domain by the memories that are nearest to it.

A route is advice: `rank.routed` follows it only where that cannot hide a good answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from memctl.core.models import LAYER_RECORD, LAYER_REFLECTION, Route
from memctl.retrieval.intents import ASK, DECIDE, REFLECT, intent

PRESENT = (
    r"\b(?:now|nowadays|current(?:ly)?|at the moment|these days|today|latest|still|at present)\b"
    r"|现在|目前|如今|眼下|最近|最新|当前|还在"
)

LAYERS: Mapping[str, tuple[str, ...]] = {
    ASK: (LAYER_RECORD,),
    DECIDE: (LAYER_RECORD, LAYER_REFLECTION),
    REFLECT: (LAYER_REFLECTION, LAYER_RECORD),
}

CATEGORIES_OF_INTENT: Mapping[str, tuple[str, ...]] = {DECIDE: ("preference", "strategy"), REFLECT: ("strategy",)}
"""Categories that count for an intent whatever the domain: decisions need constraints and what worked before."""

NEAREST, CLEAR_SHARE = 5, 0.5
"""So many of the nearest memories have a say in the domain, each by how near it is, and what one category must have."""


@cache
def _present() -> re.Pattern[str]:
    return re.compile(PRESENT, re.IGNORECASE)


def domain(near: Iterable[tuple[str, float]]) -> str:
    """The category that the memories nearest to a question speak for; empty where none has a clear share.

    Args:
        near: the category of each memory that may answer, empty where it has none, and how near it is.
    """
    nearest = sorted(((weight, name) for name, weight in near if name), reverse=True)[:NEAREST]
    shares: dict[str, float] = defaultdict(float)
    for weight, name in nearest:
        shares[name] += weight
    best = max(shares, key=lambda name: shares[name], default="")
    return best if best and shares[best] >= CLEAR_SHARE * sum(shares.values()) else ""


def towards(route: Route, domain: str) -> Route:
    """The route with the categories to look in; all where there is no domain."""
    categories = (domain, *CATEGORIES_OF_INTENT.get(route.intent, ())) if domain else ()
    return replace(route, categories=tuple(dict.fromkeys(categories)))


def route(question: str) -> Route:
    """What the wording of a question says: its intent, the layers to look in, and whether it asks for the present."""
    name, cue = intent(question)
    present = _present().search(question) is not None
    return Route(name, (), LAYERS[name], (cue,) if cue else (), present)

"""Memories made up for measuring: believable words, Zipf-like, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from memctl.core.models import Memory

_SUBJECTS = [
    "Alice",
    "Bob",
    "Clara",
    "Deepak",
    "Elena",
    "Farid",
    "Grace",
    "Hiro",
    "Inês",
    "Jonas",
    "Kofi",
    "Lena",
    "Marta",
    "Nadia",
    "Omar",
    "Priya",
]
_VERBS = [
    "prefers",
    "deployed",
    "fixed",
    "reviewed",
    "forgot",
    "planned",
    "cancelled",
    "measured",
    "tested",
    "cooked",
    "visited",
    "bought",
    "painted",
    "read",
]
_THINGS = [
    "the payments API",
    "a half marathon",
    "the release notes",
    "green tea",
    "a flaky test",
    "the staging database",
    "her bicycle",
    "a bread oven",
    "the quarterly report",
    "a violin lesson",
    "the cache layer",
    "an old radio",
    "the garden fence",
    "a migration",
    "the login page",
    "a train trip",
    "the backup script",
    "a chess club",
    "the pager rota",
    "a tax form",
]
_PLACES = [
    "in Lisbon",
    "at the office",
    "on Friday",
    "during the review",
    "before lunch",
    "after the incident",
    "with the new team",
    "at home",
    "in spring",
    "by hand",
]
_START = datetime(2025, 1, 1, tzinfo=UTC)


def memories(count: int, seed: int = 7) -> Iterator[Memory]:
    """`count` memories of about 100 characters, each different, in time order."""
    chance = random.Random(seed)
    rare = [
        f"{a}{b}"
        for a in ("zor", "mil", "tak", "ven", "pol", "gri")
        for b in ("ana", "ento", "iska", "ulu", "ero", "amo")
    ]
    for number in range(count):
        words = " ".join(chance.choices(rare, k=3))
        text = (
            f"{chance.choice(_SUBJECTS)} {chance.choice(_VERBS)} {chance.choice(_THINGS)} {chance.choice(_PLACES)}; "
            f"note {number} about {words}, ticket {chance.randrange(10**6)}."
        )
        yield Memory(
            memory_id="",
            content=text,
            category=chance.choice(("work", "life", "preference")),
            kind=chance.choice(("fact", "episode")),
            importance=chance.random(),
            created_at=_START + timedelta(minutes=5 * number),
        )


def questions(count: int, seed: int = 11) -> list[str]:
    """Questions in the words of the memories."""
    chance = random.Random(seed)
    return [
        f"what did {chance.choice(_SUBJECTS)} do about {chance.choice(_THINGS)} {chance.choice(_PLACES)}?"
        for _ in range(count)
    ]

"""One user's memories beside others' that may be read: answers from all, changes to one's own alone."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from heapq import merge
from pathlib import Path
from threading import RLock
from typing import Any, Self

from memctl import times
from memctl.bootstrap import open_store
from memctl.errors import NotFoundError, RefusedError
from memctl.files import knowledge, receipts, reflections
from memctl.models import (
    LAYER_DOCUMENT,
    LAYER_MESSAGE,
    Hit,
    IndexState,
    Memory,
    Query,
    QueryResult,
    Reflection,
    Reranking,
)
from memctl.retrieval import rank
from memctl.store import MemoryStore

_WORST = ("fresh", "pending", "stale")
"""States of an index, the best first."""


class Shared:
    """A user's own store, and those of others that this user may read.

    Asking another's store changes none of its memories, and leaves no receipt there; its search index, which is made
    from its files, may be brought up to date. One thread at a time: hold `lock` around a call where there are several.

    Args:
        own: the one store that is written to.
        readable: the others; closed with this.
    """

    def __init__(self, own: MemoryStore, readable: Sequence[MemoryStore] = ()) -> None:
        self.own = own
        self.stores: Mapping[str, MemoryStore] = {own.user: own, **{s.user: s for s in readable if s.user != own.user}}
        self.lock = RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for store in self.stores.values():
            store.close()

    def store_of(self, user: str) -> MemoryStore:
        """The store of a user who is granted; one's own where none is named.

        Raises:
            RefusedError: not granted. Whether there is such a user is not told.
        """
        if (user or self.own.user) in self.stores:
            return self.stores[user or self.own.user]
        granted = ", ".join(self.stores)
        raise RefusedError(f"the memories of {user!r} are not shared with you", hint=f"You may ask: {granted}.")

    def find(self, name: str) -> tuple[MemoryStore, str]:
        """The store and the id that a name means: `mem_…` in one's own store, `USER/mem_…` in another.

        So with documents: `knowledge/FILE:LINE`, `USER/knowledge/FILE:LINE`.

        Raises:
            RefusedError: the user is not granted.
        """
        user, slash, memory_id = name.partition("/")
        is_own = name.startswith(knowledge.FOLDER) or self.own.index.ids_starting(name, 1)
        if not slash or (user not in self.stores and is_own):
            return self.own, name
        return self.store_of(user), memory_id

    def own_id(self, name: str) -> str:
        """The id of a memory that is to be changed.

        Raises:
            RefusedError: it is another user's.
        """
        store, memory_id = self.find(name)
        if store is not self.own:
            hint = f"Only the memories of {self.own.user} can be changed here."
            raise RefusedError(f"the memories of {store.user} can be read, not changed", hint=hint)
        return memory_id

    def name_of(self, store: MemoryStore, memory_id: str) -> str:
        """An id as `find` takes it."""
        return memory_id if store is self.own else f"{store.user}/{memory_id}"

    def get(self, name: str) -> tuple[MemoryStore, Memory]:
        """A record with the store it stands in.

        Raises:
            NotFoundError, RefusedError: as `find`, and as `MemoryStore.get`.
        """
        store, memory_id = self.find(name)
        try:
            return store, store.get(memory_id)
        except NotFoundError as problem:
            if store is self.own:
                raise
            # The hint might name the trash, or commands that do not lead there.
            raise NotFoundError(f"{store.user} has no memory {memory_id!r}") from problem

    def reflection(self, user: str, path: str) -> Reflection:
        """A reflection by its path.

        Raises:
            RefusedError: the user is not granted.
            NotFoundError: there is none.
        """
        store = self.store_of(user)
        store.refresh()
        if reflections.is_reference(path) and (found := store.view().reflection(path)):
            return found
        raise NotFoundError(f"{store.user} has no reflection {path!r}")

    def query(
        self,
        question: str | Query,
        *,
        users: Collection[str] = (),
        now: datetime | None = None,
        strict: bool = False,
        receipt: bool = True,
        **options: Any,
    ) -> QueryResult:
        """Ask one's own store and the others; the answers are merged by relevance, which is absolute.

        Each store's own order stays. `Hit.owner` names whose memory it is, where that is not one's own. The receipt is
        one's own, for one's own memories alone.

        Args:
            question, now, strict, receipt, options: as `MemoryStore.query` takes them.
            users: only these.

        Raises:
            RefusedError: a user is not granted.
        """
        chosen = {store.user: store for store in map(self.store_of, users)} or self.stores
        query = question if isinstance(question, Query) else Query(question, **options)
        now = now or times.utc_now()
        if list(chosen) == [self.own.user]:
            return self.own.query(query, now=now, strict=strict, receipt=receipt)
        answers = {user: each.query(query, now=now, strict=strict, receipt=False) for user, each in chosen.items()}
        found_hits = {user: self._shared_hits(user, found.hits) for user, found in answers.items()}
        hits = merged(self.own.user, found_hits, query.top)
        return QueryResult(
            query,
            hits,
            next(iter(answers.values())).route,
            _state({user: found.index for user, found in answers.items()}),
            self._receipt(query, hits, now) if receipt else "",
            tuple(f"{user}: {note}" for user, found in answers.items() for note in found.degraded),
            reranked=_cost([found.reranked for found in answers.values() if found.reranked]),
        )

    def _shared_hits(self, user: str, hits: Sequence[Hit]) -> list[Hit]:
        """The hits without what another user said: memories and documents are shared, conversations are not."""
        return [hit for hit in hits if user == self.own.user or hit.memory.layer != LAYER_MESSAGE]

    def _receipt(self, query: Query, hits: Sequence[Hit], now: datetime) -> str:
        mine = [hit for hit in hits if not hit.owner and hit.memory.layer != LAYER_DOCUMENT]
        ids, used = ([hit.memory.memory_id for hit in some] for some in (mine, rank.used(mine)))
        return receipts.write(self.own.folder, query.text, ids, used, now)


def merged(own: str, hits: Mapping[str, Sequence[Hit]], top: int) -> tuple[Hit, ...]:
    """The hits of several users in one order, those of others with their owner.

    At every place stands the most relevant of those that are next in their own stores.
    """
    named = [[replace(hit, owner=user if user != own else "") for hit in found] for user, found in hits.items()]
    return tuple(merge(*named, key=lambda hit: -hit.relevance))[:top]


def _cost(done: Sequence[Reranking]) -> Reranking | None:
    """What reranking cost in all stores together; one reranker does it, by the settings they share."""
    if not done:
        return None
    return Reranking(done[0].model, sum(d.candidates for d in done), sum(d.milliseconds for d in done))


def _state(states: Mapping[str, IndexState]) -> IndexState:
    """The worst state, with everybody's notes."""
    worst = max((state.state for state in states.values()), key=_WORST.index)
    return IndexState(worst, tuple(f"{user}: {note}" for user, state in states.items() for note in state.notes))


def open_shared(
    store: str | Path | None = None,
    user: str | None = None,
    readable: Sequence[str] = (),
    *,
    environment: Mapping[str, str] = os.environ,
) -> Shared:
    """Open a user's memories and those of others beside them.

    Args:
        store, user, environment: as `memctl.open_store` takes them.
        readable: names of the users that may be read.

    Raises:
        NotFoundError, UsageError, InvalidDataError: as `memctl.open_store`, for every user.
    """
    own = open_store(store, user, environment=environment)
    opened = [own]
    try:
        for name in dict.fromkeys(readable):
            opened.append(open_store(own.folder.root.parent, name, environment=environment))
    except BaseException:
        for each in opened:
            each.close()
        raise
    return Shared(own, opened[1:])

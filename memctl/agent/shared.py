"""One user's memories beside others' that may be read: answers from all, changes to one's own alone."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from heapq import merge
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from memctl.bootstrap import open_store
from memctl.conflicts.service import OpenConflicts
from memctl.core import times
from memctl.core.formats import knowledge, reflections
from memctl.core.models import (
    ACTIVE,
    DOCUMENTS,
    LAYER_DOCUMENT,
    MEMORIES,
    Hit,
    IndexState,
    Memory,
    Owned,
    Query,
    QueryResult,
    Reflection,
    Reranking,
    Route,
)
from memctl.core.selection import Selection
from memctl.core.selection import select as selected
from memctl.core.turns import Turn
from memctl.errors import NotFoundError, RefusedError
from memctl.retrieval import rank
from memctl.storage.files import receipts
from memctl.store import MemoryStore

if TYPE_CHECKING:
    from memctl.context.service import ContextPack
    from memctl.strategies.advice import Advice

OTHERS_ASKED = 10
"""Hits from other users that a context looks at, at most."""

_WORST = ("fresh", "pending", "stale")
"""States of an index, the best first."""


class Shared:
    """A user's own store, and those of others that this user may read.

    Asking another's store changes none of its memories, and leaves no receipt there; its search index, which is made
    from its files, may be brought up to date. One thread at a time: hold `turn` around a call where there are several.

    Args:
        own: the one store that is written to.
        readable: the others; closed with this.
    """

    def __init__(self, own: MemoryStore, readable: Sequence[MemoryStore] = ()) -> None:
        self.own = own
        self.stores: Mapping[str, MemoryStore] = {own.user: own, **{s.user: s for s in readable if s.user != own.user}}
        self.turn = Turn()

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
        is_own = name.startswith(knowledge.FOLDER) or self.own.engine.view().ids_starting(name, 1)
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
        if reflections.is_reference(path) and (found := store.engine.view().reflection(path)):
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
        answers = {
            user: [each.query(part, now=now, strict=strict, receipt=False) for part in _shown_to(self.own, each, query)]
            for user, each in chosen.items()
        }
        hits = merged(self.own.user, {user: _by_relevance(found) for user, found in answers.items()}, query.top)
        found = [(user, answer) for user, some in answers.items() for answer in some]
        return QueryResult(
            query,
            hits,
            found[0][1].route if found else Route(),
            _state([(user, answer.index) for user, answer in found]),
            self._receipt(query, hits, now) if receipt else "",
            tuple(dict.fromkeys(f"{user}: {note}" for user, answer in found for note in answer.degraded)),
            reranked=_cost([answer.reranked for _, answer in found if answer.reranked]),
        )

    def select(self, selection: Selection, *, users: Collection[str] = (), now: datetime | None = None) -> list[Owned]:
        """Records of one's own and of the others that fit, in one order.

        Raises:
            RefusedError: a user is not granted.
        """
        now = now or times.utc_now()
        whole = replace(selection, limit=None, offset=0)
        found = {
            owned.name: owned
            for store in self._chosen(users)
            for memory in store.select(whole, now=now)
            for owned in (Owned(memory, self._owner(store)),)
        }
        named = [replace(owned.memory, memory_id=name) for name, owned in found.items()]
        return [found[memory.memory_id] for memory in selected(named, selection)]

    def conflicts(self, *, users: Collection[str] = (), now: datetime | None = None) -> OpenConflicts:
        """As `MemoryStore.conflicts`, and what in one's own memories contradicts others' facts.

        Ids of others are `USER/mem_…`. What others say among themselves, or about themselves, is theirs.

        Raises:
            RefusedError: a user is not granted.
        """
        from memctl.conflicts import contradictions

        now = now or times.utc_now()
        own = self.own.conflicts.open(now=now)
        others = [store for store in self._chosen(users) if store is not self.own]
        theirs = [_named(memory, store.user) for store in others for memory in store.all() if memory.status == ACTIVE]
        mine = [memory for memory in self.own.all() if memory.status == ACTIVE]
        names = (self.own.user, *(store.user for store in others))
        ids = {memory.memory_id for memory in mine}
        between = [
            found
            for found in contradictions.find(contradictions.shared([*mine, *theirs], names), now, names)
            if len(ids & {*found.ids}) == 1
        ]
        return OpenConflicts((*own.found, *between), own.noted)

    def suggest_strategy(
        self, tool: str, error: BaseException | str, *, users: Collection[str] = (), **options: Any
    ) -> tuple[Advice, str]:
        """As `MemoryStore.suggest_strategy`, from one's own strategies and others'.

        Returns:
            the advice whose strategy has the best score, one's own before another's; and whose it is (empty: one's own,
            or a model's).

        Raises:
            RefusedError: a user is not granted.
        """
        stores = self._chosen(users)
        advice = [(each.strategies.suggest(tool, error, use_model=False, **options), each) for each in stores]
        known = [(one, store) for one, store in advice if one.match]
        if known:
            best, store = max(
                known, key=lambda pair: (pair[0].match.score if pair[0].match else 0, pair[1] is self.own)
            )
            return best, self._owner(store)
        return self.own.strategies.suggest(tool, error, **options), ""

    def build_context(
        self, question: str, *, users: Collection[str] = (), now: datetime | None = None, **options: Any
    ) -> ContextPack:
        """As `MemoryStore.build_context`, with what others know about the question, in a part of its own.

        Nobody else's constraint or preference binds this user: it is shown as another user's memory.

        Raises:
            RefusedError: a user is not granted.
        """
        now = now or times.utc_now()
        others = [store.user for store in self._chosen(users) if store is not self.own]
        hits: Sequence[Hit] = ()
        if others and question.strip() and options.get("recall", True):
            hits = rank.used(self.query(question, users=others, now=now, receipt=False, top=OTHERS_ASKED).hits)
        return self.own.build_context(question, others=hits, now=now, **options)

    def _chosen(self, users: Collection[str]) -> list[MemoryStore]:
        """One's own store, and those of some users; of all that are granted where none is named."""
        named = {self.own.user: self.own, **{user: self.store_of(user) for user in users}}
        return list((named if users else self.stores).values())

    def _owner(self, store: MemoryStore) -> str:
        return "" if store is self.own else store.user

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


def _shown_to(own: MemoryStore, store: MemoryStore, query: Query) -> list[Query]:
    """A query as a store may answer it: what others said to their agents is theirs alone."""
    if store is own or query.filters.only in (MEMORIES, DOCUMENTS):
        return [query]
    if query.filters.only:
        return []
    return [replace(query, filters=replace(query.filters, only=only)) for only in (MEMORIES, DOCUMENTS)]


def _by_relevance(answers: Sequence[QueryResult]) -> list[Hit]:
    return list(merge(*(answer.hits for answer in answers), key=lambda hit: -hit.relevance))


def _named(memory: Memory, user: str) -> Memory:
    """Another user's record, with ids that say so."""
    rivals = tuple(f"{user}/{each}" for each in memory.conflicts_with)
    return replace(memory, memory_id=f"{user}/{memory.memory_id}", conflicts_with=rivals)


def _cost(done: Sequence[Reranking]) -> Reranking | None:
    """What reranking cost in all stores together; one reranker does it, by the settings they share."""
    if not done:
        return None
    return Reranking(done[0].model, sum(d.candidates for d in done), sum(d.milliseconds for d in done))


def _state(states: Sequence[tuple[str, IndexState]]) -> IndexState:
    """The worst state, with everybody's notes."""
    worst = max((state.state for _, state in states), key=_WORST.index, default=_WORST[0])
    return IndexState(worst, tuple(dict.fromkeys(f"{user}: {note}" for user, state in states for note in state.notes)))


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

"""The tools an agent is given, as plain functions over a user's memories; `schemas` says how a model sees them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memctl.agent import answers, arguments, schemas
from memctl.agent.shared import Shared
from memctl.context import fence
from memctl.core.formats import knowledge
from memctl.core.formats.trash import FORGOTTEN
from memctl.core.models import Filters
from memctl.core.recalled import without_recalled
from memctl.errors import LockedError, MemctlError, RefusedError, StorageError, UsageError
from memctl.memories.assistant import Meant, Saved
from memctl.sessions.windows import MAIN
from memctl.store import MemoryStore

SOURCE = "agent"
"""Source of what an agent records."""

THINKING_TOKENS = 150
"""How much of an agent's reasons is kept with what it records."""

_OFFLOADED = re.compile(r"[^/]+/[0-9a-f]{16,}")
"""A reference to a content that was offloaded."""


@dataclass(frozen=True)
class Answer:
    """What a tool said. `failed`: nothing was done, and the text says why."""

    text: str
    failed: bool = False


@dataclass(frozen=True)
class _Told:
    """What became of the items of one call, a line each."""

    lines: list[str] = field(default_factory=list)
    saved: list[Saved] = field(default_factory=list)


class Toolbox:
    """The tools over one user's memories.

    Each tool is a method that returns text, for programs; `call` is for what a model asks.

    Args:
        store: whose memories they are; the only store that is written to.
        readable: other users' stores that may be asked.
        tools: the list a model gets, and may call: `core` or `all`.

    Raises:
        UsageError: there is no such list.
    """

    def __init__(
        self, store: MemoryStore | Shared, readable: Sequence[MemoryStore] = (), *, tools: str = schemas.ALL
    ) -> None:
        self.shared = store if isinstance(store, Shared) else Shared(store, readable)
        self.tools = schemas.listed(tools)
        self.forgotten: list[str] = []
        """What was forgotten since whoever hears the conversation looked last."""

    # For models

    def openai(self) -> list[dict[str, Any]]:
        """As `schemas.as_openai`."""
        return schemas.as_openai(self.tools)

    def anthropic(self) -> list[dict[str, Any]]:
        """As `schemas.as_anthropic`."""
        return schemas.as_anthropic(self.tools)

    def functions(self) -> dict[str, Callable[..., str]]:
        """The tools as functions, by name."""
        return {tool.name: getattr(self, tool.name) for tool in self.tools}

    def call(self, name: str, given: Mapping[str, Any] | str | None = None) -> str:
        """Do what a model asked. What is wrong with its call, or hinders it, is told in the answer, never raised.

        Args:
            given: the arguments, as an object or as JSON text.
        """
        return self.answer(name, given).text

    def answer(self, name: str, given: Mapping[str, Any] | str | None = None) -> Answer:
        """As `call`, and whether it failed. Safe to call from several threads."""
        try:
            tool = schemas.named(name, self.tools)
            fitting = arguments.read(tool.name, tool.schema, given)
            with self.shared.turn:
                text: str = getattr(self, tool.name)(**fitting)
            return Answer(text)
        except MemctlError as problem:
            return Answer(in_words(problem), failed=True)

    # The tools

    def record_to_memory(
        self,
        thinking: str,
        content: list[str],
        kind: str = "",
        category: str = "",
        key: str = "",
        value: Any = None,
        tags: list[str] | None = None,
        pin: bool | None = None,
    ) -> str:
        """Save each of some texts; `thinking` is kept as the reason. What is left out is classified.

        Returns:
            what the store holds of each text now, what that replaced, and what it seems to contradict.

        Raises:
            UsageError: none of them could be saved; a key for several texts; no such category.
            LockedError, StorageError: as `MemoryStore.save`; the message says how many were saved before.
        """
        if key and len(content) > 1:
            raise UsageError("a key is of one text", hint="Save the texts one by one, each with its key and value.")
        meant = self._meant(kind, category, key, value, tags, pin)
        told = _Told()
        why = {"thinking": answers.short(thinking.strip(), THINKING_TOKENS)} if thinking.strip() else {}
        for number, item in enumerate(content, 1):
            self._record(number, item, meant, why, told)
        if not told.saved:
            hint = "Give the user's own words, or what you found out, as sentences of your own."
            raise UsageError("; ".join(told.lines) or "there was nothing to save", hint=hint)
        return "\n".join((*told.lines, *answers.beside(told.saved)))

    def _meant(self, kind: str, category: str, key: str, value: Any, tags: list[str] | None, pin: bool | None) -> Meant:
        known = self.shared.own.settings.categories
        if category and category not in known:
            raise UsageError(f"there is no category {category!r}", hint=f"Categories: {', '.join(known)}.")
        given = None if value is None or value == "" else value
        return Meant(kind, category, key.strip(), given, None if tags is None else tuple(tags), pin)

    def _record(self, number: int, item: str, meant: Meant, why: Mapping[str, Any], told: _Told) -> None:
        """Save one text. One that is not saved is named by its number: it may hold a secret."""
        text = without_recalled(item).strip()
        if not text:
            problem = "memory itself told you that" if item.strip() else "it is empty"
            told.lines.append(f"text {number} not saved: {problem}")
            return
        try:
            found = self.shared.own.assistant.save(text, meant, source=SOURCE, metadata=why)
        except (LockedError, StorageError) as problem:
            so_far = f" ({number - 1} of the texts were looked at before)" if told.saved else ""
            raise type(problem)(f"{problem.message}{so_far}", hint=problem.hint) from None
        except MemctlError as problem:
            told.lines.append(fence.one_line(f"text {number} not saved: {problem.message}"))
            return
        told.saved.extend(found)
        told.lines.extend(map(answers.recorded, found))

    def update_memory(
        self,
        id: str,
        content: str = "",
        kind: str = "",
        category: str = "",
        key: str = "",
        value: Any = None,
        tags: list[str] | None = None,
        pin: bool | None = None,
    ) -> str:
        """Correct a memory; what is left out stays.

        Raises:
            NotFoundError: there is none.
            RefusedError: it is another user's, or a part looks like a secret.
            UsageError: as `MemoryStore.amend`.
        """
        meant = self._meant(kind, category, key, value, tags, pin)
        text = without_recalled(content).strip()
        if content.strip() and not text:
            raise UsageError("memory itself told you that text", hint="Write what is true as a sentence of your own.")
        saved = self.shared.own.assistant.amend(self.shared.own_id(id), meant, text, source=SOURCE)
        return "\n".join((answers.amended(saved), *answers.beside([saved])))

    def retrieve_from_memory(self, keywords: list[str]) -> str:
        """What is known about some keywords."""
        return self.search_memory(" ".join(keywords))

    def get_context(self, question: str, tokens: int = answers.CONTEXT_TOKENS) -> str:
        """What a question or a task needs to be known, for a client that has no `AgentMemory`.

        Args:
            tokens: about so many at most.
        """
        asked = answers.short(question, tokens)
        pack = self.shared.build_context(asked, memory_tokens=tokens)
        return answers.context(pack)

    def search_memory(
        self,
        query: str,
        limit: int = 5,
        category: str = "",
        kind: str = "",
        tag: str = "",
        only: str = "",
        user: str = "",
        full: bool = False,
    ) -> str:
        """Ask all memories that may be read, or those of one user.

        Args:
            only: `memories`, `messages` or `documents`.

        Raises:
            UsageError: no memory has that category.
            RefusedError: the user is not granted.
        """
        users = (user,) if user else ()
        if category:
            self._check_category(category, users)
        filters = Filters(
            categories=(category,) if category else (),
            kinds=(kind,) if kind else (),
            tags=(tag,) if tag else (),
            only=only,
        )
        result = self.shared.query(query, users=users, top=limit, filters=filters)
        return answers.found(self.shared, result, full=full)

    def _check_category(self, category: str, users: Sequence[str]) -> None:
        """A category that nobody knows must not look as if nothing were known."""
        asked = [self.shared.store_of(user) for user in users] or list(self.shared.stores.values())
        known = {name for store in asked for name in (*store.settings.categories, *store.engine.categories())}
        if category not in known:
            raise UsageError(f"there is no category {category!r}", hint=f"Categories: {', '.join(sorted(known))}.")

    def show_memory(self, id: str, offset: int = 0, full: bool = False) -> str:
        """One memory with its details, a message, a passage of a document, or a content that was offloaded.

        Args:
            offset: the character of a text to begin at.

        Raises:
            NotFoundError: there is none.
            RefusedError: it is of a user who is not granted.
        """
        if _OFFLOADED.fullmatch(id) and id.partition("/")[0] not in self.shared.stores:
            return self.read_offloaded(id, offset, full)
        store, named = self.shared.find(id)
        if named.startswith(knowledge.FOLDER):
            excerpt = store.documents.show(named)
            return answers.part(f"{excerpt.path}:{excerpt.line}", excerpt.text, offset, full=full)
        if store is self.shared.own and store.conversations.known([named]):
            said = store.conversations.message(named)
            return answers.part(answers.said_by(said), said.text, offset, full=full)
        store, memory = self.shared.get(id)
        if offset:
            return answers.part(memory.memory_id, memory.content, offset, full=full)
        return answers.page(self.shared, store, memory, full=full)

    def give_feedback(self, ids: list[str], judgement: str, reason: str = "", receipt: str = "") -> str:
        """Judge memories, or what an answer held.

        Raises:
            NotFoundError, UsageError: as `MemoryStore.feedback`.
            RefusedError: a memory is another user's.
        """
        own = self.shared.own
        named = [own.get(self.shared.own_id(memory_id)).memory_id for memory_id in ids]
        if receipt:
            outcome = "good" if judgement == "up" else "bad"
            judged = own.judgements.on_answer(receipt.strip(), outcome, used=named, reason=reason).after
        else:
            judged = tuple(own.feedback(memory_id, judgement, reason=reason).after[0] for memory_id in named)
        lines = (f"{m.memory_id}: confidence {m.confidence:.2f}, reward {m.reward:+.2f}" for m in judged)
        return "\n".join(map(fence.one_line, lines))

    def forget_memory(self, ids: list[str] | None = None, text: str = "", reason: str = "") -> str:
        """Move memories to the trash: those with some ids, or the one that some words mean. Messages are deleted.

        Returns:
            what was moved; nothing was, and what could be meant, where the words fit several.

        Raises:
            NotFoundError: there is no such memory; none was moved.
            RefusedError: a memory is another user's.
            UsageError: neither ids nor words, or both.
        """
        if bool(ids) == bool(text.strip()):
            raise UsageError("what is to be forgotten?", hint="Give `ids`, or `text`.")
        own = self.shared.own
        if not ids:
            meant = own.assistant.meant_by(text)
            if meant.one is None:
                return answers.to_choose(meant.likely)
            ids = [meant.one.memory_id]
        why = answers.short(" ".join(reason.split()), 50) or FORGOTTEN
        said = own.conversations.known(ids)
        messages = [each for each in ids if each in said]
        memories = [self.shared.own_id(memory_id) for memory_id in ids if memory_id not in said]
        saying = own.messages_saying([*memories, *messages])
        texts = {name: own.conversations.message(name).text for name in (*messages, *saying)}
        gone = own.forget([*memories, *messages], reason=why, about=text)
        self.forgotten += [text, *(memory.content for memory in gone), *texts.values()]
        return answers.forgotten(gone, texts)

    def suggest_strategy(
        self,
        tool: str,
        error: str,
        message: str = "",
        arguments: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> str:
        """What to do about a call that failed."""
        advice, owner = self.shared.suggest_strategy(
            tool, error, message=message, arguments=arguments or {}, context=context or {}
        )
        if advice.origin == "none":
            return "\n".join(("Nothing is known that mends this.", *map(fence.one_line, advice.notes)))
        held = advice.match.strategy.memory.memory_id if advice.match else "a language model"
        texts = [advice.reason, *advice.lines]
        if advice.arguments is not None:
            texts.append(f"arguments: {json.dumps(advice.arguments, ensure_ascii=False, default=str)}")
        told = answers.short("\n".join(filter(None, texts)), answers.ANSWER_TOKENS)
        own = advice.match and not owner
        after = "Tell `strategy_outcome` whether it helped." if own else "If it helps, `record_strategy`."
        whose = f", of {owner}, another user" if owner else ""
        return f"{fence.enclosed(fence.section('', [(f'strategy, {held}{whose}', told)]))}\n{after}"

    def record_strategy(
        self,
        tool: str,
        error: str,
        original: Mapping[str, Any],
        fixed: Mapping[str, Any],
        message: str = "",
        context: Mapping[str, Any] | None = None,
    ) -> str:
        """Remember how a failed call was mended.

        Raises:
            UsageError: the tool or the error has no usable name.
        """
        done = self.shared.own.strategies.record(
            tool, error, original=original, fixed=fixed, message=message, context=context or {}
        )
        return f"{done.outcome}: {done.memory.memory_id}, confidence {done.memory.confidence:.2f}"

    def strategy_outcome(self, id: str, success: bool, reason: str = "") -> str:
        """Note whether a strategy helped.

        Raises:
            NotFoundError, UsageError: there is no such strategy.
            RefusedError: it is another user's.
        """
        memory = self.shared.own.strategies.outcome(self.shared.own_id(id), success, reason=reason)
        return fence.one_line(
            f"{memory.memory_id}: confidence {memory.confidence:.2f}, used {memory.access_count} times"
        )

    def task(
        self,
        action: str,
        text: str = "",
        plan: list[str] | None = None,
        tool: str = "",
        arguments: Mapping[str, Any] | None = None,
        result: str | None = None,
        error: str | None = None,
        lessons: list[str] | None = None,
        session: str = MAIN,
    ) -> str:
        """Begin, follow or end the task of a session; what it is at then.

        Raises:
            ConflictError: there is a task already, and another is to be started.
            NotFoundError: there is none.
            UsageError: there is no such action, or something is missing.
        """
        own = self.shared.own
        if action == "start":
            own.tasks.start(text, session_id=session, plan=plan or ())
        elif action == "step":
            taken = own.tasks.step(text, session_id=session, tool_name=tool, args=arguments, result=result, error=error)
            if taken.closed:
                return answers.closed(taken.closed)
        elif action == "note":
            own.tasks.note(text, session_id=session)
        elif action == "complete":
            return answers.closed(own.tasks.complete(text, session_id=session, lessons=lessons or (), wait=False))
        elif action == "fail":
            return answers.closed(own.tasks.fail(text, session_id=session, lessons=lessons or (), wait=False))
        elif action != "show":
            raise UsageError(f"there is no action {action!r}", hint=f"Actions: {', '.join(schemas.TASK_ACTIONS)}.")
        return answers.state(own.tasks.text(session))

    def read_offloaded(self, reference: str, offset: int = 0, full: bool = False) -> str:
        """A part of a content that was laid aside, from a character on.

        Raises:
            NotFoundError: it is gone with its session.
            UsageError: no such reference can be.
        """
        return answers.part(reference, self.shared.own.sessions.read_offloaded(reference), offset, full=full)


_ADVICE = ((RefusedError, "refused"), (UsageError, "not done"), (MemctlError, "failed"))


def in_words(problem: MemctlError) -> str:
    """An error as an answer to a model."""
    word = next(word for kind, word in _ADVICE if isinstance(problem, kind))
    message = problem.message if problem.message[-1:] in ".?!" else f"{problem.message}."
    hint = "" if "memctl " in problem.hint else problem.hint
    return fence.one_line(f"{word}: {message} {hint}")

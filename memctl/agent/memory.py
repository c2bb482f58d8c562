"""An agent's whole memory in one object: what it hears and does goes in, what it should know next comes out.

Three modes: `static`, the framework controls (retrieve before a call, record after an exchange); `agent`,
the model controls, through tools; `both`.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, Self, TypeVar

from memctl.agent.schemas import ALL
from memctl.agent.shared import Shared
from memctl.agent.tools import Answer, Toolbox
from memctl.background import Worker
from memctl.context.cut import text_of
from memctl.context.history import is_pending
from memctl.context.service import ContextPack
from memctl.conversations.derived import tells_forgotten
from memctl.core.messages import ASSISTANT, TOOL, USER, Message
from memctl.core.sensitive import ALLOW, MASK, guarded
from memctl.errors import MemctlError, NotFoundError, RefusedError, UsageError
from memctl.maintenance import Step
from memctl.providers import waiting
from memctl.sessions.service import Ended
from memctl.sessions.windows import MAIN
from memctl.store import MemoryStore
from memctl.tasks.closing import Closed
from memctl.tasks.rules import Task
from memctl.tasks.service import Stepped

T = TypeVar("T")

PATIENCE = 1.0
"""Seconds for which `build_context` waits for a server that embeds the question or reranks; then it goes without."""

STATIC, AGENT, BOTH = MODES = ("static", "agent", "both")


class AgentMemory:
    """The memory of one agent: a session of one user's store, its task, its tools.

    Safe to use from several threads: calls are made one after the other, and let others go first while they wait for a
    model. What need not be waited for (all that a language model does, recording what was said, making room in the
    window) is done by a thread with a store of its own, after the call has returned; `settle` waits for it. Everything
    that was said is on disk when the call returns.

    What looks like a secret is masked, unless the setting `secrets` is `allow`: in the middle of a conversation nobody
    can be asked.

    Args:
        store: the user's own; it is not closed with this.
        session_id: two agents of one user hold two sessions.
        mode: `static`, `agent` or `both`.
        readable: stores of others that may be read, by tools and for contexts.
        tools: the list of tools that the model gets, `core` or `all`.
        system: the agent's system prompt.
        budget: tokens of the model's window; the setting `context_tokens` where None.
        background: whether there is a thread; without, everything is done within the call.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        session_id: str = MAIN,
        mode: str = BOTH,
        readable: Sequence[MemoryStore] = (),
        tools: str = ALL,
        system: str = "",
        budget: int | None = None,
        background: bool = True,
    ) -> None:
        if mode not in MODES:
            raise UsageError(f"there is no mode {mode!r}", hint=f"Modes: {', '.join(MODES)}.")
        self.store, self.session_id, self.mode = store, session_id, mode
        self.system, self.budget = system, budget
        self.toolbox = Toolbox(Shared(store, readable), tools=tools)
        self.problems: list[str] = []
        self._conversation = store.sessions.conversation(session_id, keep=mode != AGENT)
        self._turn = self.toolbox.shared.turn
        self._worker = Worker(store, self.problems.append) if background else None
        self._calls: set[str] = set()
        """Calls whose results are to come, and which began a step."""
        self._resumed = False
        self._limit = ""
        """Why the task ended by itself, until the next begins."""
        self._began = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What is said

    def on_user_message(self, text: str, *, speaker: str = "", now: datetime | None = None) -> Message:
        """The user said something, at `now` where it was not this moment.

        Steps of calls that have no result yet have failed: the model does not wait for these any more.

        Args:
            speaker: the name of the person, by which questions may ask for what was said.
        """
        with self._turn:
            self._resumed = self._resumed and not self._calls
            self._calls.clear()
            self._resume()
            self.toolbox.forgotten.clear()
            return self._heard({"role": USER, "content": text}, now, speaker)

    def on_assistant_message(self, text: str, *, speaker: str = "", now: datetime | None = None) -> Message:
        """The model answered; in the modes `static` and `both` the exchange is recorded."""
        with self._turn:
            keep = not tells_forgotten(text, self.toolbox.forgotten)
            added = self._heard({"role": ASSISTANT, "content": text}, now, speaker, keep=keep)
            before, exchange = _last_exchange(self._conversation.get())
        if self.mode != AGENT and exchange:
            self._later(lambda store: self._record(store, exchange, before, now))
        return added

    def on_tool_call(self, name: str, arguments: Mapping[str, Any], *, call_id: str = "", description: str = "") -> str:
        """The model calls a tool; a step of the task at hand begins with it, beside those of other calls under way.

        A step that was begun with `on_task_step` goes on: calls belong to it. Where the task has taken too many steps
        it ends, which `settle` and the notes of the next context say.

        Args:
            description: what the step is for; the tool's name where nobody says.

        Returns:
            the id of the call, for `on_tool_result`.
        """
        call_id = call_id or f"call_{secrets.token_hex(6)}"
        function = {"name": name, "arguments": json.dumps(dict(arguments), ensure_ascii=False, default=str)}
        call = {"id": call_id, "type": "function", "function": function}
        with self._turn:
            self._resume()
            self._heard({"role": ASSISTANT, "content": None, "tool_calls": [call]})
            task = self.task()
            if task and all(step.status != "in_progress" or step.call_id for step in task.steps):
                begun = self.on_task_step(description or name, tool_name=name, args=arguments, call_id=call_id)
                self._calls |= set() if begun.closed else {call_id}
        return call_id

    def on_tool_result(self, call_id: str, output: str, *, error: str = "") -> Message:
        """A tool answered, or failed with `error`; the step that began with its call ends."""
        with self._turn:
            added = self._heard({"role": TOOL, "tool_call_id": call_id, "content": error or output})
            self._calls.discard(call_id)
            task = self.task()
            if task and any(step.call_id == call_id for step in task.steps):
                with suppress(UsageError):  # its step has ended: this is its result once more
                    self.on_task_step(call_id=call_id, **({"error": error} if error else {"result": output}))
        return added

    def _masked(self, value: T) -> T:
        return guarded(value, ALLOW if self.store.settings.secrets == ALLOW else MASK)

    def _heard(
        self, message: Mapping[str, Any], now: datetime | None = None, speaker: str = "", *, keep: bool = True
    ) -> Message:
        named = {"speaker": speaker} if speaker else None
        with self._turn:
            added = self._conversation.add(self._masked(message), now=now, metadata=named, keep=keep)
            over = self.store.sessions.is_over(self._conversation.get(), budget=self.budget)
        if self._worker and not self._began and self.store.sessions.waiting():
            self._later(self._learn, "learning")  # what an earlier process, or an idle session, left
        self._began = True
        if over:
            budget = self.budget
            self._later(
                lambda store: store.sessions.conversation(self.session_id).flush(budget=budget, now=now), "window"
            )
        if self._worker and self.store.engine.embedder and self.store.engine.embedder.slow:
            self._later(lambda store: store.embed(), "vectors")
        return added

    def _record(
        self, store: MemoryStore, exchange: Sequence[Message], before: Sequence[Message], now: datetime | None = None
    ) -> None:
        """Facts and preferences of what the user said, which may correct what was said `before`. Saying the same again
        is only counted."""
        from memctl.extraction.extract import Utterance

        said, earlier = (
            [Utterance(message.role, message.text, message.time, message.id, message.speaker) for message in some]
            for some in (exchange, before)
        )
        self.problems.extend(store.extraction.run(said, before=earlier, command="exchange", now=now).notes)

    # The task

    def task(self) -> Task | None:
        """The task at hand; a process that crashed finds it again, the steps of its calls noted as interrupted."""
        with self._turn:
            self._resume()
            return self.store.tasks.get(self.session_id)

    def _resume(self) -> None:
        """Once after a start: steps of calls that another process made and did not finish have failed."""
        if not self._resumed:
            self._resumed = True
            self.store.tasks.interrupt_steps(self.session_id, waited_for=self._calls)

    def _past_limit(self) -> Closed | None:
        """What became of a task that ended by itself and that somebody still goes on with."""
        return None if self.store.tasks.get(self.session_id) else self.store.tasks.past_limit(self.session_id)

    def on_task_start(self, request: str, **more: Any) -> Task:
        """A task begins; `more` as `MemoryStore.start_task` (goal, plan, target, tags, trigger_type …)."""
        with self._turn:
            self._limit = ""
            return self.store.tasks.start(self._masked(request), session_id=self.session_id, **self._masked(more))

    def on_task_step(self, description: str = "", **more: Any) -> Stepped:
        """A step begins or ends; `more` as `MemoryStore.step_task` (tool_name, args, result, error).

        A task that has taken too many steps ends as a failure: `closed` of the answer says so, now and later.
        """
        with self._turn:
            if over := self._past_limit():
                return Stepped(over.task, over)
            done = self.store.tasks.step(self._masked(description), session_id=self.session_id, **more)
            if done.closed:
                self._limit = f"the task ended as failed: {done.task.outcome_summary}"
                self.problems.append(self._limit)
        if done.closed:
            self._learn_later()
        return done

    def on_task_complete(self, summary: str = "", **more: Any) -> Closed:
        """The task is done: it becomes an episode, and teaches what worked. A model says more on it later.

        One that ended by itself, after too many steps, stays as it is; the `notes` of the answer say so.
        """
        return self._closed(lambda **wait: self.store.tasks.complete(summary, **wait, **more))

    def on_task_fail(self, reason: str, **more: Any) -> Closed:
        """The task failed: it becomes an episode, and teaches why. One that ended by itself stays as it is."""
        return self._closed(lambda **wait: self.store.tasks.fail(reason, **wait, **more))

    def _closed(self, close: Callable[..., Closed]) -> Closed:
        with self._turn:
            if over := self._past_limit():
                return over
            closed = close(session_id=self.session_id, wait=self._worker is None)
        self._learn_later()
        return closed

    # What the model gets

    def build_context(self, question: str = "", **more: Any) -> ContextPack:
        """The messages of the model's next call: system prompt, what is known (not in the mode `agent`), task, history.

        Args:
            question: what to recall by; the user's last message where empty. It becomes a message of its own only where
                the conversation waits for no answer.
            more: as `MemoryStore.build_context` (budget, task, tokenizer, tools, now); `tools` beside memctl's own.
        """
        with self._turn, waiting.at_most(PATIENCE if self._worker else None):
            self._resume()
            messages = self._conversation.openai()
            last = next((text_of(m["content"]) for m in reversed(messages) if m["role"] == USER), "")
            ask = bool(question) and not is_pending(messages)
            given = {"system": self.system, "budget": self.budget, "recall": self.mode != AGENT, "ask": ask, **more}
            given["tools"] = [*more.get("tools", ()), *self.tools()]
            pack = self.toolbox.shared.build_context(question or last, session=self.session_id, **given)
            self._note_reuse(pack)
            return replace(pack, notes=(*pack.notes, self._limit)) if self._limit else pack

    def _note_reuse(self, pack: ContextPack) -> None:
        """The task at hand logs the memories it draws on."""
        if not pack.receipt or not self.store.tasks.get(self.session_id):
            return
        with suppress(MemctlError):  # a receipt or a task that went in this moment is no reason to fail
            used = [name for name in self.store.judgements.receipt(pack.receipt).used if self._is_memory(name)]
            if used:
                self.store.tasks.note(used=used, session_id=self.session_id)

    def _is_memory(self, name: str) -> bool:
        """Whether a receipt names a memory that is there; it names messages too."""
        try:
            return bool(self.store.engine.full_id(name))
        except MemctlError:
            return False

    def tools(self, form: str = "openai") -> list[dict[str, Any]]:
        """The tools for function calling, in the form of `openai` or `anthropic`; none in the mode `static`."""
        if self.mode == STATIC:
            return []
        return self.toolbox.openai() if form == "openai" else self.toolbox.anthropic()

    def call_tool(self, name: str, arguments: Mapping[str, Any] | str) -> Answer:
        """Do what the model asks by a tool; a mistake of the model gets an answer that lets it correct itself."""
        answer = self.toolbox.answer(name, arguments)
        self._learn_later()
        return answer

    # Ends

    def maintain(self, **more: Any) -> tuple[Step, ...]:
        """All the upkeep, as `memctl maintain`."""
        self.settle()
        with self._turn:
            return self.store.maintain(**more)

    def on_session_end(self, *, now: datetime | None = None) -> Ended:
        """The session is over: what was said becomes an episode and facts, but for the mode `agent`; its file goes.

        Where a language model is configured, they are made later, and `settle` waits for them: until then what was said
        waits on disk, and whoever opens the memories next makes them if this process cannot.
        """
        later = self._worker is not None and self.store.engine.has_llm
        if not later:
            self.settle()
        with self._turn:
            try:
                ended = self.store.end_session(self.session_id, wait=not later, now=now)
            except NotFoundError:  # nothing was said, or it ended already
                return Ended(self.session_id)
            except RefusedError as problem:  # somebody else wrote it: it stays as it is
                self.problems.append(problem.message)
                return Ended(self.session_id, kept=True)
        self._learn_later()
        return ended

    def settle(self, seconds: float | None = None) -> list[str]:
        """Wait for what was left for later.

        Args:
            seconds: how long at most; None: as long as an answer of the language model may take (`llm_timeout`).

        Returns:
            what went wrong there, or was done worse than it should be, since the last time.
        """
        if self._worker:
            self._say_left(self._worker.wait(self.store.settings.llm_timeout if seconds is None else seconds))
        problems = list(self.problems)
        del self.problems[: len(problems)]
        return problems

    def close(self, seconds: float | None = None) -> None:
        """Wait, at most so long (ten seconds where nothing is said), for what was left for later, and end the thread.

        `problems` says what was not done; it is on disk, and done later.
        """
        worker, self._worker = self._worker, None
        if worker:
            self._say_left(worker.close(seconds))

    def _say_left(self, left: int) -> None:
        if left:
            many = "1 piece" if left == 1 else f"{left} pieces"
            self.problems.append(f"{many} of background work not done yet: nothing is lost, `maintain` does the rest")

    def _later(self, act: Callable[[MemoryStore], Any], name: str = "") -> None:
        """Do something in the thread, where there is one; else now."""
        if self._worker:
            self._worker.submit(act, name)
            return
        try:
            with self._turn:
                act(self.store)
        except MemctlError as problem:
            self.problems.append(problem.message)

    def _learn_later(self) -> None:
        """Have the language model do what waits for it, in the thread."""
        if self._worker and self.store.engine.has_llm:
            self._later(self._learn, "learning")

    def _learn(self, store: MemoryStore) -> None:
        for taught in store.tasks.teach():
            self.problems.extend(taught.notes)
        for learned in store.sessions.learn_pending():
            self.problems.extend(learned.notes)


_EARLIER = 6
"""Messages before an exchange that a correction in it may be about."""


def _last_exchange(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """What came before what the user said last, and this with what was answered; without what is not to be kept."""
    spoken = [message for message in messages if message.role in (USER, ASSISTANT) and message.text]
    asked = next((at for at in range(len(spoken) - 1, -1, -1) if spoken[at].role == USER), len(spoken))
    before, exchange = spoken[max(0, asked - _EARLIER) : asked], spoken[asked:]
    return [m for m in before if not m.is_unrecorded], [m for m in exchange if not m.is_unrecorded]


class AsyncAgentMemory:
    """The same for asyncio: each method of `AgentMemory` as a coroutine, which runs the one core in a thread.

    `async with AsyncAgentMemory(memory) as agent: await agent.on_user_message("…")`
    """

    def __init__(self, memory: AgentMemory) -> None:
        self.memory = memory

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.memory.close)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.memory, name)
        if name.startswith("_") or not callable(method):
            raise AttributeError(name)

        async def call(*given: Any, **more: Any) -> Any:
            return await asyncio.to_thread(method, *given, **more)

        return call

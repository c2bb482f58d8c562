"""An agent's whole memory in one object: what it hears and does goes in, what it should know next comes out.

Three modes (system E): `static`, the framework controls (retrieve before a call, record after an exchange); `agent`,
the model controls, through tools; `both`.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from threading import RLock
from typing import Any, Self, TypeVar

from memctl.agent.shared import Shared
from memctl.agent.tools import Answer, Toolbox
from memctl.context.cut import text_of
from memctl.context.history import is_pending
from memctl.context.service import ContextPack
from memctl.core.messages import ASSISTANT, TOOL, USER, Message
from memctl.errors import MemctlError, RefusedError, UsageError
from memctl.secrets import ALLOW, MASK, guarded
from memctl.store import MemoryStore
from memctl.usecases.closing import Closed
from memctl.usecases.ending import Ended
from memctl.usecases.maintaining import Step
from memctl.usecases.sessions import MAIN
from memctl.usecases.tasks import Stepped
from memctl.working.tasks import Task

T = TypeVar("T")

STATIC, AGENT, BOTH = MODES = ("static", "agent", "both")


class AgentMemory:
    """The memory of one agent: a session of one user's store, its task, its tools.

    Safe to use from several threads: calls are made one after the other. What need not be waited for (recording what
    was said, making room in the window) is done by a thread of its own, after the call has returned; `settle` waits
    for it. Everything that was said is on disk when the call returns.

    What looks like a secret is masked, unless the setting `secrets` is `allow`: in the middle of a conversation nobody
    can be asked.

    Args:
        store: the user's own; it is not closed with this.
        session_id: two agents of one user hold two sessions.
        mode: `static`, `agent` or `both`.
        readable: stores of others that may be read.
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
        system: str = "",
        budget: int | None = None,
        background: bool = True,
    ) -> None:
        if mode not in MODES:
            raise UsageError(f"there is no mode {mode!r}", hint=f"Modes: {', '.join(MODES)}.")
        self.store, self.session_id, self.mode = store, session_id, mode
        self.system, self.budget = system, budget
        self.toolbox = Toolbox(Shared(store, readable))
        self.problems: list[str] = []
        self._conversation = store.conversation(session_id)
        self._lock = RLock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="memctl") if background else None
        self._pending: list[Future[None]] = []
        self._calls: set[str] = set()
        """Calls whose results are to come, and which began a step."""
        self._resumed = False
        self._limit = ""
        """Why the task ended by itself, until the next begins."""

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
        with self._lock:
            self._resumed = self._resumed and not self._calls
            self._calls.clear()
            self._resume()
            return self._heard({"role": USER, "content": text}, now, speaker)

    def on_assistant_message(self, text: str, *, speaker: str = "", now: datetime | None = None) -> Message:
        """The model answered; in the modes `static` and `both` the exchange is recorded."""
        with self._lock:
            added = self._heard({"role": ASSISTANT, "content": text}, now, speaker)
            exchange = _last_exchange(self._conversation.get())
        if self.mode != AGENT and exchange:
            self._later(lambda: self._record(exchange, now))
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
        with self._lock:
            self._resume()
            self._heard({"role": ASSISTANT, "content": None, "tool_calls": [call]})
            task = self.task()
            if task and all(step.status != "in_progress" or step.call_id for step in task.steps):
                begun = self.on_task_step(description or name, tool_name=name, args=arguments, call_id=call_id)
                self._calls |= set() if begun.closed else {call_id}
        return call_id

    def on_tool_result(self, call_id: str, output: str, *, error: str = "") -> Message:
        """A tool answered, or failed with `error`; the step that began with its call ends."""
        with self._lock:
            added = self._heard({"role": TOOL, "tool_call_id": call_id, "content": error or output})
            self._calls.discard(call_id)
            task = self.task()
            if task and any(step.call_id == call_id for step in task.steps):
                with suppress(UsageError):  # its step has ended: this is its result once more
                    self.on_task_step(call_id=call_id, **({"error": error} if error else {"result": output}))
        return added

    def _masked(self, value: T) -> T:
        return guarded(value, ALLOW if self.store.settings.secrets == ALLOW else MASK)

    def _heard(self, message: Mapping[str, Any], now: datetime | None = None, speaker: str = "") -> Message:
        named = {"speaker": speaker} if speaker else None
        with self._lock:
            added = self._conversation.add(self._masked(message), now=now, metadata=named)
            over = self.store.is_over(self._conversation.get(), budget=self.budget)
        if over:
            self._later(lambda: self._conversation.flush(budget=self.budget, now=now))
        return added

    def _record(self, exchange: Sequence[Message], now: datetime | None = None) -> None:
        """Facts and preferences of what the user said. Saying the same again is only counted."""
        from memctl.lifecycle.extraction.extract import Utterance

        said = [Utterance(message.role, message.text, message.time, message.id) for message in exchange]
        self.problems.extend(self.store.extract(said, command="exchange", now=now).notes)

    # The task

    def task(self) -> Task | None:
        """The task at hand; a process that crashed finds it again, the steps of its calls noted as interrupted."""
        with self._lock:
            self._resume()
            return self.store.task(self.session_id)

    def _resume(self) -> None:
        """Once after a start: steps of calls that another process made and did not finish have failed."""
        if not self._resumed:
            self._resumed = True
            self.store.interrupt_steps(self.session_id, waited_for=self._calls)

    def _past_limit(self) -> Closed | None:
        """What became of a task that ended by itself and that somebody still goes on with."""
        return None if self.store.task(self.session_id) else self.store.task_past_limit(self.session_id)

    def on_task_start(self, request: str, **more: Any) -> Task:
        """A task begins; `more` as `MemoryStore.start_task` (goal, plan, target, tags, trigger_type …)."""
        with self._lock:
            self._limit = ""
            return self.store.start_task(self._masked(request), session_id=self.session_id, **self._masked(more))

    def on_task_step(self, description: str = "", **more: Any) -> Stepped:
        """A step begins or ends; `more` as `MemoryStore.step_task` (tool_name, args, result, error).

        A task that has taken too many steps ends as a failure: `closed` of the answer says so, now and later.
        """
        with self._lock:
            if over := self._past_limit():
                return Stepped(over.task, over)
            done = self.store.step_task(self._masked(description), session_id=self.session_id, **more)
            if done.closed:
                self._limit = f"the task ended as failed: {done.task.outcome_summary}"
                self.problems.append(self._limit)
            return done

    def on_task_complete(self, summary: str = "", **more: Any) -> Closed:
        """The task is done: it becomes an episode, and teaches what worked.

        One that ended by itself, after too many steps, stays as it is; the `notes` of the answer say so.
        """
        with self._lock:
            return self._past_limit() or self.store.complete_task(summary, session_id=self.session_id, **more)

    def on_task_fail(self, reason: str, **more: Any) -> Closed:
        """The task failed: it becomes an episode, and teaches why. One that ended by itself stays as it is."""
        with self._lock:
            return self._past_limit() or self.store.fail_task(reason, session_id=self.session_id, **more)

    # What the model gets

    def build_context(self, question: str = "", **more: Any) -> ContextPack:
        """The messages of the model's next call: system prompt, what is known (not in the mode `agent`), task, history.

        Args:
            question: what to recall by; the user's last message where empty. It becomes a message of its own only where
                the conversation waits for no answer.
            more: as `MemoryStore.build_context` (budget, task, tokenizer, tools, now); `tools` beside memctl's own.
        """
        with self._lock:
            self._resume()
            messages = self._conversation.openai()
            last = next((text_of(m["content"]) for m in reversed(messages) if m["role"] == USER), "")
            ask = bool(question) and not is_pending(messages)
            given = {"system": self.system, "budget": self.budget, "recall": self.mode != AGENT, "ask": ask, **more}
            given["tools"] = [*more.get("tools", ()), *self.tools()]
            pack = self.store.build_context(question or last, session=self.session_id, **given)
            self._note_reuse(pack)
            return replace(pack, notes=(*pack.notes, self._limit)) if self._limit else pack

    def _note_reuse(self, pack: ContextPack) -> None:
        """The task at hand logs the memories it draws on (A)."""
        if pack.receipt and self.store.task(self.session_id):
            with suppress(MemctlError):  # a memory that went in this moment is no reason to go without the context
                used = self.store.receipt(pack.receipt).used
                if used:
                    self.store.note_task(used=used, session_id=self.session_id)

    def tools(self, form: str = "openai") -> list[dict[str, Any]]:
        """The tools for function calling, in the form of `openai` or `anthropic`; none in the mode `static`."""
        if self.mode == STATIC:
            return []
        return self.toolbox.openai() if form == "openai" else self.toolbox.anthropic()

    def call_tool(self, name: str, arguments: Mapping[str, Any] | str) -> Answer:
        """Do what the model asks by a tool; a mistake of the model gets an answer that lets it correct itself."""
        with self._lock:
            return self.toolbox.answer(name, arguments)

    # Ends

    def maintain(self, **more: Any) -> tuple[Step, ...]:
        """All the upkeep, as `memctl maintain`."""
        self.settle()
        with self._lock:
            return self.store.maintain(**more)

    def on_session_end(self, *, now: datetime | None = None) -> Ended:
        """The session is over: what was said becomes an episode and facts, and its file goes."""
        self.settle()
        with self._lock:
            try:
                return self.store.end_session(self.session_id, now=now)
            except RefusedError as problem:  # somebody else wrote it: it stays as it is
                self.problems.append(problem.message)
                return Ended(self.session_id, kept=True)

    def settle(self) -> list[str]:
        """Wait for what was left for later.

        Returns:
            what went wrong there, or was done worse than it should be, since the last time.
        """
        for future in self._pending:
            future.result()
        self._pending.clear()
        told, self.problems = self.problems, []
        return told

    def close(self) -> None:
        """Settle, and end the thread."""
        self.problems = self.settle()
        if self._worker:
            self._worker.shutdown()
            self._worker = None

    def _later(self, act: Callable[[], Any]) -> None:
        def work() -> None:
            try:
                with self._lock:
                    act()
            except MemctlError as problem:
                self.problems.append(problem.message)

        if self._worker is None:
            work()
            return
        self._pending = [future for future in self._pending if not future.done()]
        self._pending.append(self._worker.submit(work))


def _last_exchange(messages: Sequence[Message]) -> list[Message]:
    """What the user said last, and what was answered."""
    asked = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == USER), None)
    said = [] if asked is None else messages[asked:]
    return [message for message in said if message.role in (USER, ASSISTANT) and message.text]


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

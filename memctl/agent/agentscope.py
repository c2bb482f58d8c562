"""Long-term memory for AgentScope 2: `Agent(…, middlewares=[MemctlMiddleware("memories", "alice")])`.

Needs the extra `agentscope`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agentscope.message import Msg, TextBlock, ToolResultState
from agentscope.middleware import MiddlewareBase
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, ToolBase, ToolChunk

from memctl.agent import schemas
from memctl.agent.schemas import Tool
from memctl.agent.tools import Toolbox
from memctl.bootstrap import open_store
from memctl.context.fence import fenced
from memctl.core.recalled import without_recalled
from memctl.errors import MemctlError, UsageError

if TYPE_CHECKING:
    from agentscope.agent import Agent

STATIC, AGENT, BOTH = MODES = ("static", "agent", "both")

RECORD, RETRIEVE = "record_to_memory", "retrieve_from_memory"

TOOL_INSTRUCTIONS = """## Long-term memory

You have tools for a memory that lasts beyond this conversation. Look there before you answer what depends on the user,
on earlier work or on past decisions. Record there what will matter later."""

_ALLOWED = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="memctl: the agent's own memory")

_log = logging.getLogger(__name__)


class MemctlMiddleware(MiddlewareBase):
    """One user's memories as long-term memory of agents.

    Recalled memories stand at the end of the system prompt, in `<long_term_memory>`, for the time of one reply: they do
    not enter the agent's context, so they are not kept, summarised or learned again. What the user said is learned
    after the reply, in a thread; `flush` and `close` wait for that, and so does the end of the program. A memory that
    fails is logged and does not cost the reply.

    Args:
        store, user: as `memctl.open_store` takes them; made where they do not exist.
        mode: `static` recalls before each reply and learns after it; `agent` gives the agent tools, which `list_tools`
            returns; `both` does both. AgentScope's `static_control` and `agent_control` mean the same.
        tools: names of the tools the agent is given, out of `memctl.agent.schemas.TOOLS`.
        top: how many memories a recall gives at most.
        min_score: memories whose relevance, in [0, 1], is below are not recalled before a reply.

    Raises:
        UsageError: there is no such mode or tool.
        MemctlError: the store cannot be opened.
    """

    def __init__(
        self,
        store: str | Path | None = None,
        user: str | None = None,
        *,
        mode: str = BOTH,
        tools: Sequence[str] = (RECORD, RETRIEVE),
        top: int = 5,
        min_score: float = 0.1,
    ) -> None:
        self.mode = mode.removesuffix("_control")
        if self.mode not in MODES:
            raise UsageError(f"there is no mode {mode!r}", hint=f"Modes: {', '.join(MODES)}.")
        self.tools = tuple(map(schemas.named, tools))
        self.top, self.min_score = top, min_score
        self.memory = open_store(store, user, create=True)
        self.toolbox = Toolbox(self.memory)
        # A store of its own, so that a model that extracts does not keep the next recall waiting.
        self._learner = open_store(self.memory.folder.root.parent, self.memory.user)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="memctl")
        self._pending: set[Future[None]] = set()
        self._recalled: WeakKeyDictionary[Agent, str] = WeakKeyDictionary()

    async def on_reply(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., AsyncGenerator[Any, None]]
    ) -> AsyncGenerator[Any, None]:
        """Recall before a reply, learn after it."""
        messages = [] if self.mode == AGENT else _messages(input_kwargs.get("inputs"))
        said = user_text(messages)
        if messages:  # else a reply goes on after a confirmation, and what was recalled for it stays
            self._recalled[agent] = await asyncio.to_thread(self._recall, said) if said else ""
        answer = ""
        try:
            async for item in next_handler(**input_kwargs):
                if isinstance(item, Msg) and item.role == "assistant":
                    answer = item.get_text_content() or ""
                yield item
        finally:
            if said:
                self._later(said, answer)

    async def on_system_prompt(self, agent: Agent, current_prompt: str) -> str:
        """The prompt, with what the mode adds to it."""
        about_tools = "" if self.mode == STATIC else TOOL_INSTRUCTIONS
        return "\n\n".join(filter(None, (current_prompt, about_tools, self._recalled.get(agent, ""))))

    async def list_tools(self) -> list[ToolBase]:
        """The agent's tools, for its toolkit; none in mode `static`."""
        return [] if self.mode == STATIC else [self._for_agent(tool) for tool in self.tools]

    def _for_agent(self, tool: Tool) -> FunctionTool:
        async def call(**given: Any) -> ToolChunk:
            answer = await asyncio.to_thread(self.toolbox.answer, tool.name, given)
            state = ToolResultState.ERROR if answer.failed else ToolResultState.RUNNING
            return ToolChunk(content=[TextBlock(text=answer.text)], state=state)

        return FunctionTool(
            call,
            tool.name,
            tool.description,
            tool.schema,
            is_concurrency_safe=tool.read_only,
            is_read_only=tool.read_only,
            permission=None if tool.destructive else _ALLOWED,  # None: AgentScope asks the user
        )

    def _recall(self, said: str) -> str:
        """Memories for the prompt, empty where there are none."""
        try:
            with self.toolbox.shared.turn:
                hits = self.memory.query(said, top=self.top, min_score=self.min_score).hits
        except MemctlError as problem:
            _log.warning("nothing was recalled: %s", problem.message)
            return ""
        return fenced([hit.memory for hit in hits]) if hits else ""

    def _later(self, said: str, answer: str) -> None:
        """Learn from an exchange off the hot path, one after the other."""
        done = self._thread.submit(self._learn, said, answer)
        self._pending.add(done)
        done.add_done_callback(self._pending.discard)

    def _learn(self, said: str, answer: str) -> None:
        from memctl.lifecycle.extraction.extract import Utterance

        exchange = [Utterance("user", said), Utterance("assistant", without_recalled(answer))]
        try:
            report = self._learner.extract(exchange, command="agentscope")
        except MemctlError as problem:
            _log.error("an exchange was not learned from: %s", problem.message)
            return
        for note in report.notes:
            _log.info("%s", note)

    async def flush(self) -> None:
        """Wait until everything said so far is learned."""
        await asyncio.gather(*map(asyncio.wrap_future, tuple(self._pending)))

    def close(self) -> None:
        """Learn what waits, then release the store."""
        self._thread.shutdown()
        self._learner.close()
        self.memory.close()


def _messages(inputs: object) -> list[Msg]:
    """The messages in an agent's input; none where it is an event."""
    return [one for one in (inputs if isinstance(inputs, list) else [inputs]) if isinstance(one, Msg)]


def user_text(messages: Sequence[Msg]) -> str:
    """What the user says in some messages, without what memctl had put there."""
    texts = [message.get_text_content() or "" for message in messages if message.role == "user"]
    return without_recalled("\n".join(filter(None, texts))).strip()

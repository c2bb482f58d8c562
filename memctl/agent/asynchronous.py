"""An agent's memory for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Self

from memctl.agent.memory import AgentMemory


class AsyncAgentMemory:
    """Each method of an `AgentMemory` as a coroutine that runs it in a thread.

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

        async def call(*args: Any, **more: Any) -> Any:
            return await asyncio.to_thread(method, *args, **more)

        return call

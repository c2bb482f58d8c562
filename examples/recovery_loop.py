"""An agent that fails once, recovers, and the second time does not fail.

    python examples/recovery_loop.py [STORE]

The planner of this agent forgets to fill in the search words. The first time the tool fails, the agent finds the words
in its state, and memctl remembers how. The second time, with other words, memctl knows before the call.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from memctl import MemoryStore, Recovery, open_store

DOCUMENTS = ("Cats sleep for most of the day", "Feeding cats", "Dogs need three walks a day", "Training young dogs")


class Agent:
    """One task after the other; `failures` counts the calls that failed."""

    def __init__(self, store: MemoryStore) -> None:
        self.recovery = Recovery(store, fix=self.repair, prevent=True)
        self.state: dict[str, Any] = {}
        self.failures = 0

    def search_documents(self, query: str, limit: int = 10) -> list[str]:
        """The tool."""
        if not query:
            self.failures += 1
            raise ValueError("parameter 'query' must not be empty")
        return [document for document in DOCUMENTS if query in document.lower()][:limit]

    def plan(self) -> dict[str, Any]:
        """The arguments of the next call: this planner always leaves out the words."""
        return {"query": "", "limit": 2}

    def repair(self, error: Exception, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """The agent's own idea of what went wrong: slow, and perhaps a call of a language model."""
        return {**arguments, "query": self.state["inputs"]["query"]} if "'query'" in str(error) else None

    def answer(self, question: str) -> list[str]:
        """Search for what the user asks, with the help of what earlier failures taught."""
        self.state = {"inputs": {"query": question}}
        return self.recovery.run(self.search_documents, self.plan(), context=self.state)


def main(folder: str) -> None:
    """Two tasks with one agent, then what it has learned."""
    with open_store(folder, user="agent", create=True) as store:
        agent = Agent(store)
        for question in ("cats", "dogs"):
            before = agent.failures
            documents = agent.answer(question)
            print(f"{question}: {len(documents)} documents found; failed calls: {agent.failures - before}")
        learned = store.strategies.all()[0]
        print(learned.memory.content)
        print(f"Confidence {learned.memory.confidence:.2f}; helped: {learned.successes}")
        warned = store.strategies.warn("search_documents", {"query": ""})[0]
        print(f"Before the call: {warned.why}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)

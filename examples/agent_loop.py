"""An agent loop with a memory: it uses tools, fails, recovers by what it learned, ends its task, and remembers later.

python examples/agent_loop.py                                  with a scripted model, no network
python examples/agent_loop.py --url http://localhost:11434/v1 --model qwen3   with an OpenAI-compatible server
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memctl import Recovery, open_store
from memctl.agent.memory import AgentMemory

Reply = Mapping[str, Any]
Model = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], Reply]
"""From messages and tools to one assistant message in OpenAI's form."""

SYSTEM = "You look things up in the office's files for the user. Answer in one sentence."
MOST_ROUNDS = 8

FILES = {"rota.txt": "Alice has the pager from Wednesday.", "menu.txt": "Thursday: lentil soup."}
STATE = {"inputs": {"folder": "office"}}
"""What this agent knows beside the conversation."""

failures: list[str] = []


def read_file(name: str, folder: str = "") -> str:
    """The tool of this agent."""
    if not folder:
        failures.append(name)
        raise ValueError("folder must not be empty")
    return FILES[name]


READ_FILE = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read one of the office's files.",
        "parameters": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "folder": {"type": "string"}},
            "required": ["name"],
        },
    },
}


def turn(memory: AgentMemory, recovery: Recovery, model: Model, question: str) -> str:
    """One exchange: the user says something, the model calls tools until it has an answer."""
    memory.on_user_message(question)
    for _ in range(MOST_ROUNDS):
        reply = model(memory.build_context().messages, [READ_FILE, *memory.tools()])
        calls = reply.get("tool_calls") or []
        for call in calls:
            _call(memory, recovery, call)
        if not calls:
            memory.on_assistant_message(reply["content"])
            return str(reply["content"])
    return "I did not get to an answer."


def _call(memory: AgentMemory, recovery: Recovery, call: Mapping[str, Any]) -> None:
    name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
    call_id = memory.on_tool_call(name, arguments, call_id=call["id"])
    if name != "read_file":
        memory.on_tool_result(call_id, memory.call_tool(name, arguments).text)
        return
    try:
        output = recovery.run(read_file, arguments, context=STATE)
        memory.on_tool_result(call_id, output)
    except Exception as problem:
        memory.on_tool_result(call_id, "", error=f"{type(problem).__name__}: {problem}")


def from_state(problem: Exception, arguments: dict[str, Any]) -> Mapping[str, Any] | None:
    """What this agent tries by itself when a call fails."""
    return {**arguments, **STATE["inputs"]} if "folder" in str(problem) else None


# Models


def scripted(*replies: Reply | Callable[[str], Reply]) -> Model:
    """A model that says what is written for it; a function is given all that the model was shown."""
    left = iter(replies)

    def answer(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Reply:
        reply = next(left)
        return reply("\n".join(str(m.get("content") or "") for m in messages)) if callable(reply) else reply

    return answer


def calling(tool: str, **arguments: Any) -> Reply:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": f"call_{tool}", "function": function}]}


def served(url: str, name: str) -> Model:
    """A model behind an OpenAI-compatible server."""
    import httpx

    key = os.environ.get("OPENAI_API_KEY", "")
    client = httpx.Client(base_url=url, timeout=120, headers={"Authorization": f"Bearer {key}"} if key else {})

    def ask(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Reply:
        answer = client.post("chat/completions", json={"model": name, "messages": messages, "tools": tools})
        answer.raise_for_status()
        return answer.json()["choices"][0]["message"]

    return ask


def from_the_file(shown: str) -> Reply:
    return {"content": "From Wednesday." if FILES["rota.txt"] in shown else "I could not read the file."}


def from_memory(shown: str) -> Reply:
    """What a model would make of it: it knows only what stands in its context."""
    known = [fact for fact in ("From Wednesday", "prefer short answers") if fact in shown]
    return {"content": f"I remember: {'; '.join(known)}." if known else "I do not know."}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="base URL of an OpenAI-compatible server")
    parser.add_argument("--model", default="gpt-4o-mini")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_store(folder, user="alice", create=True) as store:
        recovery = Recovery(store, fix=from_state, prevent=True)

        print("-- first session")
        with AgentMemory(store, session_id="monday", system=SYSTEM) as memory:
            model = (
                served(options.url, options.model)
                if options.url
                else scripted(calling("read_file", name="rota.txt", folder=""), from_the_file)
            )
            memory.on_task_start("Find out when Alice has the pager", target="rota")
            question = "My name is Alice and I prefer short answers. When do I have the pager? It is in rota.txt."
            print("user: ", question)
            print("agent:", turn(memory, recovery, model, question))
            done = memory.on_task_complete("From Wednesday", lessons=["The rota is in rota.txt"])
            print("learned:", done.episode.content if done.episode else "")
            memory.on_session_end()

        print("-- second session, another day")
        with AgentMemory(store, session_id="friday", system=SYSTEM) as memory:
            model = served(options.url, options.model) if options.url else scripted(from_memory)
            question = "Who has the pager, and what does she like?"
            print("user: ", question)
            print("agent:", turn(memory, recovery, model, question))

        print(f"-- later: {len(failures)} call failed so far")
        print("read_file:", recovery.run(read_file, {"name": "menu.txt", "folder": ""}, context=STATE))
        print(f"{len(failures)} call failed so far: the fix was remembered, and used before the call")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

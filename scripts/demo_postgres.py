"""Two processes on one database: what one learns, the other knows at once. Run by `make demo-postgres`.

A PostgreSQL server of its own runs in a temporary folder, and is gone afterwards.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from databases import OWNER, PROGRAM, Databases, Server, UnavailableError  # noqa: E402

AGENT = """
import sys
from memctl import open_store
name, address = sys.argv[1:]
with open_store(address, "alice") as store:
    for line in sys.stdin:
        verb, _, text = line.strip().partition(" ")
        if verb == "add":
            store.add(text)
            print(f"{name}: noted {text!r}", flush=True)
        else:
            hits = store.query(text, top=1).hits
            print(f"{name}: {text} -> {hits[0].memory.content if hits else 'nothing'}", flush=True)
"""

STEPS = (
    ("first", "add Alice moved to Porto in May"),
    ("second", "ask where does Alice live?"),
    ("second", "add The deploy of Friday failed: the disk was full"),
    ("first", "ask why did the deploy fail?"),
)


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        server = Server(Path(directory) / "server")
        try:
            server.create()
            process = server.start()
        except UnavailableError as problem:
            print(f"there can be no server here: {problem}", file=sys.stderr)
            return 1
        try:
            _demo(Databases(server.address("postgres")))
        finally:
            server.stop("immediate")
            process.wait(60)
    return 0


def _demo(databases: Databases) -> None:
    databases.prepare("agents")
    print(f"a server with the database `agents`; the role {OWNER} owns the tables, {PROGRAM} uses them")
    store = databases.at("agents", PROGRAM)
    memctl = [str(Path(sys.executable).with_name("memctl")), "--store", store]
    subprocess.run([*memctl, "user", "add", "alice"], check=True)
    agents = {name: _agent(name, store) for name in ("first", "second")}
    for name, order in STEPS:
        agent = agents[name]
        assert agent.stdin
        assert agent.stdout
        agent.stdin.write(order + "\n")
        agent.stdin.flush()
        print(agent.stdout.readline().rstrip(), flush=True)
    for agent in agents.values():
        agent.communicate()
    print("\n$ memctl log", flush=True)
    subprocess.run([*memctl, "log"], check=True)


def _agent(name: str, store: str) -> subprocess.Popen[str]:
    """A process of its own, with a store of its own."""
    command = [sys.executable, "-c", AGENT, name, store]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    sys.exit(main())

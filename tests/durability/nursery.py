"""A process behind the shim (shim.c) that has everything imported, and forks a child for each case.

Run as a module it reads orders, one line of JSON each, and answers each with what the child said. `Nursery` is the
other end.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import pickle
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

COUNT, FAIL_ONCE, FAIL_FROM, SHORT, KILL = range(5)
CHANGE, LOOK, LOCK = 1, 2, 4


def built(folder: Path) -> Path | None:
    """The shim as a library; None where there is no compiler, or not this sort of system."""
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        return None
    target = folder / "shim.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-U_FORTIFY_SOURCE", "-o", str(target), str(HERE / "shim.c"), "-ldl"]
    return target if subprocess.run(command, capture_output=True, check=False).returncode == 0 else None


class Nursery:
    """The process, from the outside."""

    def __init__(self, shim: Path, behind: Sequence[str] = ()) -> None:
        """Start it, `behind` another program that looks on."""
        path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": path}
        command = [*behind, sys.executable, "-m", "durability.nursery"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __call__(self, steps: list[str], root: Path, **order: Any) -> dict[str, Any]:
        """Run operations in a child.

        Args:
            order: `mode`, `kinds`, `at`, `error` (of the shim); `trace`, a file to write; `snapshot`, a file for a
                `disk.snapshot` of the beginning (one of the end lies beside it); `states`, a folder to copy each whole
                state to.

        Returns:
            `killed`, and unless so: `calls` made; the last that `failed` on order; `outcomes`, one a step that was
            begun: None, or an error's class, whether it is memctl's, its message, hint and place; `later`, what the
            same process met when it asked the store once more, with the fault over.
        """
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps({"steps": steps, "root": str(root), **order}), file=self.process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert "broken" not in answer, answer["broken"]
        return answer

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


# Inside


def _main() -> None:
    _warm()
    for line in sys.stdin:
        order = json.loads(line)
        inlet, outlet = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(inlet)
            _child(order, outlet)
        os.close(outlet)
        said = b""
        while chunk := os.read(inlet, 65536):
            said += chunk
        os.close(inlet)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print(json.dumps({"killed": True} if killed else _heard(said, status)), flush=True)


def _warm() -> None:
    """Import, compile and load here what each child would have to, which costs more than what it is there for."""
    from durability import operations

    with tempfile.TemporaryDirectory() as folder:
        operations.template(Path(folder))
        with operations.opened(Path(folder)) as store:
            for act in operations.IN_STORE.values():
                with contextlib.suppress(Exception):
                    act(store)
    gc.freeze()


def _heard(said: bytes, status: int) -> dict[str, Any]:
    try:
        return {"killed": False, **json.loads(said)}
    except ValueError:
        return {"broken": f"status {status}: {said.decode()}"}


def _child(order: dict[str, Any], out: int) -> None:
    try:
        answer = _run(order)
    except BaseException:
        import traceback

        answer = {"broken": traceback.format_exc()}
    os.write(out, json.dumps(answer).encode())
    os._exit(0)


def _run(order: dict[str, Any]) -> dict[str, Any]:
    from durability import disk, operations

    root, steps = Path(order["root"]), order["steps"]
    numbers = iter(range(1, 10**9))
    secrets.token_hex = lambda length=32: f"{next(numbers):0{2 * length}x}"  # type: ignore[assignment]
    store = operations.opened(root)
    operations.fixed_ids(store)
    operations.BEFORE.get(steps[0], lambda store: store.sync())(store)
    in_folder = steps[0] in operations.IN_FOLDER
    if in_folder:
        store.close()
    if order.get("states"):
        _copy_states(Path(order["states"]), root)
    if order.get("snapshot"):
        Path(order["snapshot"]).write_bytes(pickle.dumps(disk.snapshot(root)))
    trace = os.open(order["trace"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if order.get("trace") else -1
    shim = ctypes.CDLL(None)
    shim.shim_failed.restype = ctypes.c_char_p
    error, at = order.get("error", 0), order.get("at", 0)
    shim.shim_start(os.fsencode(root), order.get("kinds", CHANGE), order.get("mode", COUNT), at, error, trace)
    outcomes = []
    for number, step in enumerate(steps):
        act = operations.IN_FOLDER[step] if in_folder else operations.IN_STORE[step]
        outcomes.append(_outcome(act, root if in_folder else store))
        shim.shim_mark(b"acknowledged" if outcomes[-1] is None else b"refused")
        if order.get("states"):
            _copy_state(Path(order["states"]), root, f"step {number}")
    calls = shim.shim_stop()
    if order.get("snapshot"):
        Path(order["snapshot"] + " of the end").write_bytes(pickle.dumps(disk.snapshot(root)))
    later = None
    if not in_folder:
        later = _outcome(lambda store: store.query("tea", now=operations.NOW), store)
        store.close()
    return {"calls": calls, "failed": shim.shim_failed().decode(), "outcomes": outcomes, "later": later}


def _outcome(act: Callable[[Any], Any], on: Any) -> list[Any] | None:
    from memctl.errors import MemctlError

    try:
        act(on)
    except Exception as problem:
        told = str(getattr(problem, "message", problem)), str(getattr(problem, "hint", ""))
        return [type(problem).__name__, isinstance(problem, MemctlError), *told, _where(problem)]
    return None


def _where(problem: BaseException) -> str:
    import traceback

    return " < ".join(f"{f.name}:{f.lineno}" for f in reversed(traceback.extract_tb(problem.__traceback__)[-8:]))


def _copy_states(target: Path, root: Path) -> None:
    """Copy the folder at the beginning, and each time a change is complete: what may be met after a crash."""
    from memctl.storage.files import journal

    finish = journal.finish
    _copy_state(target, root, "step -1")

    def finished(*given: Any) -> None:
        _copy_state(target, root, "change")
        finish(*given)

    journal.finish = finished


def _copy_state(target: Path, root: Path, name: str) -> None:
    shutil.copytree(root, target / f"{len(list(target.iterdir())):03} {name}", symlinks=True)


if __name__ == "__main__":
    _main()

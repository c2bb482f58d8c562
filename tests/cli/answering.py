"""`memctl` for tests that call it a hundred times: a process that has it imported, and forks a child for each call.

`program` is an executable that hands its arguments, environment, folder and standard streams to such a child, and ends
as that ends. Where it is killed, so is the child. Any number may run at once, servers too.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from failing.commands import warmed
from failing.nursery import own_path

_CLIENT = """#!{python} -IS
import _socket, os, sys
server = _socket.socket(_socket.AF_UNIX)
server.connect({address!r})
handles = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
server.sendmsg([b"x"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handles)])
variables = [part for item in os.environb.items() for part in item]
words = [os.fsencode(word) for word in sys.argv[1:]]
given = b"\\0".join([os.getcwdb(), b"%d" % len(variables), *variables, *words])
server.sendall(len(given).to_bytes(8, sys.byteorder) + given)
sys.exit((server.recv(1) or b"\\1")[0])
"""
"""It imports nothing but what Python has loaded anyway: `socket` and `json` would double the time it takes."""

_USUAL = (
    "list --tag x", "show x", "query tea", "context tea", "add tea", "maintain", "doctor", "git check", "log", "export",
    "session add user Hello", "task start Go", "knowledge list", "forget mem_20250108_23aad179f08d", "undo",
)  # fmt: skip
"""Commands that load what most commands use."""


@cache
def program(*modules: str) -> Path:
    """An executable that is the command, in a tenth of the time that it takes to start, while this process lives.

    Args:
        modules: what is imported beforehand, beside what most commands use.
    """
    stack = ExitStack()
    atexit.register(stack.close)
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="memctl-program-")))
    return stack.enter_context(_answering(folder, modules))


@contextmanager
def _answering(folder: Path, modules: Sequence[str]) -> Iterator[Path]:
    address, client = str(folder / "socket"), folder / "memctl"
    client.write_text(_CLIENT.format(python=sys.executable, address=address))
    client.chmod(0o755)
    command = [sys.executable, "-m", __name__, address, *modules]
    environment = {**os.environ, "PYTHONPATH": own_path()}
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as server:
        assert server.stdout
        assert server.stdout.read(5) == b"ready"
        yield client


def _main(address: str, modules: Sequence[str]) -> None:
    warmed(line.split() for line in _USUAL)
    for module in modules:
        import_module(module)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    gc.freeze()  # a child that looked through all of this for garbage would copy it
    os.write(1, b"ready")
    while select.select([listener, 0], [], [])[0] == [listener]:  # until the tests, and so this pipe, end
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            connection.send(bytes([_answered(connection, str(Path(address).with_name("memctl"))) & 255]))
            os._exit(0)
        connection.close()


def _answered(connection: socket.socket, command: str) -> int:
    """Be the command that was called; returns its exit code."""
    from memctl.cli.main import run

    _, handles, *_ = socket.recv_fds(connection, 1, 3)
    length = int.from_bytes(_received(connection, 8), sys.byteorder)
    folder, count, *parts = _received(connection, length).split(b"\0")
    _die_with(connection)
    variables, words = parts[: int(count)], parts[int(count) :]
    _become(folder, dict(zip(variables[::2], variables[1::2], strict=True)), handles)
    sys.argv = [command, *map(os.fsdecode, words)]
    try:
        run()
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _received(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        if not (more := connection.recv(length - len(data))):
            sys.exit("the caller was killed before it had said what to run")
        data += more
    return data


def _die_with(connection: socket.socket) -> None:
    """Be killed when the other end is closed: whoever kills the executable means the command."""
    if hasattr(fcntl, "F_SETSIG"):  # Linux
        fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(connection, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)


def _become(folder: bytes, variables: Mapping[bytes, bytes], handles: Any) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environb.update(variables)
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])

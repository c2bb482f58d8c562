"""`memctl` for programs that call it a hundred times: a process that has it imported, and forks a child for each call.

`answering` gives an executable that hands its arguments, environment, folder and standard streams to such a child.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from failing.commands import warmed
from failing.nursery import own_path

_CLIENT = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
environment = [[name.hex(), value.hex()] for name, value in os.environb.items()]
words = [os.fsencode(word).hex() for word in sys.argv[1:]]
socket.send_fds(server, [b"x"], [0, 1, 2])
server.sendall(json.dumps([os.getcwd(), environment, words]).encode())
server.shutdown(socket.SHUT_WR)
sys.exit((server.recv(1) or b"\\1")[0])
"""


@contextmanager
def answering(folder: Path) -> Iterator[Path]:
    """An executable in a folder that is answered as `memctl` is, while the block lasts."""
    address, client = str(folder / "socket"), folder / "memctl"
    client.write_text(_CLIENT.format(python=sys.executable, address=address))
    client.chmod(0o755)
    command = [sys.executable, "-m", __name__, address]
    environment = {**os.environ, "PYTHONPATH": own_path()}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as server:
        assert server.stdout
        assert server.stdout.read(5) == b"ready"
        yield client
        server.kill()


def _main(address: str) -> NoReturn:
    warmed([("list", "--tag", "x"), ("show", "x")])
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    os.write(1, b"ready")
    while True:
        connection, _ = listener.accept()
        child = os.fork()
        if child == 0:
            os._exit(_answered(connection))
        connection.send(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255]))
        connection.close()


def _answered(connection: socket.socket) -> int:
    """Be the command that was called; returns its exit code."""
    from memctl.cli.main import run

    _, handles, *_ = socket.recv_fds(connection, 1, 3)
    folder, variables, words = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
    _become(folder, {bytes.fromhex(name): bytes.fromhex(value) for name, value in variables}, handles)
    sys.argv = ["memctl", *(os.fsdecode(bytes.fromhex(word)) for word in words)]
    try:
        run()
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _become(folder: str, variables: Mapping[bytes, bytes], handles: Any) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environb.update(variables)
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    _main(sys.argv[1])

"""The distribution this program is installed from.

On the package index `memctl` is another program with the same command, so this one has another name there.
"""

from __future__ import annotations

import sys
from pathlib import Path

NAME = "memctl-files"
COMMAND = "memctl"

REINSTALL = f"Reinstall {NAME} to restore it."
UPGRADE = f"Upgrade {NAME}."


def add_extra(extra: str) -> str:
    """The shell command that installs an extra into the environment this program runs in.

    It names that environment: the distribution is installed there already, so no package index is asked for it.
    """
    import shlex
    from importlib.util import find_spec

    python = shlex.quote(sys.executable)
    installer = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    what = NAME if _version(NAME) else Path(__file__).resolve().parent.parent
    return f"{installer} {shlex.quote(f'{what}[{extra}]')}"


def executable() -> str:
    """The whole path of the command that runs now, or of the one beside this Python; its bare name where neither is."""
    import shutil

    running, beside = Path(sys.argv[0]), Path(sys.executable).with_name(COMMAND)
    for path in (running, beside) if running.name == COMMAND else (beside,):
        if path.is_file():
            return str(path.absolute())
    return shutil.which(COMMAND) or COMMAND


def clash() -> str:
    """What is wrong where another distribution called `memctl` is installed beside this one; empty where none is."""
    other = _version(COMMAND)
    if not other:
        return ""
    return (
        f"another distribution, {COMMAND} {other}, is installed in {sys.prefix}; it has the command and modules of "
        f"{NAME}, and each overwrites the other's files: uninstall both, then install {NAME} again"
    )


def _version(distribution: str) -> str:
    """The version that is installed in this environment; empty where it is not."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""

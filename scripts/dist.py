"""Build the wheel and the source distribution into `dist/`, check them, and try each in empty environments.

`make dist` runs it. Each is installed with every Python there is that memctl supports, in an environment of its own and
outside of this folder, and has to print the README's first transcript there. `--python PATH` takes that one alone.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import page_transcripts

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
OLDEST = tuple(int(part) for part in PROJECT["requires-python"].removeprefix(">=").split("."))
_ABOUT = "import ensurepip, sys, venv; print(sys.version_info[0], sys.version_info[1], sys.prefix == sys.base_prefix)"


class DistError(Exception):
    """What is wrong with what was built."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Build, check and try the distributions.")
    parser.add_argument("--python", type=Path, help="Try them with this Python alone.")
    chosen = parser.parse_args().python
    try:
        built = build(ROOT / "dist")
        check(built)
        same(built)
        for file in built:
            print(f"dist/{file.name}  {file.stat().st_size:,} bytes  sha256 {_sha256(file)}", flush=True)
        for python, version in [(chosen, str(chosen))] if chosen else pythons():
            for file in built:
                print(f"{version}: {file.name}: ", end="", flush=True)
                attempt(file, python)
                print("installed, prints what the README shows", flush=True)
    except DistError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


# Building


def build(target: Path) -> list[Path]:
    """Build both from the files that git knows, as they are now; the wheel is built from the source distribution.

    Returns:
        the source distribution and the wheel; what else was in `target` is removed.
    """
    with tempfile.TemporaryDirectory() as directory:
        source, out = Path(directory) / "source", Path(directory) / "out"
        for name in tracked() or ():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
        where = source if source.exists() else ROOT
        _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(where))
        shutil.rmtree(target, ignore_errors=True)
        return sorted(Path(shutil.copy(file, _made(target))) for file in out.iterdir())[::-1]


def tracked() -> list[str] | None:
    """The repository's files; None where this is not a repository, but an unpacked source distribution."""
    if not (ROOT / ".git").exists():
        return None
    names = _run("git", "-C", str(ROOT), "ls-files", "-z").split("\0")
    return sorted(name for name in names if name and (ROOT / name).exists())


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# Checking


def check(built: Iterable[Path]) -> None:
    """Whether they have good metadata and hold every file they should, and no other.

    Raises:
        DistError: they do not.
    """
    files = {("wheel" if file.suffix == ".whl" else "source"): file for file in built}
    _run(sys.executable, "-m", "twine", "check", "--strict", *map(str, files.values()))
    names = tracked()
    if names is not None:
        _compare(files["source"], {*names, "PKG-INFO"}, source_files(files["source"]))
        package = {name for name in names if name.startswith("memctl/")}
        _compare(files["wheel"], package, {n for n in wheel_files(files["wheel"]) if ".dist-info/" not in n})


def same(built: Sequence[Path]) -> None:
    """Whether the same files make the same packages again.

    Raises:
        DistError: they do not.
    """
    with tempfile.TemporaryDirectory() as directory:
        for one, other in zip(built, build(Path(directory) / "dist"), strict=True):
            if one.read_bytes() != other.read_bytes():
                raise DistError(f"{one.name}: built again, it differs")


def source_files(file: Path) -> set[str]:
    with tarfile.open(file) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def wheel_files(file: Path) -> set[str]:
    with zipfile.ZipFile(file) as archive:
        return set(archive.namelist())


def _compare(file: Path, wanted: set[str], there: set[str]) -> None:
    if wanted != there:
        missing, more = sorted(wanted - there), sorted(there - wanted)
        raise DistError(f"{file.name}: missing: {missing}; not wanted: {more}")


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


# Trying


def pythons() -> list[tuple[Path, str]]:
    """One Python for each minor version that memctl supports, and its name, from the `PATH` and from pyenv."""
    result: dict[tuple[int, int], Path] = {}
    for path in _candidates():
        done = subprocess.run([path, "-I", "-c", _ABOUT], capture_output=True, text=True, check=False)
        if done.returncode == 0:  # pyenv's shims of versions that are not chosen fail
            major, minor, alone = done.stdout.split()
            version = int(major), int(minor)
            if version >= OLDEST and alone == "True":
                result.setdefault(version, path)
    return [(result[version], "Python {}.{}".format(*version)) for version in sorted(result)]


def _candidates() -> Iterator[Path]:
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield from (p for p in sorted(Path(folder or ".").glob("python3*")) if re.fullmatch(r"python3(\.\d+)?", p.name))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob("versions/*/bin/python"))


def attempt(file: Path, python: Path) -> None:
    """Install a distribution in an empty environment and run the README's first transcript there.

    Raises:
        DistError: it cannot be installed, is not what runs, or prints something else.
    """
    with tempfile.TemporaryDirectory() as directory:
        venv = Path(directory).resolve() / "venv"
        _outside(venv.parent, str(python), "-m", "venv", str(venv))
        own = str(venv / "bin" / "python")
        _outside(venv.parent, own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(file))
        _outside(venv.parent, own, "-m", "pip", "check", "--disable-pip-version-check")
        place = _outside(venv.parent, own, "-I", "-c", "import memctl; print(memctl.__file__)").strip()
        if not Path(place).is_relative_to(venv):
            raise DistError(f"{file.name}: the memctl that runs is {place}")
        _same_transcript(venv / "bin")


def _outside(folder: Path, *command: str) -> str:
    """What a program prints that knows nothing of this repository."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MEMCTL_"))}
    return _run(*command, env=clean, cwd=folder)


def _same_transcript(programs: Path) -> None:
    first = page_transcripts.BLOCK.search((ROOT / "README.md").read_text("utf-8"))
    if not first:
        raise DistError("README.md: there is no transcript")
    wanted = page_transcripts.normal(first[0]).splitlines()
    printed = page_transcripts.normal(page_transcripts.filled(first[0], programs)).splitlines()
    if wanted != printed:
        raise DistError("\n".join(difflib.unified_diff(wanted, printed, "README.md", "printed", lineterm="")))


def _run(*command: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """What a program prints.

    Raises:
        DistError: it failed; with what it printed.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=cwd)
    if done.returncode:
        raise DistError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())

"""Figures of the program's structure, at one commit or several side by side: `python scripts/structure.py [COMMIT...]`.

`.` stands for the files as they are here. Lines are those of the files, with comments and empty ones. A feature is
spread over the packages that hold a module, class or function with its word in the name. With `--start`, two commands
are also timed, as they are here, against `import typer`.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "memctl"
LONG = 300
"""Lines of a module that is counted as long."""

FEATURES = ("strateg", "task", "conflict", "reflect", "session", "document|knowledge", "decay|fading", "feedback")
HOLDS_FEATURE = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    name: str
    lines: int
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package below `memctl` that it is in; itself where it is in none."""
        return self.name.split(".")[1] if "." in self.name else self.name

    @property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


# Reading


def modules(files: Mapping[str, bytes]) -> dict[str, Module]:
    program = {}
    for path, data in files.items():
        name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        program[name] = Module(name, data.count(b"\n"), ast.parse(data))
    return program


def sources(commit: str) -> dict[str, bytes]:
    if commit == ".":
        return {str(path.relative_to(ROOT)): path.read_bytes() for path in sorted((ROOT / PACKAGE).rglob("*.py"))}
    archive = subprocess.run(["git", "archive", commit, PACKAGE], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        names = [member for member in tar if member.name.endswith(".py")]
        return {member.name: tar.extractfile(member).read() for member in names}


# Counting


def sizes(program: Mapping[str, Module]) -> list[int]:
    """Lines of each function, its decorators and what is inside of it included."""
    return sorted(
        node.end_lineno - min([node.lineno, *(d.lineno for d in node.decorator_list)]) + 1
        for module in program.values()
        for node in module.functions
    )


def inner_imports(module: Module) -> int:
    """Imports inside of functions, each statement once."""
    nodes = {node for function in module.functions for node in ast.walk(function)}
    return sum(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes)


def imported(module: Module, names: Mapping[str, Module]) -> set[str]:
    """The modules of the program that one imports when it is imported itself."""
    names_seen: set[str] = set()
    for node in _at_import(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names_seen |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names_seen |= {alias.name for alias in node.names}
    return {name for name in names_seen if name in names and name != module.name}


def _at_import(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _is_for_types(node):
            continue
        yield node
        yield from _at_import(node)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def cycles(edges: Mapping[str, set[str]]) -> int:
    """Groups of modules that import each other, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups = 0

    def visit(name: str) -> None:
        nonlocal groups
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in edges[name]:
            if other not in index:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == index[name]:
            at = stack.index(name)
            groups += len(stack) - at > 1
            del stack[at:]

    for name in edges:
        if name not in index:
            visit(name)
    return groups


def public_names(commit: str) -> int:
    """Of `MemoryStore`, as Python sees them once all of it is imported."""
    code = "from memctl import MemoryStore; print(sum(not n.startswith('_') for n in dir(MemoryStore)))"
    if commit == ".":
        return int(_run([sys.executable, "-c", code], ROOT))
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit, PACKAGE], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        return int(_run([sys.executable, "-c", code], Path(folder)))


def _run(command: Sequence[str], folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def spread(program: Mapping[str, Module], feature: str) -> int:
    """How many packages hold something of a feature."""
    word = re.compile(feature, re.IGNORECASE)

    def holds(module: Module) -> bool:
        named = (node.name for node in ast.walk(module.tree) if isinstance(node, HOLDS_FEATURE))
        return any(map(word.search, (module.name, *named)))

    return len({module.package for module in program.values() if holds(module)})


# The table


def figures(commit: str) -> dict[str, str]:
    program = modules(sources(commit))
    functions = sizes(program)
    edges = {name: imported(module, program) for name, module in program.items()}
    classes = sum(isinstance(node, ast.ClassDef) for module in program.values() for node in ast.walk(module.tree))
    return {
        "lines": f"{sum(module.lines for module in program.values()):,}",
        "modules": f"{len(program)}",
        f"modules over {LONG} lines": f"{sum(module.lines > LONG for module in program.values())}",
        "public names of `MemoryStore`": f"{public_names(commit)}",
        "classes": f"{classes:,}",
        "functions": f"{len(functions):,}",
        "lines of a function: median / p90 / max": " / ".join(
            map(str, (int(statistics.median(functions)), functions[int(0.9 * len(functions))], functions[-1]))
        ),
        "groups of modules that import each other": f"{cycles(edges)}",
        "imports inside functions": f"{sum(map(inner_imports, program.values()))}",
        **{f"packages with {feature.replace('|', ' or ')}…": f"{spread(program, feature)}" for feature in FEATURES},
    }


def table(commits: Sequence[str]) -> str:
    columns = {("here" if commit == "." else commit): figures(commit) for commit in commits}
    head = ["|  | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    rows = [
        f"| {row} | " + " | ".join(column[row] for column in columns.values()) + " |" for row in figures(commits[0])
    ]
    return "\n".join(head + rows)


def starts() -> str:
    """How long two commands take to start, as multiples of `import typer`, medians of turns one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        memctl = [str(Path(sys.executable).with_name(PACKAGE)), "--store", folder]
        subprocess.run([*memctl, "init"], check=True, capture_output=True)
        subprocess.run([*memctl, "add", "Tea at four."], check=True, capture_output=True)
        commands = {
            "`import typer`": [sys.executable, "-c", "import typer"],
            "`memctl --help`": [*memctl, "--help"],
            "`memctl query`, cold": [*memctl, "query", "tea"],
        }
        taken = {name: [] for name in commands}
        for _ in range(15):
            for name, command in commands.items():
                taken[name].append(
                    _seconds(lambda command=command: subprocess.run(command, check=True, capture_output=True))
                )
    base = statistics.median(taken["`import typer`"])
    return "\n".join(f"{name}: {statistics.median(each) / base:.2f} x" for name, each in taken.items())


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs="*", default=["."])
    parser.add_argument("--start", action="store_true", help="time the start of two commands as well")
    options = parser.parse_args()
    print(table(options.commits))
    if options.start:
        print(starts())


if __name__ == "__main__":
    main()

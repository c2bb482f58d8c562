"""Fixtures for the tests of the local page: copies of the sample store, and visitors of a site that serves one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import copies
import pytest

from memctl import MemoryStore, open_store

from .site import Visitor, serving

SAMPLE = Path(__file__).resolve().parents[2] / "sample_store"
NOW = "2026-10-28T12:00:00Z"


@pytest.fixture(autouse=True)
def _the_day_of_the_sample_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCTL_NOW", NOW)


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, copies.Inodes]:
    """The sample store with its indexes, to be copied; and its inodes."""
    root = tmp_path_factory.mktemp("indexed") / "sample"
    shutil.copytree(SAMPLE, root, ignore=shutil.ignore_patterns(".memctl"))
    for path in (root, *root.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    for user in ("alice", "xiaolin"):
        with open_store(root, user) as store:
            store.sync()
    return root, copies.settled(root)


@pytest.fixture
def sample(
    tmp_path: Path, environment: Mapping[str, str], indexed: tuple[Path, copies.Inodes]
) -> Iterator[Callable[..., MemoryStore]]:
    """Opens a user's memories of a copy of the sample store."""
    root = tmp_path / "sample"
    copies.copy(indexed[0], root, indexed[1])
    with ExitStack() as stack:
        yield lambda user="alice": stack.enter_context(open_store(root, user, environment=environment))


@pytest.fixture
def visit(sample: Callable[..., MemoryStore]) -> Iterator[Callable[..., Visitor]]:
    """Opens a site of a store, the sample store's where none is given."""
    with ExitStack() as stack:

        def open_site(store: MemoryStore | None = None, *, user: str = "alice", read_only: bool = False) -> Visitor:
            return stack.enter_context(serving(store or sample(user), read_only=read_only))

        yield open_site


@pytest.fixture
def alice(sample: Callable[..., MemoryStore]) -> MemoryStore:
    return sample()


@pytest.fixture
def visitor(visit: Callable[..., Visitor], alice: MemoryStore) -> Visitor:
    """Somebody who looks at alice's memories."""
    return visit(alice).enter()

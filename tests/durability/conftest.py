"""One process behind the shim, one store to copy, for all tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import fast_folder

from durability import operations
from durability.shimmed import Nursery, built


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = built(tmp_path_factory.mktemp("shim"))
    if found is None:
        pytest.skip("needs Linux and a C compiler")
    return found


@pytest.fixture(scope="session")
def nursery(shim: Path) -> Iterator[Nursery]:
    with Nursery(shim) as found:
        yield found


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """The store all cases begin with."""
    folder = fast_folder()
    operations.template(folder)
    yield folder
    shutil.rmtree(folder)

"""An export writes over no file: what stands there may be all that somebody has."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl import MemoryStore
from memctl.cli.main import main
from memctl.errors import RefusedError


@pytest.mark.parametrize("options", [["--archive"], ["-o"], ["--dpo", "-o"], ["--format", "records", "-o"]])
def test_a_file_that_is_there_stays(
    store: MemoryStore, tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    store.add("Tea.")
    target, empty, new = (tmp_path / name for name in ("p.txt", "empty", "new"))
    target.write_text("precious")
    empty.touch()
    given = ["--store", str(store.folder.root.parent), "--user", "alice", "export", *options]
    assert main([*given, str(target)]) == RefusedError.exit_code
    told = capsys.readouterr().err
    assert "is there already" in told
    assert "move this one away" in told
    assert target.read_text() == "precious"
    assert [main([*given, str(path)]) for path in (empty, new)] == [0, 0]
    assert empty.read_bytes() == new.read_bytes()

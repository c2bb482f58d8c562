"""The user's name in `memory.json` after the folder was renamed or copied."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memctl.core.formats import document
from memctl.core.models import Change, Problem, TextEdit
from memctl.doctor.codes import NAME
from memctl.storage.files.layout import UserFolder
from memctl.storage.folder.view import FolderView

_USER_ID = re.compile(rb'"user_id"\s*:\s*("(?:[^"\\]|\\.)*")')


def problems(folder: UserFolder, header: Mapping[str, Any]) -> Iterator[Problem]:
    """The file and the folder have different names."""
    named = header.get("user_id")
    if isinstance(named, str) and named != folder.name:
        message = f"`user_id` is {named}, but the folder is called {folder.name}"
        yield Problem(document.FILE_NAME, message, 0, f"write {folder.name} into it", NAME)


def repaired(view: FolderView) -> Change:
    """The change that writes the folder's name into the file, every other byte unchanged."""
    data = view.read(document.FILE_NAME) or b""
    parsed = document.parse(data)
    start, end = parsed.array
    header = {**parsed.header, "user_id": view.folder.name}
    name = json.dumps(view.folder.name, ensure_ascii=False).encode()
    for match in (*_USER_ID.finditer(data, 0, start), *_USER_ID.finditer(data, end)):
        new = data[: match.start(1)] + name + data[match.end(1) :]
        if document.parse(new).header == header:
            return Change("doctor --fix", texts=(TextEdit(document.FILE_NAME, data, new),))
    return Change("doctor --fix", header=header)

"""One pass over a JSON text, value by value, with the place and a plain sentence where it is broken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from memctl.core.formats.strict_json import DECODER, StrictError, explained, misplaced
from memctl.errors import InvalidDataError

_SPACE = re.compile(r"[ \t\r\n]*")


class JsonReader:
    """A cursor over the text of one file, raising errors that name the place.

    Args:
        hint: what to do about a file that is broken.
    """

    def __init__(self, text: str, path: str, hint: str) -> None:
        self.text, self.path, self.at, self._hint = text, path, 0, hint

    def fail(self, message: str, at: int | None = None, hint: str = "") -> InvalidDataError:
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        return InvalidDataError(message, path=self.path, line=line, column=column, hint=hint or self._hint)

    def skip(self) -> str:
        """Move past white space and return the character there, empty at the end."""
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def expect(self, character: str) -> None:
        if (present := self.skip()) != character:
            if not present:
                raise self.fail(f"ends where {character!r} should be")
            comma = "expected a comma before this" if character in "]}" and present in '"{[' else ""
            raise self.fail(misplaced(self.text, self.at) or comma or f"expected {character!r}, found {present!r}")
        self.at += 1

    def value(self) -> Any:
        """Read one JSON value at the cursor."""
        self.skip()
        start = self.at
        try:
            value, self.at = DECODER.raw_decode(self.text, start)
        except json.JSONDecodeError as problem:
            raise self.fail(*explained(problem)) from None
        except StrictError as problem:
            raise self.fail(str(problem), start) from None
        except RecursionError:
            raise self.fail("nested too deeply", start) from None
        except ValueError as problem:
            raise self.fail(f"cannot be read: {problem}", start) from None
        return value

    def members(self) -> Iterator[str]:
        """Names of the object at the cursor; the caller reads each value."""
        self.expect("{")
        if self.skip() == "}":
            self.at += 1
            return
        while True:
            if (opening := self.skip()) != '"':
                here = f"found {opening!r}" if opening else "but it ends"
                raise self.fail(misplaced(self.text, self.at) or f"expected a name in double quotes, {here}")
            name = self.value()
            self.expect(":")
            yield name
            if self.skip() != ",":
                break
            self.at += 1
        self.expect("}")

    def elements(self) -> Iterator[None]:
        """Once for each element of the array at the cursor; the caller reads it."""
        self.expect("[")
        if self.skip() == "]":
            self.at += 1
            return
        while True:
            yield
            if self.skip() != ",":
                break
            self.at += 1
            if self.skip() == "]":
                raise self.fail(misplaced(self.text, self.at))
        self.expect("]")

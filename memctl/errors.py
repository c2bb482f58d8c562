"""Every error memctl raises on purpose: one tree, each class with its exit code and slug.

A message says what is wrong and where; a hint says what to do about it.
"""

from __future__ import annotations

import re

EXIT_DONE = 0
EXIT_NOT_FOUND = 1
EXIT_USAGE = 2
EXIT_INVALID = 3
EXIT_LOCKED = 4
EXIT_DEGRADED = 5
EXIT_IO = 6
EXIT_REFUSED = 7
EXIT_PROVIDER = 8
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


_SPECIAL = re.compile(r"[^\w./:@%+,=-]|^=")


def quoted(text: str) -> str:
    """The text as a word for a shell: bash, zsh and fish read it alike (they differ in what stands between quotes)."""
    return _SPECIAL.sub(r"\\\g<0>", text) or "''"


def argument(text: str) -> str:
    """As `quoted`, for the end of a command that a hint shows: no text is taken for an option."""
    return f"-- {quoted(text)}" if text.startswith("-") else quoted(text)


class MemctlError(Exception):
    """Base of all errors a user may see.

    Args:
        message: what is wrong, with the file, line or id it concerns.
        hint: what the user can do next; may be empty.
    """

    exit_code = EXIT_INVALID
    slug = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_dict(self) -> dict[str, object]:
        """The error as `--json` prints it."""
        return {"error": self.slug, "message": self.message, "hint": self.hint, "exit_code": self.exit_code}


class NotFoundError(MemctlError):
    """A user, memory, receipt or file that was named does not exist."""

    exit_code = EXIT_NOT_FOUND
    slug = "not-found"


class UsageError(MemctlError):
    """The call itself makes no sense: an unknown option value, a name that is not allowed."""

    exit_code = EXIT_USAGE
    slug = "usage"


class InvalidDataError(MemctlError):
    """A file or a value cannot be understood.

    Args:
        path: the file, as shown to the user; may be empty.
        line: 1-based line, 0 when unknown.
        column: 1-based column, 0 when unknown.
    """

    exit_code = EXIT_INVALID
    slug = "invalid-data"

    def __init__(self, message: str, *, path: str = "", line: int = 0, column: int = 0, hint: str = "") -> None:
        place = ":".join([path, *(str(n) for n in (line, column) if n)]) if path else ""
        super().__init__(f"{place}: {message}" if place else message, hint=hint)
        self.path, self.line, self.column, self.reason = path, line, column, message

    def as_dict(self) -> dict[str, object]:
        return super().as_dict() | {"path": self.path, "line": self.line, "column": self.column}


def located(text: str, hint: str = "") -> InvalidDataError:
    """The error whose message was kept as `path:line:column: reason`."""
    found = re.match(r"^([^:\n]+):(?:(\d+):)?(?:(\d+):)? (.*)$", text, re.DOTALL)
    if found is None:
        return InvalidDataError(text, hint=hint)
    path, line, column, reason = found.groups()
    return InvalidDataError(reason, path=path, line=int(line or 0), column=int(column or 0), hint=hint)


class FormatVersionError(InvalidDataError):
    """The file was written by a newer memctl."""

    slug = "format-version"


class LockedError(MemctlError):
    """Another process holds the user's lock, or the index's, for too long."""

    exit_code = EXIT_LOCKED
    slug = "locked"


class DegradedError(MemctlError):
    """`--strict` was asked and the answer is not what it should be."""

    exit_code = EXIT_DEGRADED
    slug = "degraded"


class StorageError(MemctlError):
    """The operating system refused to read or write: full disk, permission, missing folder."""

    exit_code = EXIT_IO
    slug = "io"


class DamagedError(StorageError):
    """The index is not as it was written. The next command drops it and rebuilds it from the files."""

    def __init__(self, why: object) -> None:
        hint = "Run the command again: the index is rebuilt from the files, and no memory is lost."
        super().__init__(f"the index is damaged ({why})", hint=hint)


class RefusedError(MemctlError):
    """memctl could do it, but will not without being told to: each refusal has its own flag."""

    exit_code = EXIT_REFUSED
    slug = "refused"


class ConflictError(RefusedError):
    """What is to be changed is no longer what it was."""

    slug = "conflict"


class InternalError(MemctlError):
    """Something memctl did not foresee: a bug."""

    exit_code = EXIT_INTERNAL
    slug = "internal"


class ProviderError(MemctlError):
    """An embedding model, reranker or language model is missing, broken or unreachable."""

    exit_code = EXIT_PROVIDER
    slug = "provider"


class UntrustedError(ProviderError):
    """A store names a server that the user of this machine has not said may be used."""

    slug = "untrusted"

"""Programs that git itself would run in a repository. memctl does not run them, and reports the relevant ones."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from memctl.errors import RefusedError
from memctl.git import process, queries
from memctl.git.installation import Finding, is_own_hook, settings
from memctl.storage.files.layout import UserFolder

CHECKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "reference-transaction")
"""Hooks that may refuse or change a commit."""

_NAMES_A_PROGRAM = re.compile(
    r"core\.(fsmonitor|hookspath|editor|pager|askpass|sshcommand|gitproxy|alternaterefscommand)|pager\..*"
    r"|filter\..*\.(clean|smudge|process)|diff\.(.*\.)?(command|textconv|external)|merge\..*\.driver"
    r"|gpg\.(.*\.)?(program|defaultkeycommand)|hook\..*\.command|sequence\.editor|credential\.(.*\.)?helper"
    r"|remote\..*\.(uploadpack|receivepack|vcs)|protocol\.(.*\.)?allow|trailer\..*\.(command|cmd)"
    r"|submodule\..*\.update|(diff|merge|gui)tool\..*\.(cmd|path)|(browser|man)\..*\.(cmd|path)|web\.browser"
    r"|interactive\.difffilter|sendemail\..*(cmd|server)|imap\.tunnel|lfs\..*\.(clean|smudge|path)"
    r"|gc\.recentobjectshook|include\.path|includeif\..*\.path"
)
"""Settings that make git run a program or read settings from elsewhere, in the form in which git lists them."""


def named_here(folder: UserFolder) -> Finding:
    """Programs, other than memctl's, that a repository's own settings and hooks name."""
    where = queries.need(folder.root)
    own = settings()
    local = [(key, value) for scope, key, value in process.configuration(where) if scope in ("local", "worktree")]
    keys = {key for key, value in local if _NAMES_A_PROGRAM.fullmatch(key) and own.get(key) != value}
    programs = ", ".join([*sorted(keys), *_foreign_hooks(queries.hooks(where))])
    fix = "git runs them, memctl does not; if they are not yours: `git config --unset KEY`, delete the hook"
    return Finding("programs", not programs, programs or "none but memctl's", fix, wanted=False)


def _foreign_hooks(folder: Path) -> list[str]:
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return [f"hooks/{path.name}" for path in paths if "." not in path.name and _runs(path) and not is_own_hook(path)]


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def check_commit(where: Path, places: Sequence[str], *, verify: bool, sign: bool) -> None:
    """Refuse a commit for which git would run a relevant program.

    Args:
        places: pathspecs of what to commit.
        verify: hooks are relevant.
        sign: signing is relevant.

    Raises:
        RefusedError: git would run such a program.
    """
    with_git = f"git -C {shlex.quote(str(where))} commit"
    if hooks := list(_hooks(where)) if verify else ():
        hint = f"`git add`, then `{with_git}` runs them; --no-verify commits without."
        raise RefusedError(f"memctl does not run the hooks of this repository: {', '.join(hooks)}", hint=hint)
    if sign and _signs(where):
        hint = f"`git add`, then `{with_git}` signs; --no-gpg-sign commits without."
        raise RefusedError("memctl does not sign commits, but commit.gpgSign is set", hint=hint)
    if nested := list(_nested(where, places)):
        hint = f"Remove its .git, or add it to .gitignore; or commit with git itself: `git add`, then `{with_git}`."
        raise RefusedError(f"memctl does not commit a nested repository: {nested[0]}", hint=hint)
    if filtered := list(_filtered(where, places)):
        more = f" and {len(filtered) - 3} more" if len(filtered) > 3 else ""
        hint = f"Commit it with git itself: `git add`, then `{with_git}`; or remove the filter from .gitattributes."
        raise RefusedError(f"memctl does not run the filter for {', '.join(filtered[:3])}{more}", hint=hint)
    if (queries.git_dir(where) / "MERGE_AUTOSTASH").exists():
        hint = f"Conclude it with git itself: `git add`, then `{with_git}`."
        raise RefusedError("git applies a stash after this merge, memctl does not", hint=hint)


def _hooks(where: Path) -> Iterator[str]:
    """Hooks, other than memctl's, that git would run for a commit: files, and configured hooks (git 2.54)."""
    for path in map(queries.hooks(where).joinpath, CHECKS):
        if _runs(path) and not is_own_hook(path):
            yield path.name
    for _, key, value in process.configuration(where):
        if re.fullmatch(r"hook\..*\.event", key) and value in CHECKS:
            yield key.removesuffix(".event")


def _signs(where: Path) -> bool:
    return process.run(where, "config", "--type=bool", "--get", "commit.gpgSign").stdout.strip() == b"true"


def _nested(where: Path, places: Iterable[str]) -> Iterator[str]:
    """Nested repositories within the places, in which git would run itself."""
    staged = queries.names(process.run(where, "ls-files", "-z", "--stage", "--", *places).stdout)
    yield from (line.partition("\t")[2] for line in staged if line.startswith(_LINKED))
    others = process.run(where, "ls-files", "-z", "--others", "--exclude-standard", "--", *places).stdout
    yield from (name for name in queries.names(others) if name.endswith("/"))


_LINKED = "160000 "
"""The mode of an entry for a nested repository."""


def _filtered(where: Path, places: Iterable[str]) -> Iterator[str]:
    """Files whose content a filter would change."""
    keys = (key for _, key, value in process.configuration(where) if value)
    filters = {match[1] for key in keys if (match := re.fullmatch(r"filter\.(.*)\.(?:clean|process)", key))}
    if not filters:
        return
    files = process.run(where, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *places).stdout
    output = queries.names(process.run(where, "check-attr", "-z", "--stdin", "filter", given=files).stdout)
    yield from (path for path, name in zip(output[::3], output[2::3], strict=False) if name in filters)

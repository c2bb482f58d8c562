"""`memctl git`: the user's own git, set up for memory files, and a few of its commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.options import current
from memctl.errors import quoted
from memctl.present import plain

if TYPE_CHECKING:
    from memctl.storage.files.layout import UserFolder

Hooks = Annotated[
    bool, typer.Option("--hooks", help="Also set hooks: check before a commit, sync after a merge or checkout.")
]


def init(hooks: Hooks = False) -> None:
    """Make a user's folder ready for git, or all users' where none is named.

    Makes a repository unless the folder is in one; writes .gitignore and .gitattributes; sets the merge and diff driver
    in the repository's own configuration.

    Example: memctl git init --user alice --hooks
    """
    folders = _folders()
    _ready(folders[0].root if len(folders) == 1 else options.store_root(), folders, hooks)


def _ready(root: Path, folders: list[UserFolder], hooks: bool) -> None:
    from memctl.git import installation

    where, new, written = installation.initialise(root, folders)
    done = installation.install(where, hooks=hooks)
    if current.json:
        render.as_json({"repository": str(where), "new": new, "files": written, "changed": done})
        return
    render.say(f"{'made' if new else 'found'} the repository {where}")
    for told in (f"wrote {', '.join(written)}" if written else "", *done):
        if told:
            render.say(told)
    render.say("next: `memctl git commit`")


def made_ready(folder: UserFolder) -> dict[str, Any]:
    """What `memctl init --git` does: as `init`, for one folder."""
    from memctl.git import installation, process
    from memctl.storage.files import layout

    if not process.installed():
        return {"repository": "", "new": False, "files": layout.prepare_git(folder)}
    where, new, written = installation.initialise(folder.root, [folder])
    installation.install(where)
    return {"repository": str(where), "new": new, "files": [Path(name).name for name in written]}


def install(hooks: Hooks = False) -> None:
    """Set the merge and diff driver in this clone.

    Each clone needs it once: git takes no programs from a repository.

    Example: memctl git install
    """
    from memctl.git import asking, installation, settling

    folders = _folders()
    where = asking.need(folders[0].root)
    done = installation.install(where, hooks=hooks)
    if current.json:
        render.as_json({"repository": str(where), "changed": done})
        return
    for told in done or ["everything is set already"]:
        render.say(told)
    for folder in folders:
        if settling.marked(folder):
            settle = f"`memctl git settle --user {quoted(folder.name)}`"
            render.say(f"{folder.name}: git left conflict markers; {settle} settles them")


def status() -> None:
    """Show what is not committed: the files as git says it, and the memories.

    Example: memctl git status
    """
    from memctl.git import asking, commits, installation

    told = []
    for folder in _folders():
        asking.need(folder.root)
        found = commits.uncommitted(folder)
        told.append(
            {
                "user": folder.name,
                "files": commits.status(folder),
                **vars(found),
                "merges": vars(installation.merges(folder)),
            }
        )
    if current.json:
        render.as_json(told)
        return
    for each in told:
        render.say_text("\n".join(each["files"]))
        render.say(f"{each['user']}: {_memories(each)}")
        if not each["merges"]["ok"]:
            render.say(f"{each['user']}: {_found(each['merges'])}")


def _memories(found: dict[str, Any]) -> str:
    counts = [f"{len(found[what])} {what}" for what in ("added", "changed", "removed") if found[what]]
    return (
        f"memories: {', '.join(counts)} since the last commit"
        if counts
        else "no memory is different from the last commit"
    )


def commit(
    message: Annotated[
        str, typer.Option("--message", "-m", help="What the commit says; the numbers otherwise.", metavar="TEXT")
    ] = "",
    unsettled: Annotated[
        bool, typer.Option("--unsettled", help="Commit a merge although conflicts are not settled.")
    ] = False,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Commit without the checks of hooks.")] = False,
    no_gpg_sign: Annotated[
        bool, typer.Option("--no-gpg-sign", help="Commit without a signature, although git is set to sign.")
    ] = False,
) -> None:
    """Commit a user's folder, and nothing else that may be staged.

    Without -m the message tells how many memories are different. Nothing that git would run is run: no hook, no filter,
    no signature; where it would be missed, the commit is refused. The check of memctl's own hook is made.

    Example: memctl git commit -m "Notes from Monday"
    """
    from memctl.git import asking, commits, installation

    folders = _folders()
    asking.need(folders[0].root)
    written = installation.complete(folders)
    name, told = commits.commit(folders, message, allow_unsettled=unsettled, verify=not no_verify, sign=not no_gpg_sign)
    if current.json:
        render.as_json({"commit": name, "message": told, "files": written})
    if written:
        render.say(f"wrote {', '.join(written)}")
    render.say(f"committed {name}: {plain.one_line(told)}" if name else "nothing to commit")
    if name and (going := asking.under_way(folders[0].root)):
        render.say(f"`git {going} --continue` goes on")


ON_A_TERMINAL = 20
"""How many commits of a user a person is shown who gave no number; a program gets all of them."""


def log(
    number: Annotated[
        int | None,
        typer.Option("--number", "-n", help="How many, at most. 20 on a terminal, else all.", min=1, metavar="N"),
    ] = None,
) -> None:
    """List the commits that touch a user's folder.

    `memctl log` tells what was done on this machine, committed or not.

    Example: memctl git log -n 5
    """
    from memctl.git import asking, commits

    number = number or (ON_A_TERMINAL if render.on_terminal() else sys.maxsize)
    found: list[dict[str, str]] = []
    for folder in _folders():
        asking.need(folder.root)
        found += [each for each in commits.history(folder, number) if each not in found]
    if current.json:
        render.as_json(found)
        return
    rows = [(each["commit"], each["date"], each["author"], each["subject"]) for each in found]
    render.table(("commit", "date", "author", "subject"), rows)


def check() -> None:
    """Look whether this clone has what git needs for memory files.

    Example: memctl git check
    """
    from memctl.errors import InvalidDataError
    from memctl.git import installation, programs

    folders = _folders()
    found = [(each.name, told) for each in folders for told in (*installation.check(each), programs.named_here(each))]
    if current.json:
        render.as_json([{"user": name, **vars(finding)} for name, finding in found])
    for name, finding in found:
        mark = "ok" if finding.ok else "missing" if finding.wanted else "-"
        render.say(f"{mark:8}{name}: {_found(vars(finding))}")
    missing = [finding for _, finding in found if finding.wanted and not finding.ok]
    if missing:
        many = "1 thing is" if len(missing) == 1 else f"{len(missing)} things are"
        raise InvalidDataError(f"{many} missing for git", hint="They are listed above, with what mends them.")


def _found(finding: dict[str, Any]) -> str:
    fix = f"  → {finding['fix']}" if not finding["ok"] else ""
    return f"{finding['name']}: {plain.one_line(finding['told'], 200)}{fix}"


def settle() -> None:
    """Settle conflict markers that git left where it had no merge driver.

    Merges memory.json by records, as the driver would have. A copy of the file with markers is kept.

    Example: memctl git settle
    """
    from memctl.bootstrap import open_store
    from memctl.git import settling

    told = []
    for folder in _folders():
        done = settling.settle(folder)
        told.append({"user": folder.name, **vars(done)})
        if done.files:
            with open_store(folder.root.parent, folder.name) as store:
                store.sync()
    if current.json:
        render.as_json(told)
        return
    for each in told:
        _tell_settled(each)


def _tell_settled(done: dict[str, Any]) -> None:
    if not done["files"] and not done["by_hand"]:
        render.say(f"{done['user']}: no conflict markers")
    for name, kept in zip(done["files"], done["kept"], strict=True):
        render.say(f"{done['user']}: merged {name}; as it was: {kept}")
    if done["conflicts"]:
        many = len(done["conflicts"])
        render.say(f"{many} conflict{'' if many == 1 else 's'} to settle: `memctl conflicts`")
    for place in done["by_hand"]:
        render.say(f"{done['user']}: {place}: holds git conflict markers in a text; settle them by hand")
    if done["files"]:
        render.say("then `memctl git commit`; `memctl git install` makes git merge by records from now on")


def transcripts(
    wanted: Annotated[
        str, typer.Argument(help="on or off; shows how it is otherwise.", metavar="[on|off]", show_default=False)
    ] = "",
) -> None:
    """Put transcripts under git, or take them out of it.

    Messages are private to this machine: git ignores their folder. `on` is a decision for this machine alone: the next
    commit holds every message, and whoever gets it can read them. `off` keeps them out again; it changes no commit that
    was made.

    Example: memctl git transcripts on; memctl git transcripts off
    """
    from memctl.errors import UsageError
    from memctl.git import transcripts as shared

    if wanted not in ("", "on", "off"):
        raise UsageError(f"{wanted!r} is neither on nor off", hint="memctl git transcripts on")
    found = [(each, shared.put(each, wanted == "on") if wanted else shared.state(each)) for each in _folders()]
    if current.json:
        render.as_json([{"user": each.name, **vars(state), "problem": state.problem} for each, state in found])
        return
    for each, state in found:
        place = "in git" if state.shared else "private to this machine"
        render.say(f"{each.name}: {place} ({state.files} files, {state.size:,} bytes)")
        if state.problem:
            render.say(f"{each.name}: {state.problem}")
        if state.tracked and not state.shared:
            render.say(f"git forgets them, and they stay on disk: `git -C {each.root} rm -r --cached transcripts`")
            render.say("then commit; the commits that hold them stay as they are")


# What git calls


def merge_driver(base: Path, ours: Path, theirs: Path, name: str) -> None:
    """Merge three versions of a memory file into the second one; git calls this.

    Example: memctl git merge-driver BASE OURS THEIRS memory.json
    """
    from memctl.git import merging

    code, told = merging.merge_driver(base, ours, theirs, name)
    if told:
        render.warn(told)
    raise typer.Exit(code)


def diff_driver(path: Path) -> None:
    """Print a memory.json with a block for each record; git calls this to show differences.

    Example: memctl git diff-driver alice/memory.json
    """
    from memctl.errors import MemctlError
    from memctl.git import diffs

    data = path.read_bytes()
    try:
        text = diffs.readable(data)
    except MemctlError:
        text = data.decode("utf-8", "replace")
    sys.stdout.buffer.write(plain.clean(text).encode("utf-8", "replace"))


def hook(name: str) -> None:
    """Do what a hook of git is for: pre-commit, post-merge or post-checkout.

    Example: memctl git hook pre-commit
    """
    from memctl.git import hooks

    if name != "pre-commit":
        _sync_all()
        return
    hooks.check(hooks.Tree(Path.cwd(), hook=True))


def _sync_all() -> None:
    """Bring every index in this working tree up to date; git goes on whatever comes of it."""
    from memctl.bootstrap import open_store
    from memctl.errors import MemctlError
    from memctl.git import asking, hooks

    where = asking.top(Path.cwd())
    for folder in hooks.folders_in(where) if where else ():
        try:
            with open_store(folder.parent, folder.name) as store:
                report = store.sync()
        except (MemctlError, OSError) as problem:
            render.warn(f"memctl: {folder.name}: {problem}")
            continue
        if report.blocked:
            render.warn(f"memctl: {folder.name}: {report.blocked}")


def _folders() -> list[UserFolder]:
    """The users that are meant: the one that is named, here or configured; else all.

    Raises:
        NotFoundError: there is no store or no user.
    """
    import os

    from memctl import bootstrap, config
    from memctl.errors import NotFoundError
    from memctl.storage.files import layout

    root = options.store_root()
    named = current.user or os.environ.get(layout.USER_VARIABLE) or bootstrap.user_here(root) or config.load(root).user
    if named:
        return [layout.find_user(root, named)]
    if not (names := layout.users(root)):
        raise NotFoundError(f"there is no memory store in {root}", hint="Make one with `memctl init`.")
    return [layout.find_user(root, name) for name in names]


GROUP = options.Commands(
    "Keep memories in git: commit, merge by record and field, readable differences.\n\n"
    "Thin over your own git; every command of git works, too.\n\n"
    "Example: memctl git init; memctl git commit",
    {
        "init": init,
        "install": install,
        "status": status,
        "commit": commit,
        "log": log,
        "check": check,
        "settle": settle,
        "transcripts": transcripts,
    },
    hidden={"merge-driver": merge_driver, "diff-driver": diff_driver, "hook": hook},
)

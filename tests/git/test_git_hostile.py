"""Git runs nothing: each known way in which a repository makes git run a program, tried with every command of memctl's
that calls git.

For each way plain git is shown to run the program first, so that a test cannot be void unnoticed. After that neither the
program has run, nor has git started any other: git itself writes down (Trace2) what it starts.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import copies
import pytest
from conftest import GIT_STAYS, PATIENCE, THOROUGH, count_cases

import memctl
from memctl import open_store
from memctl.cli.main import main
from memctl.errors import RefusedError, StorageError
from memctl.git import commits, installation, process, revisions
from memctl.storage.files.layout import UserFolder

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

SAFE = {0, 1, 2, 3, 6, 7}
"""Exit codes of a command that worked, or refused with a reason; never 70, a fault of memctl's."""


@dataclass
class Trap:
    """A user's folder in a repository, a program that notes that it was run, and git's own notes of what it starts."""

    root: Path
    base: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def program(self) -> Path:
        return self.base / "program"

    @property
    def store(self) -> Path:
        return self.root.parent

    def plain_git(self, *arguments: str, folder: Path | None = None, tty: bool = False) -> str:
        """Run git as people do; whether it fails is not looked at."""
        environment = os.environ | self.environment | {"GIT_CONFIG_GLOBAL": str(self.base / "plain")}
        output, terminal = os.openpty() if tty else (None, None)
        try:
            done = subprocess.run(
                ["git", *arguments], cwd=folder or self.root, env=environment, check=False, timeout=PATIENCE,
                stdin=subprocess.DEVNULL, stdout=terminal or subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        finally:
            for handle in (output, terminal):
                if handle is not None:
                    os.close(handle)
        return (done.stdout or b"").decode("utf-8", "replace").strip()

    def set(self, *pairs: tuple[str, str]) -> None:
        for key, value in pairs:
            assert self.plain_git("config", key, value) == ""

    def has_run(self) -> bool:
        """Whether the program has run since this was last asked."""
        noted = self.base / "ran"
        ran = noted.exists()
        noted.unlink(missing_ok=True)
        return ran

    def started(self) -> list[str]:
        """What git has started since this was last asked."""
        notes = self.base / "trace"
        lines = notes.read_text("utf-8", "replace").splitlines() if notes.exists() else []
        notes.unlink(missing_ok=True)
        return [line for line in lines if '"event":"child_start"' in line or '"event":"exec"' in line]

    def write(self, path: str, text: str) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        return place

    def change(self) -> None:
        """Something to commit."""
        with open_store(self.store, "alice") as store:
            store.add("Alice drinks tea without milk")
        (self.root / "reflections" / "tea.md").write_text("# Tea\n\nMuch.\n")


def own_git(patch: pytest.MonkeyPatch, base: Path) -> None:
    """No configuration of the machine's, a name to commit under, and notes of every program that git starts."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        patch.delenv(name)
    who = f"[user]\n\tname = Alice\n\temail = alice@example.org\n[init]\n\tdefaultBranch = main\n{GIT_STAYS}"
    (base / "plain").write_text(who)
    (base / "noting").write_text(f"{who}[trace2]\n\teventTarget = {base / 'trace'}\n")
    patch.setenv("GIT_CONFIG_GLOBAL", str(base / "noting"))
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    patch.setenv("GIT_CEILING_DIRECTORIES", str(base))


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, copies.Inodes]:
    """A store whose folder of alice's is a repository with a commit and with something to commit; and its inodes."""
    base = tmp_path_factory.mktemp("committed")
    with pytest.MonkeyPatch.context() as patch:
        own_git(patch, base)
        made = Trap(base / "store" / "alice", base)
        with open_store(made.store, "alice", create=True) as store:
            store.add("Alice drinks tea")
        installation.initialise(made.root, [UserFolder(made.root)])
        installation.install(made.root)
        made.plain_git("add", "--all")
        made.plain_git("commit", "--quiet", "--message", "first")
        made.change()
    return made.store, copies.settled(made.store)


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, committed: tuple[Path, copies.Inodes]) -> Trap:
    """A committed folder of alice's, in a repository of its own. As a copy its files are new to git, which refreshes its
    index where it may."""
    own_git(monkeypatch, tmp_path)
    made = Trap(tmp_path / "store" / "alice", tmp_path)
    made.program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{tmp_path / "ran"}"\nexit 0\n')
    made.program.chmod(0o755)
    copies.copy(committed[0], made.store, committed[1])
    monkeypatch.chdir(made.root)
    return made


# The ways


@dataclass(frozen=True)
class Way:
    """A way in which a repository, or what surrounds it, makes git run a program.

    Args:
        source: where it is documented.
        build: puts it into the folder.
        control: plain git with these arguments runs it; none where that cannot be shown here, with the reason in `why`.
    """

    name: str
    source: str
    build: Callable[[Trap], None]
    control: tuple[str, ...] = ()
    why: str = ""
    tty: bool = False


def keys(*pairs: tuple[str, str]) -> Callable[[Trap], None]:
    """Settings in the repository's own configuration; PROGRAM stands for the program."""

    def build(trap: Trap) -> None:
        trap.set(*((key, value.replace("PROGRAM", str(trap.program))) for key, value in pairs))

    return build


def attributes(lines: str, *pairs: tuple[str, str]) -> Callable[[Trap], None]:
    """Attributes in the repository, and settings."""

    def build(trap: Trap) -> None:
        (trap.root / ".git" / "info").mkdir(exist_ok=True)
        trap.write(".git/info/attributes", lines)
        keys(*pairs)(trap)

    return build


def variables(*pairs: tuple[str, str]) -> Callable[[Trap], None]:
    """Variables of git's that memctl was started with."""

    def build(trap: Trap) -> None:
        trap.environment |= {name: value.replace("PROGRAM", str(trap.program)) for name, value in pairs}

    return build


def included(how: str) -> Callable[[Trap], None]:
    def build(trap: Trap) -> None:
        trap.write("more.cfg", f'[filter "x"]\n\tclean = {trap.program}\n[core]\n\tfsmonitor = {trap.program}\n')
        trap.write(".gitattributes", "* filter=x\n")
        trap.set((how, str(trap.root / "more.cfg")))

    return build


def worktree_settings(trap: Trap) -> None:
    trap.set(("extensions.worktreeConfig", "true"), ("core.repositoryFormatVersion", "1"))
    trap.write(".git/config.worktree", f"[core]\n\tfsmonitor = {trap.program}\n")


def bare_among_the_files(trap: Trap, *, shared: bool = False) -> None:
    """The repository lies open in the user's folder; with `commondir` its objects may lie anywhere."""
    (trap.root / ".git").rename(trap.base / "moved")
    shutil.copytree(trap.base / "moved", trap.root, dirs_exist_ok=True)
    trap.plain_git("config", "--file", "config", "core.bare", "false")
    trap.plain_git("config", "--file", "config", "core.worktree", ".")
    trap.plain_git("config", "--file", "config", "core.fsmonitor", str(trap.program))
    if shared:
        (trap.root / "shared").mkdir()
        for name in ("objects", "refs", "config"):
            (trap.root / name).rename(trap.root / "shared" / name)
        trap.plain_git("config", "--file", "shared/config", "extensions.worktreeConfig", "true")
        trap.write("config.worktree", f"[core]\n\tbare = false\n\tworktree = {trap.root}\n")
        trap.write("commondir", "shared\n")


def git_file(trap: Trap) -> None:
    """`.git` is a file that leads to a folder among the user's."""
    trap.set(("core.fsmonitor", str(trap.program)))
    (trap.root / ".git").rename(trap.root / "knowledge-base")
    trap.write(".git", "gitdir: knowledge-base\n")


def git_link(trap: Trap) -> None:
    trap.set(("core.fsmonitor", str(trap.program)))
    (trap.root / ".git").rename(trap.root / "knowledge-base")
    (trap.root / ".git").symlink_to("knowledge-base")


def larger_repository(trap: Trap) -> None:
    """The store lies in a larger repository, which is hostile."""
    shutil.rmtree(trap.root / ".git")
    trap.plain_git("init", "--quiet", folder=trap.store)
    trap.plain_git("add", "--all", folder=trap.store)
    trap.plain_git("commit", "--quiet", "--message", "all", folder=trap.store)
    trap.change()
    keys(("core.fsmonitor", "PROGRAM"), ("filter.x.clean", "PROGRAM"))(trap)
    (trap.store / ".gitattributes").write_text("* filter=x\n")


def hook_files(*names: str) -> Callable[[Trap], None]:
    def build(trap: Trap) -> None:
        for name in names:
            shutil.copy(trap.program, trap.write(f".git/hooks/{name}", ""))

    return build


def hooks_elsewhere(trap: Trap) -> None:
    shutil.copy(trap.program, trap.write("tools/pre-commit", ""))
    trap.set(("core.hooksPath", "tools"))


def signed(trap: Trap) -> None:
    """The last commit carries a signature, which `log.showSignature` has checked by a program."""
    body = subprocess.run(["git", "cat-file", "commit", "HEAD"], cwd=trap.root, capture_output=True, check=True).stdout
    head, _, message = body.partition(b"\n\n")
    begun, ended = "-----BEGIN PGP SIGNATURE-----", "-----END PGP SIGNATURE-----"
    forged = head + f"\ngpgsig {begun}\n \n iQEz\n {ended}\n\n".encode() + message
    name = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"], cwd=trap.root, input=forged, capture_output=True, check=True
    ).stdout.decode().strip()  # fmt: skip
    trap.plain_git("update-ref", "HEAD", name)
    keys(("log.showSignature", "true"), ("gpg.program", "PROGRAM"))(trap)


def promised(*pairs: tuple[str, str]) -> Callable[[Trap], None]:
    """A content is missing, and a promisor remote is said to have it."""

    def build(trap: Trap) -> None:
        name = trap.plain_git("rev-parse", "HEAD:memory.json")
        keys(
            ("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"), ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"), *pairs,
        )(trap)  # fmt: skip
        (trap.root / ".git" / "objects" / name[:2] / name[2:]).unlink()

    return build


def upkeep(trap: Trap) -> None:
    """Enough loose objects that git would tidy up after a commit."""
    hook_files("pre-auto-gc")(trap)
    trap.set(("gc.auto", "1"))
    for number in range(3):
        trap.write(f".git/objects/17/{number:038x}", "")


def stash_after_the_merge(trap: Trap) -> None:
    """A merge that waits, with a stash that git applies when it is committed, by a merge driver."""
    trap.plain_git("add", "--all")
    stash = trap.plain_git("stash", "create")
    trap.plain_git("reset", "--hard", "--quiet")
    with open_store(trap.store, "alice") as store:
        store.add("Alice also drinks mate")
    trap.plain_git("commit", "--quiet", "--all", "--message", "second")
    trap.plain_git("update-ref", "refs/heads/other", "HEAD")
    trap.write(".git/MERGE_HEAD", trap.plain_git("rev-parse", "HEAD~1") + "\n")
    trap.write(".git/MERGE_MSG", "Merge\n")
    trap.write(".git/MERGE_AUTOSTASH", stash + "\n")
    keys(("merge.memctl.driver", "PROGRAM"))(trap)


def nested_repository(trap: Trap) -> None:
    """A repository below the user's folder, which git looks into."""
    _nested(trap, trap.root, trap.root / "knowledge" / "notes")


def nested_beside(trap: Trap) -> None:
    """The same, beside the user's folder, in a repository of the whole store."""
    shutil.rmtree(trap.root / ".git")
    trap.plain_git("init", "--quiet", folder=trap.store)
    _nested(trap, trap.store, trap.store / "notes")


def _nested(trap: Trap, outer: Path, inner: Path) -> None:
    inner.mkdir(parents=True)
    trap.plain_git("init", "--quiet", folder=inner)
    (inner / "a.md").write_text("a\n")
    trap.plain_git("add", "--all", folder=inner)
    trap.plain_git("commit", "--quiet", "--message", "a", folder=inner)
    trap.plain_git("add", "--all", folder=outer)
    trap.plain_git("commit", "--quiet", "--message", "nested", folder=outer)
    (inner / "a.md").write_text("b\n")
    (inner / ".gitattributes").write_text("* filter=x\n")
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.process"):
        trap.plain_git("config", key, str(trap.program), folder=inner)
    trap.change()


def git_in_the_folder(trap: Trap) -> None:
    shutil.copy(trap.program, trap.root / "git")
    trap.environment = {"PATH": f".:{os.environ['PATH']}"}


def templates(trap: Trap) -> None:
    """New repositories get a hook from a template."""
    hooks = trap.base / "template" / "hooks"
    hooks.mkdir(parents=True)
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-index-change"):
        shutil.copy(trap.program, hooks / name)
    shutil.rmtree(trap.root / ".git")
    trap.environment = {"GIT_TEMPLATE_DIR": str(hooks.parent)}


FILTER = "* filter=x\n"
HOOKS = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction", "post-index-change",
    "post-checkout", "post-merge", "post-rewrite", "pre-auto-gc", "fsmonitor-watchman",
)  # fmt: skip
DIFF = ("diff", "HEAD")
ADD = ("add", "--all")
COMMIT = ("commit", "--all", "--message", "x")
FETCHING = ("cat-file", "-p", "HEAD:memory.json")

WAYS = [
    Way("fsmonitor", "git-config core.fsmonitor; CVE-2022-24765", keys(("core.fsmonitor", "PROGRAM")), ("status",)),
    Way("a bare repository", "git-config safe.bareRepository", bare_among_the_files, ("status",)),
    Way(
        "a bare repository with commondir", "gitrepository-layout commondir",
        lambda trap: bare_among_the_files(trap, shared=True), ("status",),
    ),
    Way("clean filter", "gitattributes filter", attributes(FILTER, ("filter.x.clean", "PROGRAM")), ADD),
    Way("filter process", "gitattributes filter", attributes(FILTER, ("filter.x.process", "PROGRAM")), ADD),
    Way(
        "required filter", "gitattributes filter",
        attributes(FILTER, ("filter.x.clean", "PROGRAM"), ("filter.x.required", "true")), ADD,
    ),
    Way("a filter with dots", "git-config", attributes("* filter=a.b.c\n", ("filter.a.b.c.clean", "PROGRAM")), ADD),
    Way("a filter with =", "git -c", attributes("* filter=a=b\n", ("filter.a=b.clean", "PROGRAM")), ADD),
    Way("include", "git-config include.path", included("include.path"), ("status",)),
    Way("includeIf", "git-config includeIf", included("includeIf.onbranch:main.path"), ("status",)),
    Way("settings of a worktree", "git-worktree config.worktree", worktree_settings, ("status",)),
    Way(".git as a file", "gitrepository-layout gitfile", git_file, ("status",)),
    Way(".git as a link", "gitrepository-layout", git_link, ("status",)),
    Way("a larger repository", "git-config safe.directory", larger_repository, ("status",)),
    Way("diff.external", "git-config diff.external", keys(("diff.external", "PROGRAM")), DIFF),
    Way("diff driver", "gitattributes diff", attributes("* diff=x\n", ("diff.x.command", "PROGRAM")), DIFF),
    Way("textconv", "gitattributes textconv", attributes("* diff=x\n", ("diff.x.textconv", "PROGRAM")), DIFF),
    Way(
        "textconv of a search", "gitdiffcore pickaxe", attributes("* diff=x\n", ("diff.x.textconv", "PROGRAM")),
        ("log", "--all", "-Smem_"),
    ),
    Way("gpg.program", "git-config log.showSignature", signed, ("log",)),
    Way("signing", "git-config commit.gpgSign", keys(("commit.gpgSign", "true"), ("gpg.program", "PROGRAM")), COMMIT),
    Way(
        "signing by ssh", "git-config gpg.ssh.defaultKeyCommand",
        keys(("commit.gpgSign", "true"), ("gpg.format", "ssh"), ("gpg.ssh.defaultKeyCommand", "PROGRAM")), COMMIT,
    ),
    Way("hooks", "githooks", hook_files(*HOOKS), COMMIT),
    Way("hook when the index changes", "githooks post-index-change", hook_files("post-index-change"), ("status",)),
    Way("hook of references", "githooks reference-transaction", hook_files("reference-transaction"), COMMIT),
    Way("core.hooksPath", "git-config core.hooksPath", hooks_elsewhere, COMMIT),
    Way(
        "hooks in the configuration", "git-hook 2.54",
        keys(("hook.x.command", "PROGRAM"), ("hook.x.event", "pre-commit")), (), "git before 2.54 has none",
    ),
    Way("upkeep", "git-gc, githooks pre-auto-gc", upkeep, COMMIT),
    Way(
        "uploadpack", "git-config remote.<name>.uploadpack; partial-clone",
        promised(("remote.origin.url", "."), ("remote.origin.uploadpack", "PROGRAM")), FETCHING,
    ),
    Way(
        "ext::", "git-remote-ext", promised(("remote.origin.url", "ext::PROGRAM"), ("protocol.ext.allow", "always")),
        FETCHING,
    ),
    Way(
        "ssh", "git-config core.sshCommand",
        promised(("remote.origin.url", "ssh://localhost/x"), ("core.sshCommand", "PROGRAM")), FETCHING,
    ),
    Way(
        "proxy", "git-config core.gitProxy",
        promised(("remote.origin.url", "git://localhost/x"), ("core.gitProxy", "PROGRAM")), FETCHING,
    ),
    Way(
        "ssh in a variable", "git GIT_SSH_COMMAND",
        lambda trap: (
            promised(("remote.origin.url", "ssh://localhost/x"))(trap), variables(("GIT_SSH_COMMAND", "PROGRAM"))(trap),
        )[0], FETCHING,
    ),
    Way("stash after a merge", "git-merge --autostash", stash_after_the_merge, ("commit", "--no-edit")),
    Way(
        "other commands", "git-config",
        keys(
            ("merge.memctl.driver", "PROGRAM"), ("sequence.editor", "PROGRAM"), ("credential.helper", "!PROGRAM"),
            ("core.askPass", "PROGRAM"), ("interactive.diffFilter", "PROGRAM"), ("sendemail.smtpServer", "PROGRAM"),
            ("core.alternateRefsCommand", "PROGRAM"), ("web.browser", "PROGRAM"), ("mergetool.x.cmd", "PROGRAM"),
        ), (), "memctl uses no such command; that it stays so is what is tested",
    ),
    Way("nested repository", "git-config diff.ignoreSubmodules; CVE-2018-17456", nested_repository, ("status",)),
    Way("nested repository beside it", "git-config diff.ignoreSubmodules", nested_beside, ("status",)),
    Way("pager", "git-config core.pager", keys(("core.pager", "PROGRAM")), ("log",), tty=True),
    Way("pager of a command", "git-config pager.<cmd>", keys(("pager.status", "PROGRAM")), ("status",), tty=True),
    Way("editor", "git-config core.editor", keys(("core.editor", "PROGRAM")), ("commit", "--all")),
    Way("alias", "git-config alias.*", keys(("alias.status", "!PROGRAM"), ("alias.x", "!PROGRAM")), ("x",)),
    Way(
        "trailers", "git-interpret-trailers trailer.<key>.command", keys(("trailer.x.command", "PROGRAM")),
        ("commit", "--all", "--message", "x", "--trailer", "x=1"),
    ),
    Way(
        "difftool", "git-difftool", keys(("diff.tool", "x"), ("difftool.x.cmd", "PROGRAM")),
        ("difftool", "--no-prompt", "HEAD"),
    ),
    Way("diff in a variable", "git GIT_EXTERNAL_DIFF", variables(("GIT_EXTERNAL_DIFF", "PROGRAM")), DIFF),
    Way("pager in a variable", "git GIT_PAGER", variables(("GIT_PAGER", "PROGRAM")), ("log",), tty=True),
    Way("editor in a variable", "git GIT_EDITOR", variables(("GIT_EDITOR", "PROGRAM")), ("commit", "--all")),
    Way(
        "settings in variables", "git-config GIT_CONFIG_COUNT",
        variables(("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.fsmonitor"), ("GIT_CONFIG_VALUE_0", "PROGRAM")),
        ("status",),
    ),
    Way(
        "settings of a caller", "git -c", variables(("GIT_CONFIG_PARAMETERS", "'core.fsmonitor'='PROGRAM'")), ("status",)
    ),
    Way("templates", "git-init GIT_TEMPLATE_DIR", templates, (), "the hook comes with `git init`"),
    Way("git in the folder", "POSIX PATH", git_in_the_folder, ("status",)),
]  # fmt: skip

COMMANDS = [
    ("git", "status"), ("git", "check"), ("git", "log"), ("diff",), ("diff", "HEAD"), ("diff", "2020-01-01"),
    ("query", "tea", "--as-of", "HEAD"), ("query", "tea", "--as-of", "2020-01-01"), ("doctor",),
    ("git", "settle"), ("git", "hook", "pre-commit"), ("git", "hook", "post-checkout"),
    ("git", "init"), ("git", "install", "--hooks"),
    ("git", "commit"), ("git", "commit", "--no-verify", "--no-gpg-sign"), ("restore", "ID", "--from", "HEAD"),
    ("git", "commit", "--no-verify", "--no-gpg-sign", "--message", "second"), ("forget", "ID", "--purge", "--yes"),
]  # fmt: skip
"""Every command that calls git."""


def ran_all(
    trap: Trap, patch: pytest.MonkeyPatch, said: Callable[[], str], commands: Sequence[tuple[str, ...]] = COMMANDS
) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Run commands on the trap's user: the command, its exit code, what it printed."""
    with open_store(trap.store, "alice") as store:
        store.refresh()
        known = store.all()[0].memory_id
    for name, value in trap.environment.items():
        patch.setenv(name, value)
    for command in commands:
        given = [known if word == "ID" else word for word in command]
        yield command, main(["--store", str(trap.store), "--user", "alice", *given]), said()


TOGETHER = {
    "diff.external", "diff driver", "textconv", "textconv of a search", "other commands", "pager", "pager of a command",
    "editor", "alias", "trailers", "difftool", "diff in a variable", "pager in a variable", "editor in a variable",
    "settings in variables", "settings of a caller",
}  # fmt: skip
"""Ways that no command refuses and that do not hide each other: the commands are tried once with all of them."""

TRIED = [[way] for way in WAYS if way.name not in TOGETHER] + [[way for way in WAYS if way.name in TOGETHER]]


@pytest.mark.parametrize("ways", TRIED, ids=lambda ways: ways[0].name if len(ways) == 1 else "together")
def test_git_runs_nothing(
    ways: list[Way], trap: Trap, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for way in ways:
        shown_by_plain_git(way, trap, monkeypatch)
    monkeypatch.chdir(trap.root)
    for way in ways:
        way.build(trap)
    trap.has_run()
    trap.started()

    some = COMMANDS[TRIED.index(ways) % 2 :: 2]  # a way that is tried alone meets the others in the long form
    commands = COMMANDS if THOROUGH or len(ways) > 1 else some
    for command, code, said in ran_all(trap, monkeypatch, lambda: "".join(capfd.readouterr()), commands):
        assert not trap.has_run(), command
        assert trap.started() == [], command
        assert code in (SAFE if len(ways) == 1 else {0}), (command, said)
        assert "memctl has a bug" not in said, (command, said)
    count_cases("tests/git/test_git_hostile.py::test_git_runs_nothing", len(ways))


def shown_by_plain_git(way: Way, trap: Trap, patch: pytest.MonkeyPatch) -> None:
    """That plain git runs the program, in a copy of the folder."""
    control = Trap(trap.base / "control" / "alice", trap.base)
    shutil.copytree(trap.root, control.root, symlinks=True)
    if way.control:
        way.build(control)
        control.has_run()
        patch.chdir(control.root)
        told = control.plain_git(*way.control, tty=way.tty)
        assert control.has_run(), f"{way.name}: plain git does not run it: {told}"
        shutil.rmtree(trap.base / "moved", ignore_errors=True)
    patch.chdir(trap.root)
    shutil.rmtree(control.store)


def test_every_command_works_in_a_repository_without_traps(
    trap: Trap, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """So that the commands above do reach git, and are not refused for another reason."""
    codes = {command: code for command, code, _ in ran_all(trap, monkeypatch, lambda: "".join(capfd.readouterr()))}
    assert {command: code for command, code in codes.items() if code} == {}


def test_only_one_module_runs_git() -> None:
    """Whatever starts a program is listed here: the one place for git, and the user's editor and pager."""
    root = Path(memctl.__file__).parent
    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if starts_programs(path)}
    assert found == {"git/process.py", "cli/drafts.py", "cli/paging.py"}


def starts_programs(path: Path) -> bool:
    named = {"system", "popen", "execv", "execvp", "execvpe", "execve", "posix_spawn", "posix_spawnp", "spawnv", "fork"}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import) and any(name.name in ("subprocess", "pty") for name in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module in ("subprocess", "pty"):
            return True
        if isinstance(node, ast.Attribute) and node.attr in named and ast.unparse(node.value) == "os":
            return True
        if isinstance(node, ast.Attribute) and node.attr.startswith("create_subprocess"):
            return True
    return False


# What is refused, because a program's work would be missed


@pytest.mark.parametrize(
    ("build", "told", "insist"),
    [
        (hook_files("pre-commit", "commit-msg"), "pre-commit, commit-msg", "--no-verify"),
        (hooks_elsewhere, "memctl does not run the hooks", "--no-verify"),
        (keys(("hook.lint.command", "PROGRAM"), ("hook.lint.event", "pre-commit")), "hook.lint", "--no-verify"),
        (keys(("commit.gpgSign", "true")), "commit.gpgSign is set", "--no-gpg-sign"),
        (attributes("*.json filter=x\n", ("filter.x.clean", "PROGRAM")), "does not run the filter", ""),
        (stash_after_the_merge, "applies a stash", ""),
        (nested_repository, "knowledge/notes", ""),
    ],
    ids=["hooks", "hooks elsewhere", "hooks in the configuration", "signing", "filter", "stash", "nested"],
)
def test_a_commit_that_would_miss_a_program_is_refused(
    build: Callable[[Trap], None], told: str, insist: str, trap: Trap, capfd: pytest.CaptureFixture[str]
) -> None:
    build(trap)
    trap.has_run()
    before = trap.plain_git("rev-parse", "HEAD"), trap.plain_git("diff", "--cached", "--name-only")
    commit = ["--store", str(trap.store), "--user", "alice", "git", "commit"]

    assert main(commit) == 7
    said = capfd.readouterr().err
    assert told in said
    assert f"git -C {trap.root} commit" in said, "what to do instead"
    assert (trap.plain_git("rev-parse", "HEAD"), trap.plain_git("diff", "--cached", "--name-only")) == before
    if insist:
        assert insist in said
        assert main([*commit, insist]) == 0
        assert trap.plain_git("rev-parse", "HEAD") != before[0]
    assert not trap.has_run()


def test_hooks_that_refuse_nothing_are_no_reason_to_refuse(trap: Trap) -> None:
    """git-lfs sets such ones, and the samples of `git init` are none."""
    hook_files("post-commit", "post-checkout", "post-merge", "pre-commit.sample", "pre-push")(trap)
    trap.write(".git/hooks/commit-msg", "not a program")
    attributes("*.png filter=lfs\n", ("filter.lfs.clean", "PROGRAM"))(trap)
    assert main(["--store", str(trap.store), "--user", "alice", "git", "commit"]) == 0
    assert not trap.has_run()


TOKEN = "gh" + "p_" + "016C7e2A9b1D4f3H6j5K8m0N2p4Q6r8S0t2V"


def test_the_check_of_memctls_own_hook_is_made_without_the_hook(trap: Trap, capfd: pytest.CaptureFixture[str]) -> None:
    trap.write("knowledge/deploying.md", f"# Deploying\n\nUse {TOKEN}.\n")
    commit = ["--store", str(trap.store), "--user", "alice", "git", "commit"]
    installation.install(trap.root, hooks=True)
    hook = trap.root / ".git" / "hooks" / "pre-commit"
    hook.write_text(hook.read_text() + f"\n{trap.program}\n")
    assert main(commit) == 7
    said = capfd.readouterr().err
    assert "knowledge/deploying.md:3:5: looks like a GitHub token" in said
    assert TOKEN not in said
    assert main([*commit, "--no-verify"]) == 0
    assert not trap.has_run()


def test_check_names_what_git_itself_would_run(trap: Trap, capfd: pytest.CaptureFixture[str]) -> None:
    check = ["--store", str(trap.store), "--user", "alice", "git", "check"]
    assert main(check) == 0
    assert "ok      alice: programs: none but memctl's" in capfd.readouterr().out
    keys(("core.fsmonitor", "PROGRAM"), ("filter.X.clean", "PROGRAM"), ("merge.memctl.driver", "PROGRAM"))(trap)
    hook_files("post-commit")(trap)
    assert main(check) == 0
    assert "programs: core.fsmonitor, filter.X.clean, merge.memctl.driver, hooks/post-commit" in capfd.readouterr().out


# Repositories that lead elsewhere


@pytest.fixture
def project(trap: Trap) -> Path:
    """Another repository of the user's."""
    made = trap.base / "project"
    made.mkdir()
    trap.plain_git("init", "--quiet", folder=made)
    trap.plain_git("commit", "--quiet", "--allow-empty", "--message", "mine", folder=made)
    return made


def as_file(trap: Trap, project: Path) -> None:
    shutil.rmtree(trap.root / ".git")
    trap.write(".git", f"gitdir: {project / '.git'}\n")


def as_link(trap: Trap, project: Path) -> None:
    shutil.rmtree(trap.root / ".git")
    (trap.root / ".git").symlink_to(project / ".git")


def by_commondir(trap: Trap, project: Path) -> None:
    trap.write(".git/commondir", f"{project / '.git'}\n")


def by_worktree(trap: Trap, project: Path) -> None:
    trap.set(("core.worktree", str(project)))


@pytest.mark.parametrize("build", [as_file, as_link, by_commondir, by_worktree])
def test_another_repository_of_the_users_is_not_written(
    build: Callable[[Trap, Path], None], trap: Trap, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    build(trap, project)
    before = contents(project)
    for words in (("init",), ("install", "--hooks"), ("commit",), ("status",), ("log",), ("check",)):
        code = main(["--store", str(trap.store), "--user", "alice", "git", *words])
        said = capfd.readouterr().err
        assert code in ({0, 7} if words[0] in ("status", "log") else {7}), (words, said)
        assert "memctl has a bug" not in said
    assert contents(project) == before


def contents(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["logs/HEAD", "COMMIT_EDITMSG", "refs/heads/main", "index", "config", "packed-refs"])
def test_git_writes_through_no_link(name: str, trap: Trap, capfd: pytest.CaptureFixture[str]) -> None:
    """`logs/HEAD` as a link to a shell's settings, and a name that is a command: a commit would append it there."""
    victim = trap.base / "victim"
    place = trap.root / ".git" / name
    victim.write_bytes(place.read_bytes() if place.exists() else b"")
    place.unlink(missing_ok=True)
    place.symlink_to(victim)
    trap.plain_git("config", "--file", ".git/config", "user.name", "x; touch ran")
    before = victim.read_bytes()
    for words in (("init",), ("install", "--hooks"), ("commit", "--no-verify")):
        assert main(["--store", str(trap.store), "--user", "alice", "git", *words]) == 7
        assert "is a symbolic link" in capfd.readouterr().err
    assert victim.read_bytes() == before


@pytest.mark.parametrize("name", [".git", ".memctl"])
@pytest.mark.parametrize("there", [True, False])
def test_init_writes_through_no_link(name: str, there: bool, trap: Trap, capfd: pytest.CaptureFixture[str]) -> None:
    target = trap.base / "target"
    if there:
        target.mkdir()
    shutil.rmtree(trap.root / ".git")
    if name == ".memctl":
        shutil.rmtree(trap.root / name)
    (trap.root / name).symlink_to(target)
    for words in (("git", "init"), ("git", "settle")):
        code = main(["--store", str(trap.store), "--user", "alice", *words])
        assert code == 7 or (name, words) == (".git", ("git", "settle"))
        assert "link" in capfd.readouterr().err or code == 0
    assert list(target.iterdir() if there else ()) == []
    assert target.exists() == there


@pytest.mark.parametrize("how", ["separate", "relative"])
def test_a_repository_elsewhere_that_names_the_folder_works(
    how: str, trap: Trap, capfd: pytest.CaptureFixture[str]
) -> None:
    """`git init --separate-git-dir`, for folders that are synchronised by other means: the hint says what to set."""
    trap.plain_git("init", "--separate-git-dir", str(trap.base / "kept.git"))
    if how == "relative":
        trap.write(".git", "gitdir: ../../kept.git\n")
    commit = ["--store", str(trap.store), "--user", "alice", "git", "commit"]
    assert main(commit) == 7
    hint = capfd.readouterr().err.split("`")[1]
    subprocess.run(["sh", "-c", hint], check=True)
    assert main(commit) == 0


def test_a_bare_repository_is_named_and_not_believed(trap: Trap, capfd: pytest.CaptureFixture[str]) -> None:
    bare_among_the_files(trap)
    assert main(["--store", str(trap.store), "--user", "alice", "git", "status"]) == 7
    said = capfd.readouterr().err
    assert f"{trap.root} has a bare git repository among its files" in said
    assert "Move HEAD, objects and refs" in said
    [known] = json.loads((trap.root / "memory.json").read_bytes())["memories"][:1]
    assert main(["--store", str(trap.store), "--user", "alice", "diff"]) == 0, "the log answers"
    assert main(["--store", str(trap.store), "--user", "alice", "forget", known["memory_id"], "--purge", "--yes"]) == 0
    assert "git's history could not be searched" in capfd.readouterr().out
    assert main(["--store", str(trap.store), "--user", "alice", "query", "tea"]) == 0, "memory works without git"


def test_users_of_any_name_make_no_repository(trap: Trap, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("HEAD", "objects", "refs"):
        assert main(["--store", str(trap.store), "user", "add", name]) == 0
    assert main(["--store", str(trap.store), "--user", "alice", "git", "status"]) == 0
    larger_repository(trap)
    assert main(["--store", str(trap.store), "--user", "alice", "git", "status"]) == 0


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("place", ["", "knowledge/notes/"])
def test_an_archive_with_a_repository_is_refused(place: str, shared: bool, trap: Trap) -> None:
    bare_among_the_files(trap, shared=shared)
    if place:
        moved = trap.root / place
        moved.mkdir(parents=True)
        for name in ("HEAD", "objects", "refs", "config", "commondir"):
            if (trap.root / name).exists():
                (trap.root / name).rename(moved / name)
    command = ["--store", str(trap.store), "--user", "alice", "export", "--archive", str(trap.base / "a.tar.gz")]
    assert main(command) == 3


# What a repository says


def test_the_log_shows_any_subject(trap: Trap, capfd: pytest.CaptureFixture[str]) -> None:
    for subject in (
        "one\u2028two\u2029three",
        "a\x1fb\x1fc\x1fd\x1fe",
        "\x1b[31mred\x07",
        "\x85next\x0c\x1c",
        "終わり",
    ):
        trap.plain_git("commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "--message", subject)
        trap.write("feedback.jsonl", subject)
        trap.plain_git("add", "--all")
        trap.plain_git("commit", "--quiet", "--cleanup=verbatim", "--message", subject)
    log = ["--store", str(trap.store), "--user", "alice", "git", "log"]
    assert main(log) == 0
    shown = capfd.readouterr().out
    assert len(shown.strip("\n").split("\n")) == 6
    assert not any(character in shown for character in "\x1b\x07\u2028\u2029\x85\x0c")
    assert main([*log, "--json"]) == 0
    listed = json.loads(capfd.readouterr().out)
    assert [set(each) for each in listed] == [{"commit", "date", "author", "subject"}] * 6
    assert listed[-2]["subject"] == "one\u2028two\u2029three"


@pytest.mark.parametrize("seconds", ["99999999999999", "9223372036854775807", "253402300800"])
def test_a_commit_of_no_calendars_year(seconds: str, trap: Trap, capfd: pytest.CaptureFixture[str]) -> None:
    body = subprocess.run(["git", "cat-file", "commit", "HEAD"], cwd=trap.root, capture_output=True, check=True).stdout
    lines = body.decode().split("\n")
    forged = "\n".join(f"{line.rsplit(' ', 2)[0]} {seconds} +0000" if "@example" in line else line for line in lines)
    name = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--literally", "--stdin"], cwd=trap.root, input=forged.encode(),
        capture_output=True, check=True,
    ).stdout.decode().strip()  # fmt: skip
    trap.plain_git("update-ref", "refs/heads/main", name)
    assert revisions.find(trap.root, "HEAD") is not None
    for words in (("diff", "HEAD"), ("git", "log"), ("query", "tea", "--as-of", "HEAD"), ("git", "status")):
        assert main(["--store", str(trap.store), "--user", "alice", *words]) == 0
    assert "bug" not in capfd.readouterr().err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_another_owner_is_named(trap: Trap, capfd: pytest.CaptureFixture[str]) -> None:
    for path in (trap.root, trap.root / ".git", *(trap.root / ".git").rglob("*")):
        os.chown(path, 12345, 12345)
    for words in (("git", "status"), ("git", "commit"), ("git", "init"), ("diff", "HEAD")):
        assert main(["--store", str(trap.store), "--user", "alice", *words]) == 6
        said = capfd.readouterr().err
        assert "dubious ownership" in said
        assert "safe.directory" in said


def test_git_that_does_not_come_to_an_end_is_stopped(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(trap.root / "pipe")
    with open(trap.root / ".git" / "config", "a", encoding="utf-8") as file:
        file.write(f"[include]\n\tpath = {trap.root / 'pipe'}\n")
    monkeypatch.setattr(process, "TIMEOUT", 0.2)
    with pytest.raises(StorageError, match=r"took longer than 0\.2 seconds"):
        commits.status(UserFolder(trap.root))


def test_the_repository_that_a_hook_names_is_the_one_that_is_checked(trap: Trap) -> None:
    """git sets variables for its hooks: which index is to be committed."""
    installation.install(trap.root, hooks=True)
    trap.write("knowledge/deploying.md", f"Use {TOKEN}.\n")
    trap.plain_git("add", "--all")
    told = trap.plain_git("commit", "--message", "by a path", "--", "knowledge")
    assert "looks like a GitHub token" in told
    assert "looks like" not in trap.plain_git("commit", "--message", "another path", "--", "memory.json")


def test_a_driver_merges_whatever_lies_around_its_temporary_folder(
    trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shared `/tmp` may hold somebody's repository."""
    from memctl.git import merging

    shared = tmp_path / "tmp"
    shared.mkdir()
    shutil.copytree(trap.root / ".git", shared / ".git")
    shutil.copytree(trap.root / ".git", shared, dirs_exist_ok=True)
    trap.plain_git("config", "core.fsmonitor", str(trap.program), folder=shared)
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    assert merging.by_lines(b"a\n", b"b\n", b"a\n") == (b"b\n", False)
    assert not trap.has_run()


def test_refusals_name_the_user_not_a_bug(trap: Trap) -> None:
    trap.set(("filter.a=b.clean", "x"))
    with pytest.raises(RefusedError, match="cannot disable: a=b") as refused:
        commits.status(UserFolder(trap.root))
    assert refused.value.hint == "git config --remove-section filter.a=b"


def test_hooks_of_a_newer_git_are_switched_off_by_name(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git 2.54 runs hooks that the configuration names, whatever `core.hooksPath` says."""
    keys(("hook.a b.command", "PROGRAM"), ("hook.a b.event", "post-commit"), ("hook.x.y.command", "PROGRAM"))(trap)
    wrapper = trap.base / "bin" / "git"
    wrapper.parent.mkdir()
    words = f"printf '%s|' \"$@\" >> '{trap.base / 'words'}'; echo >> '{trap.base / 'words'}'"
    wrapper.write_text(f'#!/bin/sh\n{words}\nexec "{shutil.which("git")}" "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(wrapper.parent), prepend=os.pathsep)
    assert main(["--store", str(trap.store), "--user", "alice", "git", "commit"]) == 0
    calls = [
        line for line in (trap.base / "words").read_text().splitlines() if {"add", "commit"} & set(line.split("|"))
    ]
    assert calls
    for call in calls:
        assert {"hook.a b.enabled=false", "hook.x.y.enabled=false", "core.hooksPath=/dev/null"} <= set(call.split("|"))

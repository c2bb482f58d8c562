"""The right program: one name for the distribution everywhere, and packages that hold what they should."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from memctl import __version__, distribution

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

_INSTALL = re.compile(r"(?<!un)\b(?:install|inject|add|download|uvx|pipx run|tool run)\b(?P<words>[^`\n|;&]*)")
_FOREIGN = re.compile(r"""(?<![\w./~-])["']?memctl(?:\[[\w,. -]*\])?(?:[=<>!~]=?[\w.*]+)?["']?(?![\w/-]|\.\w)""")
_EXTRA = re.compile(r"(?<![\w.-])memctl\[[a-z]")
_INSTALLERS = re.compile(r"\b(?:pip|pip3|pipx|uv|uvx|poetry|pdm|conda|easy_install)\b")


@pytest.fixture(scope="module")
def dist():
    """The script behind `make dist`."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        spec = importlib.util.spec_from_file_location("dist", ROOT / "scripts" / "dist.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return module


@pytest.fixture(scope="module")
def built(dist, tmp_path_factory):
    """The source distribution and the wheel."""
    return dist.build(tmp_path_factory.mktemp("dist") / "dist")


# The name


def names_the_other(line: str) -> bool:
    """Whether a line tells somebody to install `memctl` from the package index, bare or with an extra."""
    calls = (_INSTALL.finditer(line[found.start() :]) for found in _INSTALLERS.finditer(line))
    return bool(_EXTRA.search(line)) or any(_FOREIGN.search(call["words"]) for each in calls for call in each)


def texts() -> list[Path]:
    """Every text of the repository that a person or a program may read, but for this file."""
    places = ("memctl", "docs", "scripts", "examples", "bench", "tests", "sample_store", ".ci")
    found = [path for place in places for path in (ROOT / place).rglob("*")]
    found += [path for path in ROOT.iterdir() if path.suffix in {".md", ".toml", ".txt"} or path.name == "Makefile"]
    kinds = {".md", ".py", ".toml", ".txt", ".sh", ".json", ".yaml", ".svg", ""}
    return [path for path in found if path.is_file() and path.suffix in kinds and path != Path(__file__)]


def test_nothing_says_to_install_the_other_program():
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if "memctl" in line and names_the_other(line)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "line",
    [
        "pip install memctl", 'pip install "memctl[mcp]"', "pip install 'memctl[documents]'", "pip install -U memctl)",
        "pip3 install --user memctl", "pipx install memctl", "uv tool install memctl", "uv pip install memctl==0.1.0",
        "uvx memctl", "uv add memctl", "pipx run memctl query", "the extra memctl[llm]", "pip install memctl.",
        "python -m pip install -q memctl[mcp,llm]>=0.1",
    ],
)  # fmt: skip
def test_the_search_finds_it(line: str):
    assert names_the_other(line)


@pytest.mark.parametrize(
    "line",
    ["pip install .", 'pip install ".[mcp]"', "pip uninstall memctl", 'pip install "memctl-files[mcp]"',
     "pip install ~/memctl", "pip install /src/memctl", "pip install dist/memctl_files-0.1.0.tar.gz"],
)  # fmt: skip
def test_the_search_finds_nothing_else(line: str):
    assert not names_the_other(line)


def test_there_is_one_name():
    named = re.compile(r"\bmemctl-(?:files|memory|agent|store|py|cli)\b")
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert PROJECT["name"] == distribution.NAME
    assert {name for page in pages for name in named.findall(page.read_text("utf-8"))} == {distribution.NAME}
    assert all(
        distribution.NAME in (ROOT / name).read_text("utf-8") for name in ("README.md", "docs/getting-started.md")
    )


def test_every_extra_stands_in_the_page_on_installing():
    page = (ROOT / "docs" / "getting-started.md").read_text("utf-8")
    table = page.partition("| extra |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(PROJECT["optional-dependencies"])


def test_extras_that_pages_install_exist():
    shown = re.findall(r"""install ["']?\.\[([\w,]+)\]""", "\n".join(p.read_text("utf-8") for p in texts()))
    assert shown
    assert {name for one in shown for name in one.split(",")} <= set(PROJECT["optional-dependencies"])


# Hints


def python(program: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def other_program(folder: Path) -> Path:
    """A folder in which another distribution called `memctl` is installed."""
    about = folder / "memctl-9.8.7.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: memctl\nVersion: 9.8.7\n", "utf-8")
    return folder


def test_a_hint_names_this_distribution_and_this_environment():
    assert distribution.add_extra("mcp").startswith(sys.executable)
    assert distribution.add_extra("mcp").endswith(f" install '{distribution.NAME}[mcp]'")


def test_what_is_installed_already_is_not_looked_for_on_an_index():
    """A name on the index that nobody holds yet must not be asked for: the environment's own pip need not."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--no-deps"]
    done = subprocess.run([*command, f"{distribution.NAME}[mcp]"], capture_output=True, text=True, check=False)
    assert (done.returncode, "already satisfied" in done.stdout) == (0, True), done.stderr


def test_a_program_that_is_not_installed_names_its_folder(tmp_path: Path):
    (tmp_path / "memctl").symlink_to(ROOT / "memctl")
    program = "import sys; sys.path[:] = [sys.argv[1], *(p for p in sys.path if 'site-packages' not in p)]\n"
    program += "from memctl import distribution; print(distribution.add_extra('llm'))"
    assert python(program, str(tmp_path)).strip().endswith(f" '{ROOT}[llm]'")


def test_doctor_reports_the_other_program(tmp_path: Path):
    """Both have the same command and modules."""
    store = tmp_path / "store"
    call = [str(Path(sys.executable).with_name("memctl")), "--store", str(store)]
    subprocess.run([*call, "init", "--user", "alice"], check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": str(other_program(tmp_path / "other"))}
    shown, alone = (
        subprocess.run([*call, "doctor"], env=env, capture_output=True, text=True, check=False)
        for env in (environment, None)
    )
    assert shown.returncode == 0
    assert "another distribution, memctl 9.8.7, is installed" in shown.stdout
    assert f"install {distribution.NAME} again" in shown.stdout
    assert alone.stdout == "no problems\n"


def test_clients_are_told_the_command_that_runs(tmp_path: Path):
    """Not another `memctl` that happens to stand beside the interpreter, or first on the PATH."""
    own, other = tmp_path / "own" / "memctl", tmp_path / "other" / "memctl"
    for path in (own, other):
        path.parent.mkdir()
        path.write_text(f"#!{sys.executable}\nfrom memctl import distribution\nprint(distribution.executable())\n")
        path.chmod(0o755)
    done = subprocess.run(
        [own], env={**os.environ, "PATH": f"{other.parent}:{os.environ['PATH']}"}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == f"{own}\n"


# The packages


def test_the_packages_hold_what_they_should(dist, built):
    source, wheel = built
    dist.check(built)
    names = dist.source_files(source)
    for name in ("README.md", "docs/index.md", "tests/conftest.py", "sample_store/alice/memory.json", "Makefile"):
        assert name in names
    data = [f"memctl/providers/data/builtin{end}" for end in (".bin", "-vocab.txt", "-words.zh.txt")]
    for name in ("memctl/py.typed", *data):
        assert name in names
        assert name in dist.wheel_files(wheel)
    stray = re.compile(r"__pycache__|\.pyc$|\.memctl/|\.venv|egg-info|^\.git/")
    assert [name for name in names | dist.wheel_files(wheel) if stray.search(name)] == []


def test_the_metadata_says_who_it_is(built):
    source, wheel = built
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"memctl_files-{__version__}.dist-info/METADATA").decode()
        scripts = archive.read(f"memctl_files-{__version__}.dist-info/entry_points.txt").decode()
    with tarfile.open(source) as archive:
        assert archive.extractfile(f"memctl_files-{__version__}/PKG-INFO").read().decode() == text
    about = HeaderParser().parsestr(text)
    assert (about["Name"], about["Version"]) == (distribution.NAME, __version__)
    assert about["License-Expression"] == "Apache-2.0"
    assert about.get_all("Project-URL")
    assert "memctl = memctl.cli.main:run" in scripts


def test_a_package_that_lacks_a_file_is_refused(dist, built, tmp_path: Path):
    source, wheel = built
    lacking = tmp_path / source.name
    with tarfile.open(source) as before, tarfile.open(lacking, "w:gz", compresslevel=1) as after:
        for member in before:
            if not member.name.endswith("docs/index.md"):
                after.addfile(member, before.extractfile(member))
    with pytest.raises(dist.DistError, match=re.escape("missing: ['docs/index.md']")):
        dist.check([lacking, wheel])

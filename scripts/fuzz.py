"""Coverage-guided fuzzing of what reads bytes from strangers, with atheris (`pip install atheris`; no test needs it).

    python scripts/fuzz.py TARGET [--seconds N] [--corpus DIRECTORY]

A target may end in an error of memctl's own; anything else that is raised, or a case that takes more than ten seconds
or two gigabytes, is a finding: atheris then writes the case to `crash-…` and stops.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["memctl"]):
    from memctl.core.formats import codec, document, reflections, safe_yaml, sessions, trash
    from memctl.core.formats.codec import RecordError
    from memctl.core.formats.safe_yaml import UnsafeYamlError
    from memctl.core.text import terms
    from memctl.errors import MemctlError
    from memctl.feedback import rules
    from memctl.storage.files import journal, merge
    from memctl.transfer import formats


def read_document(data: bytes) -> None:
    """`memory.json`: what was read is written, and read again as the same."""
    for record in document.parse(data).records:
        if record.memory is not None:
            assert data[record.start : record.start + len(record.raw)] == record.raw
            with suppress(RecordError):
                assert codec.decode(json.loads(codec.dump(codec.encode(record.memory)))) is not None


def read_reflection(data: bytes) -> None:
    reflections.parse(data, "reflections/a.md")


def read_import(data: bytes) -> None:
    formats.read(data)


def read_session(data: bytes) -> None:
    """A session that was read has a form to be written in, and is then read as the same."""
    session = sessions.parse(data, "main", "sessions/main.json")
    again = sessions.parse(sessions.dump(session), "main", "sessions/main.json")
    assert (again.components, again.extra) == (session.components, session.extra)


def read_yaml(data: bytes) -> None:
    safe_yaml.load(data.decode("utf-8", "replace"))


def read_logs(data: bytes) -> None:
    """What memctl keeps for itself, after somebody has been at it."""
    journal.parsed(data)
    rules.read(data)
    trash.read_trashed(data, "trash")


def merge_three(data: bytes) -> None:
    """Three versions, parted by a zero byte: the order of the sides does not matter to what can be read."""
    base, ours, theirs = (*data.split(b"\0", 2), b"", b"")[:3]
    document.parse(merge.memory_file(base, ours, theirs).data)


def ask(data: bytes) -> None:
    """Any text is a legal question, and the index prepares it as it prepares a memory."""
    words = terms.terms(data.decode("utf-8", "replace"))
    assert all(word and len(word) <= terms.LONGEST_TERM for word in words)
    terms.match_expression(words)


TARGETS: dict[str, tuple[Callable[[bytes], None], str]] = {
    "document": (read_document, "memory.json"),
    "frontmatter": (read_reflection, "reflections/*.md"),
    "jsontext": (read_import, "memory.json"),
    "sessions": (read_session, ""),
    "yaml": (read_yaml, "../memctl.yaml"),
    "logs": (read_logs, ""),
    "merge": (merge_three, ""),
    "fts": (ask, ""),
}


def seeds(pattern: str) -> list[bytes]:
    """The sample store's own files, cut to a size that a mutation still tells in."""
    folder = Path(__file__).resolve().parents[1] / "sample_store" / "alice"
    return [path.read_bytes()[:3000] for path in folder.glob(pattern)] if pattern else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, help="keep what is found here; begins with the sample store's files")
    chosen = parser.parse_args()
    target, pattern = TARGETS[chosen.target]
    if chosen.corpus:
        chosen.corpus.mkdir(exist_ok=True)
        for number, seed in enumerate(seeds(pattern) or [b'{"sessionId": "main", "components": {"memory": {}}}']):
            (chosen.corpus / f"seed-{number}").write_bytes(seed)

    def one(data: bytes) -> None:
        with suppress(MemctlError, UnsafeYamlError):
            target(data)

    limits = [f"-max_total_time={chosen.seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=4096"]
    atheris.Setup([sys.argv[0], *limits, *([str(chosen.corpus)] if chosen.corpus else [])], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

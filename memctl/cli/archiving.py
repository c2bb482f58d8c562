"""Backups: `export --archive` and `import --archive`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memctl.cli import options, render
from memctl.cli.options import current

if TYPE_CHECKING:
    from memctl.transfer.archive import Archive


def export(path: Path, with_log: bool) -> None:
    """Write a user's files into an archive."""
    with options.opened(quiet=True) as store:
        written = store.export_archive(path, with_log=with_log)
    for left_out in written.left_out:
        render.warn(f"left out: {left_out}")
    if current.json:
        render.as_json({"written": str(path), **_told(written), "left_out": list(written.left_out)})
        return
    render.say(f"wrote {_count(written)} of {written.user} to {path}, and read it back")
    render.say(f"SHA-256 {written.sha256}")


def restore(path: Path, with_settings: bool, dry_run: bool) -> None:
    """Bring an archive back as a new user, or only check it."""
    from memctl.cli.everyday import make_settings
    from memctl.core.names import check_user_name
    from memctl.storage.files.layout import UserFolder
    from memctl.transfer import archive, restoring

    root = options.store_root()
    if dry_run:
        held = archive.verify(path)
        folder = UserFolder(root / check_user_name(current.user or held.user))
        restoring.check_free(folder)
    else:
        folder, held = restoring.restore(path, root, current.user or "", with_settings=with_settings)
        make_settings(root)
    if current.json:
        render.as_json({"user": folder.name, "folder": str(folder.root), "dry_run": dry_run, **_told(held)})
        return
    render.say(f"SHA-256 {held.sha256}")
    render.say(
        f"{'would bring' if dry_run else 'brought'} back {_count(held)} as the user {folder.name}: {folder.root}"
    )
    if held.settings is not None and not with_settings:
        render.say("its settings (memctl.yaml) are left in the archive; --with-settings takes them")
    if any(entry.path.startswith((".memctl/state/", "sessions/")) for entry in held.entries):
        render.say("its trash, drafts, sessions and log are not believed before `memctl state adopt`")


def _told(held: Archive) -> dict[str, object]:
    settings = held.settings is not None
    return {"files": len(held.entries), "bytes": held.size, "settings": settings, "sha256": held.sha256}


def _count(held: Archive) -> str:
    return f"{len(held.entries):,} files ({held.size:,} bytes)"

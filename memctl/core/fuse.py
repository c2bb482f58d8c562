"""The fuse: a change of more than a quarter of the memories at once is refused until it is asked for."""

from __future__ import annotations

from memctl.errors import RefusedError

FUSE_SHARE, FUSE_LEAST = 0.25, 20


def blows(going: int, active: int) -> bool:
    """Whether so many of the active memories are too many to change at once."""
    return active >= FUSE_LEAST and going > FUSE_SHARE * active


def refusal(going: int, active: int, done: str, command: str) -> RefusedError | None:
    """The refusal to change more than a quarter of the memories at once; None where it holds.

    Args:
        done: what would be done to them ("archived").
        command: which looks at them with `--dry-run`.
    """
    if not blows(going, active):
        return None
    return RefusedError(
        f"{going} of {active} memories would be {done} at once; nothing was changed",
        hint=f"Look at them with `{command} --dry-run`; go on with --allow-mass-change.",
    )

"""Finding problems in a user's folder, with file and line, and repairing those that are safe to repair."""

from memctl.doctor.codes import BROKEN
from memctl.doctor.examining import examine
from memctl.doctor.repairing import repair

__all__ = ["BROKEN", "examine", "repair"]

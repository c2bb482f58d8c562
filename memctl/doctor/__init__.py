"""Looking for what is wrong in a user's folder, explaining it with file and line, and mending what is safe to mend."""

from memctl.doctor.codes import BROKEN
from memctl.doctor.examining import examine
from memctl.doctor.mending import mend

__all__ = ["BROKEN", "examine", "mend"]

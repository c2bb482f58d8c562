"""Really forgetting: what a purge erases, in which files, and what else tells of it. For folders alone."""

"""Really forgetting: what a purge erases, in which files, and what else mentions it. For folders alone."""

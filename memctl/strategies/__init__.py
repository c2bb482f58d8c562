"""Error-recovery strategies: what mended a failed call, how it generalises, and when it is proposed again."""

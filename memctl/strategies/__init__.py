"""Error-recovery strategies: how failed calls were fixed, applying fixes to other calls, and proposing them."""

"""Error-recovery strategies: how failed calls were fixed, how that carries over, and when it is proposed again."""

"""Law: every figure is a ratio to a named rival, measured in the same run, each approach in a process of its own."""

"""Law: a small cluster that behaves like the real one, for demo, faults and scale. Where they differ, it is wrong."""

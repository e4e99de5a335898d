"""Law: a small cluster that behaves like the real one, for the demo, for faults and for scale. Where they differ, it is wrong."""

"""Law: opens the doors, builds the loops, and runs them in one task group; the only room that knows every room."""

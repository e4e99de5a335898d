"""Law: one way of doing it a file, each written as its own users write it; none knows the others."""

"""The main job, to watch: GPU nodes join, their memory becomes schedulable, and stays so. `make demo`."""

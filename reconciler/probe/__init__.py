"""Law: a second program that runs on the GPU node. Standard library, pynvml and the report model, nothing else."""

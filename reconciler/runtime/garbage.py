"""When does Python look for garbage? Rarely: what the controller keeps is none, and looking at all of it takes long."""

import gc

YOUNG = 50_000
"""New containers until the young ones are looked at, which takes milliseconds; Python's own 700 mean that a first sync
of 155,000 objects looks at everything a dozen times, 0.1 s and more each."""


def keep() -> None:
    """All that is here now stays, so it is never looked at again; what comes is looked at rarely.

    To be called before the first sync, for the modules, and after it, for the objects. Cycles, such as exceptions that
    hold their frames, are still found: after 50,000 new containers at the latest.
    """
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 20)

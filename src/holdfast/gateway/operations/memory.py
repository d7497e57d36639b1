"""How the process takes memory from the system.

glibc gives threads pools of their own, and each pool keeps the most that its thread ever needed. A gateway has dozens
of threads that parse large bodies now and then: with two pools for all, what one has done with serves the next. What is
large gets memory of its own, which goes back to the system with it: else glibc would take ever larger blocks from the
pools, once the first of their size were freed.
"""

import ctypes

MMAP_THRESHOLD = -3
"""`M_MMAP_THRESHOLD`, for `mallopt`."""
ARENA_MAX = -8
"""`M_ARENA_MAX`, for `mallopt`."""
POOLS = 2
LARGE = 256 * 1024


def share_pools() -> bool:
    """Have all threads share a few pools from now on; False where the C library knows no such thing."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(ARENA_MAX, POOLS) == 1 and mallopt(MMAP_THRESHOLD, LARGE) == 1)

"""What holds for the daemon's process as a whole: descriptors, and the pauses that Python itself makes."""

from __future__ import annotations

import contextlib
import gc
import resource

import gevent

# Where a system knows no limit, asking for more than this is refused on some.
MAX_DESCRIPTORS = 65_536
# New objects before the collector looks for rings among them; Python's own is 700, less than one request makes.
_YOUNG = 20_000


def raise_descriptor_limit() -> int:
    """Every connection and every terminal costs a descriptor. Returns the limit that was there, which is for children.

    A login shell gives 1,024 on Linux and 256 on macOS, and permits many more.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    want = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(want, soft), hard))
    return soft


def forget_ancestors() -> None:
    """Greenlets need not remember who spawned them and where: it is for debuggers, and weighs half a kilobyte each."""
    gevent.config.track_greenlet_tree = False


def spare_collector() -> None:
    """To be called once everything has started: what lives as long as the process is never looked at again.

    Otherwise a full collection stops the hub for 30 ms and more, several times a minute under load.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)

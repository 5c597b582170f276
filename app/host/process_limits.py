"""Limits of this process (ulimit) under which a server may not start."""

import os
import resource

from app.config.sizes import format_size


def address_space_warning() -> str:
    """Return a warning if the address space is limited to less than the machine's memory; else an empty text."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if not 0 <= limit < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        return ""
    return (
        f"the address space of each process is limited to {format_size(limit)}, and a server reserves several times "
        "the memory that it uses. If it does not start, raise the limit (ulimit -v)"
    )

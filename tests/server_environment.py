"""Environment of the servers that tests start as processes."""

import os
from collections.abc import Mapping

NO_DISK_TIER = ("EBB_DISK_KV_SIZE", "0")
"""Variable and value of a server that keeps no KV on disk."""


def server_environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of this process without the user's settings of Ebb, with `variables` added.

    Without a folder in `variables`, a disk tier would write to the user's cache directory, so it is off.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("EBB_")}
    return {**inherited, **dict([NO_DISK_TIER]), **(variables or {})}

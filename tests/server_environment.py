"""Environment of the servers that tests start as processes."""

import os
from collections.abc import Mapping

NOTHING_KEPT = {"EBB_DISK_KV_SIZE": "0", "EBB_PACKED_SIZE": "0"}
"""Variables of a server that keeps neither KV nor packed weights on disk."""


def server_environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of this process without the user's settings of Ebb, with `variables` added.

    Without a folder in `variables`, the disk tier and packed weights would be in the user's cache directory, so they
    are off.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("EBB_")}
    return {**inherited, **NOTHING_KEPT, **(variables or {})}

"""Chats whose KV is in Redis alone."""

import time

from cache_tiers.store import KVTierStore


def empty_cpu(store: KVTierStore) -> None:
    """Clear host memory, and retry until it is empty: a block that has arrived in Redis is held a moment longer."""
    while not store.clear_cpu():
        time.sleep(0.002)

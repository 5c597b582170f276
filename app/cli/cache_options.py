"""Words and settings of `ebb cache`."""

CACHE_ACTIONS = ("stat", "clear", "verify", "plan")
CACHE_HELP = (
    "inspect KV blocks in Redis and on the disk, and packed weights: stat counts, verify checks, clear deletes them; "
    "plan asks the running server which tier should be larger"
)
CACHE_SETTINGS = (
    *("host", "port"),
    *("state-dir", "cache-dir", "secret-file", "redis-url", "disk-kv-size", "disk-kv-dir", "packed-size"),
)

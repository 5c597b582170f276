"""What can go wrong between us and a Redis server, apart from the socket's own OSError.

RedisError
├── RedisAddressError   a URL that names no server
├── RedisRefusedError   the server answers, but will not serve us: wrong password, still loading its snapshot, ...
├── RedisProtocolError  bytes that are not RESP, or too many of them: the connection is of no further use
└── CompanionError      the companion server cannot be started here
    └── StateDirInUseError  another process keeps its companion in the same state directory
"""


class RedisError(Exception):
    """Root of the tree."""


class RedisAddressError(RedisError):
    """The URL is not a Redis URL, or asks for what we do not support. Never repeats its password."""


class RedisRefusedError(RedisError):
    """The connection works and the server says no to everything; its words are the message."""


class RedisProtocolError(RedisError):
    """The reply is not what the protocol allows here; the connection must be closed."""


class CompanionError(RedisError):
    """The companion did not start; the message holds the last lines of its log."""


class StateDirInUseError(CompanionError):
    """Another living process holds the lock of this state directory."""

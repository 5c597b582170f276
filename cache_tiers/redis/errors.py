"""Errors between this process and a Redis server, apart from the socket's own OSError.

RedisError
├── RedisAddressError   the URL does not name a server
├── RedisRefusedError   the server answers but refuses a command: wrong password, still loading its snapshot, ...
├── RedisProtocolError  bytes that are not RESP, or too many of them: the connection is unusable
└── CompanionError      the companion server cannot be started here
    └── StateDirInUseError  another process keeps its companion in the same state directory
"""

from cache_tiers.lower.backend import TierFaultError, TierRefusedError


class RedisError(Exception):
    """Base class of all errors in this module."""


class RedisAddressError(RedisError):
    """The URL is not a Redis URL, or asks for an unsupported option. The message never contains the password."""


class RedisRefusedError(RedisError, TierRefusedError):
    """The connection works, but the server refuses a command without which no block can be read.

    The message is the command and the server's reply.
    """


class RedisProtocolError(RedisError, TierFaultError):
    """The reply is not allowed by the protocol at this point. The connection must be closed."""


class CompanionError(RedisError):
    """The companion did not start. The message contains the last lines of its log."""


class StateDirInUseError(CompanionError):
    """Another living process holds the lock of this state directory."""

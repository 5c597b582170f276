"""The commands that blocks need, tried on a connection without any effect.

A server may lack a command, deny it to an account, or refuse it at present. All of these are an error reply, so the
replies are judged by their command and not by their text.
"""

from collections.abc import Sequence
from typing import Final

from cache_tiers.redis.errors import RedisRefusedError
from cache_tiers.redis.keys import KEY_PREFIX
from cache_tiers.redis.resp import ErrorReply, Reply, RespConnection, command

# Keys that never exist. Two of them, because a node of a cluster accepts one and refuses the keys of other nodes.
_PROBES: Final = (KEY_PREFIX + b"probe", KEY_PREFIX + b"probe2")
_READS: Final = ((b"EXISTS", *_PROBES), (b"GETEX", _PROBES[0], b"PERSIST"), (b"GET", _PROBES[0]))
_WRITES: Final = ((b"SET", _PROBES[0], b"", b"XX"), (b"EXPIRE", _PROBES[0], b"1"), (b"UNLINK", *_PROBES))


def check_reads(connection: RespConnection) -> bool:
    """Return True if the server can read a value and renew its time to live in one command.

    Servers before Redis 6.2 lack that command, and it counts as a write where writes are refused. Raise
    RedisRefusedError if blocks cannot be looked up and read even without it.
    """
    exists, getex, get = _replies(connection, _READS)
    if isinstance(exists, ErrorReply):
        raise RedisRefusedError(f"EXISTS: {exists.text}")
    if isinstance(getex, ErrorReply) and isinstance(get, ErrorReply):
        raise RedisRefusedError(f"GET: {get.text}")
    return not isinstance(getex, ErrorReply)


def refused_write(connection: RespConnection) -> str:
    """Return the first command that storing, renewing or erasing needs and the server refuses, with its reply.

    Return an empty text if none is refused.
    """
    for (name, *_), reply in zip(_WRITES, _replies(connection, _WRITES), strict=True):
        if isinstance(reply, ErrorReply):
            return f"{name.decode()}: {reply.text}"
    return ""


def _replies(connection: RespConnection, commands: Sequence[tuple[bytes, ...]]) -> list[Reply]:
    connection.start_exchange()
    connection.send([b"".join(command(*words) for words in commands)])
    return [connection.read_reply() for _ in commands]

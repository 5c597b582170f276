"""Commands for blocks on one Redis connection: put, load, look up, renew, erase. Independent of threads and LMCache."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.sealed_value import HEADER_BYTES, BlockSeal, Reject
from cache_tiers.lower.tier import Block
from cache_tiers.redis.block_format import BlockFormat
from cache_tiers.redis.errors import RedisRefusedError
from cache_tiers.redis.resp import ErrorReply, Reply, RespConnection, command

KEY_PREFIX = b"ebb:kv:"
_FIRST_AHEAD: Final = 8
"""Blocks to request ahead while the link's speed is unknown."""


def redis_key(key: bytes) -> bytes:
    """Return the Redis key of a block."""
    return KEY_PREFIX + key.hex().encode()


def put_block(connection: RespConnection, block: Block, layout: BlockFormat) -> ErrorReply | None:
    """Store one block. Return the server's error (out of memory, read-only, ...), or None on success.

    The first value stands for the whole block, so it is written after all others are stored.
    """
    first, *others = _values(block, layout)
    connection.start_exchange(block.payload.nbytes)
    error = _put_values(connection, others, layout) or _put_values(connection, [first], layout)
    if error is not None and others:
        # The values stored so far can never be found: remove them. A block of one value has none, and its refused
        # write leaves an earlier one, which is as good.
        erase_blocks(connection, [block.key], layout)
    return error


def _put_values(connection: RespConnection, values: Sequence[Block], layout: BlockFormat) -> ErrorReply | None:
    ttl = b"%d" % layout.ttl_seconds
    for value in values:
        name, header = redis_key(value.key), layout.seal.header(value.key, value.payload)
        head = b"*5\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n" % (len(name), name, len(header) + value.payload.nbytes)
        tail = b"\r\n$2\r\nEX\r\n$%d\r\n%s\r\n" % (len(ttl), ttl)
        connection.send([head + header, value.payload, tail])
    return _first_error([connection.read_reply() for _ in values])


def _first_error(replies: Iterable[Reply]) -> ErrorReply | None:
    return next((reply for reply in replies if isinstance(reply, ErrorReply)), None)


def renew_blocks(connection: RespConnection, keys: Sequence[bytes], layout: BlockFormat) -> list[bool] | ErrorReply:
    """Renew the time to live of stored blocks in one round trip. Return which of them are there, complete.

    Redis' own LRU counts the blocks as used in the order of `keys`.
    """
    ttl = b"%d" % layout.ttl_seconds
    connection.start_exchange()
    connection.send(
        [b"".join(command(b"EXPIRE", redis_key(each), ttl) for key in keys for each in layout.value_keys(key))]
    )
    replies = [[connection.read_reply() for _ in range(layout.num_values)] for _ in keys]
    error = _first_error(chain.from_iterable(replies))
    return [all(reply == 1 for reply in of_block) for of_block in replies] if error is None else error


def erase_blocks(connection: RespConnection, keys: Sequence[bytes], layout: BlockFormat) -> ErrorReply | None:
    """Remove the blocks in one round trip. Return the server's error, or None on success."""
    reply = connection.call(b"UNLINK", *(redis_key(each) for key in keys for each in layout.value_keys(key)))
    return _first_error([reply])


def find_blocks(connection: RespConnection, keys: Sequence[bytes], meter: LinkMeter) -> list[bool]:
    """Return which of the keys exist now, in one round trip. The answer is a hint: a later load may still miss.

    Raise RedisRefusedError if the server refuses a lookup.
    """
    connection.start_exchange()
    connection.send([b"".join(command(b"EXISTS", redis_key(key)) for key in keys)])
    asked = time.monotonic()
    connection.await_reply()
    meter.on_answer(time.monotonic() - asked)
    replies = [connection.read_reply() for _ in keys]
    if (error := _first_error(replies)) is not None:
        raise RedisRefusedError(f"EXISTS: {error.text}")
    return [reply == 1 for reply in replies]


def load_blocks(
    connection: RespConnection,
    next_block: Callable[[], Block | None],
    layout: BlockFormat,
    meter: LinkMeter,
    *,
    getex: bool,
) -> Iterator[Reject | bool]:
    """Receive blocks into their memory and renew their time to live, until `next_block` returns None.

    Only as many blocks are requested ahead as keep the link busy. Redis copies everything that one client has requested
    before it sends the first byte, and serves no other client until then.

    Yield one outcome per block: True if its payload is complete and verified, False if Redis does not have it, or the
    reason why the value found is not used. After any outcome but True the memory holds garbage. Raise RedisRefusedError
    if the server refuses to read.
    """
    asked: deque[Block] = deque()

    def ask(most: int) -> None:
        blocks = list(islice(iter(next_block, None), most))
        if blocks:
            if not asked:
                connection.start_exchange()
            connection.send([b"".join(_request(block, layout, getex=getex) for block in blocks)])
            asked.extend(blocks)

    # Request the first block alone, so that its reply begins before the others are copied.
    ask(1)
    if not asked:
        return
    began = time.monotonic()
    ask(_ahead(meter, asked[0]) - 1)
    connection.await_reply()
    meter.on_answer(time.monotonic() - began)
    with meter.receiving(lambda: connection.num_received):
        while asked:
            ask(max(0, _ahead(meter, asked[0]) + 1 - len(asked)))
            block = asked.popleft()
            connection.extend_exchange(block.payload.nbytes)
            outcomes = []
            for value in _values(block, layout):
                outcomes.append(_receive(connection, value, layout.seal, b"GETEX" if getex else b"GET"))
                if not getex:
                    # Redis may refuse to renew a value that it still serves.
                    connection.read_reply()
            yield next((outcome for outcome in outcomes if outcome is not True), True)


def _values(block: Block, layout: BlockFormat) -> list[Block]:
    keys, payloads = layout.value_keys(block.key), layout.payloads(block.payload)
    return [Block(key, payload) for key, payload in zip(keys, payloads, strict=True)]


def _request(block: Block, layout: BlockFormat, *, getex: bool) -> bytes:
    ttl = b"%d" % layout.ttl_seconds
    names = [redis_key(key) for key in layout.value_keys(block.key)]
    if getex:
        return b"".join(command(b"GETEX", name, b"EX", ttl) for name in names)
    return b"".join(command(b"GET", name) + command(b"EXPIRE", name, ttl) for name in names)


def _ahead(meter: LinkMeter, block: Block) -> int:
    return meter.speed.messages_under_way(block.payload.nbytes) or _FIRST_AHEAD


def _receive(connection: RespConnection, block: Block, seal: BlockSeal, verb: bytes) -> Reject | bool:
    """Read the bulk reply of one value to its end, valid or not, so that the connection stays in step."""
    length = connection.read_bulk_length()
    if isinstance(length, ErrorReply):
        if length.text.startswith("WRONGTYPE"):
            return Reject.TYPE
        raise RedisRefusedError(f"{verb.decode()}: {length.text}")
    if length is None:
        return False
    header = bytearray(min(length, HEADER_BYTES))
    connection.read_into(memoryview(header))
    reject = seal.check_header(block.key, header, length, block.payload.nbytes)
    if reject is None:
        connection.read_into(block.payload)
    else:
        connection.skip(length - len(header))
    connection.end_bulk()
    if reject is None:
        reject = seal.check_payload(header, block.payload)
    return True if reject is None else reject

"""What a block needs of Redis, on one connection: put, load and look up. Nothing here knows threads or LMCache."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from cache_tiers.link_speed import LinkMeter
from cache_tiers.redis.block_format import BlockFormat
from cache_tiers.redis.resp import ErrorReply, RespConnection, command
from cache_tiers.redis.value import HEADER_BYTES, BlockSeal, Reject

KEY_PREFIX = b"ebb:kv:"
_PROBE_KEY = b"ebb:probe"
_FIRST_AHEAD: Final = 8
"""Blocks to ask for ahead while nothing is known of the link."""


@dataclass(frozen=True, slots=True)
class Block:
    """A key and the memory that its payload is sent from or received into (format 'B', contiguous); of a whole
    block, or of one of its values."""

    key: bytes
    payload: memoryview


def redis_key(key: bytes) -> bytes:
    """The name under which a block is stored."""
    return KEY_PREFIX + key.hex().encode()


def knows_getex(connection: RespConnection) -> bool:
    """Whether the server can read a value and renew its time to live in one command (Redis 6.2 and later)."""
    return not isinstance(connection.call(b"GETEX", _PROBE_KEY, b"PERSIST"), ErrorReply)


def put_block(connection: RespConnection, block: Block, layout: BlockFormat) -> ErrorReply | None:
    """Store one block; an ErrorReply says why the server did not (out of memory, read-only, ...). The value that stands
    for the block is written when all others are there."""
    first, *others = _values(block, layout)
    connection.start_exchange(block.payload.nbytes)
    error = _put_values(connection, others, layout)
    if error is None:
        return _put_values(connection, [first], layout)
    # Nobody would find what was taken of it.
    erase_blocks(connection, [block.key], layout)
    return error


def _put_values(connection: RespConnection, values: Sequence[Block], layout: BlockFormat) -> ErrorReply | None:
    ttl = b"%d" % layout.ttl_seconds
    for value in values:
        name, header = redis_key(value.key), layout.seal.header(value.key, value.payload)
        head = b"*5\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n" % (len(name), name, len(header) + value.payload.nbytes)
        tail = b"\r\n$2\r\nEX\r\n$%d\r\n%s\r\n" % (len(ttl), ttl)
        connection.send([head + header, value.payload, tail])
    replies = [connection.read_reply() for _ in values]
    return next((reply for reply in replies if isinstance(reply, ErrorReply)), None)


def renew_blocks(connection: RespConnection, keys: Sequence[bytes], layout: BlockFormat) -> list[bool]:
    """Begin the time to live of stored blocks anew, in one round trip: which of them are there, whole. For Redis' own
    LRU they count as used, the last key last."""
    ttl = b"%d" % layout.ttl_seconds
    connection.start_exchange()
    connection.send(
        [b"".join(command(b"EXPIRE", redis_key(each), ttl) for key in keys for each in layout.value_keys(key))]
    )
    replies = [[connection.read_reply() for _ in range(layout.num_values)] for _ in keys]
    return [all(reply == 1 for reply in of_block) for of_block in replies]


def erase_blocks(connection: RespConnection, keys: Sequence[bytes], layout: BlockFormat) -> None:
    """Remove the blocks, in one round trip. What the server refuses to remove lives as long as it would have lived."""
    connection.call(b"UNLINK", *(redis_key(each) for key in keys for each in layout.value_keys(key)))


def find_blocks(connection: RespConnection, keys: Sequence[bytes], meter: LinkMeter) -> list[bool]:
    """Which of the keys exist now, in one round trip. A hint: a later load may still miss."""
    connection.start_exchange()
    connection.send([b"".join(command(b"EXISTS", redis_key(key)) for key in keys)])
    asked = time.monotonic()
    connection.await_reply()
    meter.answered(time.monotonic() - asked)
    return [connection.read_reply() == 1 for _ in keys]


def load_blocks(
    connection: RespConnection,
    next_block: Callable[[], Block | None],
    layout: BlockFormat,
    meter: LinkMeter,
    *,
    getex: bool,
) -> Iterator[Reject | bool]:
    """Receive blocks into their memory and renew their time to live, until there is no next one.

    Only so many are asked for ahead that the link never runs dry: Redis copies all that one client has asked for before
    it sends the first byte, and serves nobody meanwhile.

    Yields per block: True when its payload is there and verified, False when there is none, or why what was found is
    not used. After anything but True the memory holds garbage.
    """
    asked: deque[Block] = deque()

    def ask(most: int) -> None:
        blocks = list(islice(iter(next_block, None), most))
        if blocks:
            if not asked:
                connection.start_exchange()
            connection.send([b"".join(_request(block, layout, getex=getex) for block in blocks)])
            asked.extend(blocks)

    # The first one alone, so that its answer begins before the others are copied.
    ask(1)
    if not asked:
        return
    began = time.monotonic()
    ask(_ahead(meter, asked[0]) - 1)
    connection.await_reply()
    meter.answered(time.monotonic() - began)
    with meter.receiving(lambda: connection.num_received):
        while asked:
            ask(max(0, _ahead(meter, asked[0]) + 1 - len(asked)))
            block = asked.popleft()
            connection.extend_exchange(block.payload.nbytes)
            outcomes = []
            for value in _values(block, layout):
                outcomes.append(_receive(connection, value, layout.seal))
                if not getex:
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


def _receive(connection: RespConnection, block: Block, seal: BlockSeal) -> Reject | bool:
    """Read the bulk reply of one value to its end whatever it holds, so that the connection stays in step."""
    length = connection.read_bulk_length()
    if isinstance(length, ErrorReply):
        return Reject.TYPE if length.text.startswith("WRONGTYPE") else False
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

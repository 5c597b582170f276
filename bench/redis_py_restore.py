"""`python -m bench.redis_py_restore PORT BLOCKS BLOCK_BYTES`: blocks from Redis by redis-py, a GET each.

The process is separate, as in a program that uses redis-py. The speed depends on whether the heap happens to keep the
memory of the last value, which anything else in the process changes. Each line on standard input restores all blocks
once and answers with a line.
"""

import os
import sys

import redis


def main(port: int, blocks: int, block_bytes: int) -> None:
    """Restore all blocks for each line of standard input. Each value is copied to its place in the pool."""
    pool = memoryview(bytearray(blocks * block_bytes))
    with redis.Redis(port=port) as client:
        for number in range(blocks):
            client.set(f"py:{number}", os.urandom(block_bytes))
        print("ready", flush=True)
        for _ in sys.stdin:
            for number in range(blocks):
                value = client.get(f"py:{number}")
                assert isinstance(value, bytes)
                pool[number * block_bytes : (number + 1) * block_bytes] = value
            print("restored", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

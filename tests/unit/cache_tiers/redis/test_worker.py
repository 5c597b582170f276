import pytest

from cache_tiers.redis.errors import CompanionError, RedisError, RedisProtocolError, RedisRefusedError
from cache_tiers.redis.worker import describe_fault


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RedisRefusedError("EXISTS: NOAUTH"), "Redis refuses EXISTS: NOAUTH"),
        (RedisProtocolError("a reply line does not end"), "Redis sent an invalid reply: a reply line does not end"),
        (CompanionError("the folder is full"), "Redis cannot be used: the folder is full"),
        (TimeoutError("no reply"), "Redis does not answer in time"),
        (ConnectionRefusedError(111, "Connection refused"), "nothing is listening at the Redis address"),
        (OSError(113, "No route to host"), "Redis cannot be reached: No route to host"),
    ],
)
def test_fault_is_described_by_its_kind(error: OSError | RedisError, words: str) -> None:
    assert describe_fault(error) == words

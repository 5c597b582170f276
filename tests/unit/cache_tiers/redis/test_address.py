import os
from pathlib import Path

import pytest

from cache_tiers.redis.address import RedisAddress, TlsOptions, parse_redis_url
from cache_tiers.redis.errors import RedisAddressError


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://", RedisAddress()),
        ("redis://cache.example:7000", RedisAddress(host="cache.example", port=7000)),
        ("redis://cache.example/3", RedisAddress(host="cache.example", database=3)),
        ("redis://cache.example?db=3", RedisAddress(host="cache.example", database=3)),
        ("redis://:s%40crt@h:1", RedisAddress(host="h", port=1, password="s@crt")),
        ("redis://ebb:pw@[::1]:1", RedisAddress(host="::1", port=1, username="ebb", password="pw")),
        ("rediss://h", RedisAddress(host="h", tls=TlsOptions())),
        ("rediss://h?ssl_cert_reqs=none", RedisAddress(host="h", tls=TlsOptions(verify=False))),
        ("rediss://h?ssl_ca_certs=/etc/ca.pem", RedisAddress(host="h", tls=TlsOptions(ca_file="/etc/ca.pem"))),
        ("unix:///run/redis.sock", RedisAddress(unix_path=Path("/run/redis.sock"))),
        (
            "unix://ebb:pw@/run/my%20redis.sock?db=2",
            RedisAddress(unix_path=Path("/run/my redis.sock"), username="ebb", password="pw", database=2),
        ),
    ],
)
def test_a_url_is_read_as_redis_py_writes_it(url: str, address: RedisAddress) -> None:
    assert parse_redis_url(url) == address


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("http://h", "must start with redis://"),
        ("localhost:6379", "must start with redis://"),
        ("redis://h:port", "valid host and port"),
        ("redis://h:70000", "valid host and port"),
        ("redis://h/x", "must be a number"),
        ("redis://ebb@h", "a user but no password"),
        ("redis://h?timeout=3", "unknown options in the Redis URL: timeout"),
        ("redis://h?ssl_cert_reqs=none", "unknown options"),
        ("rediss://h?ssl_cert_reqs=maybe", "required or none"),
        ("unix://relative.sock", "absolute path"),
        ("unix://", "absolute path"),
    ],
)
def test_a_wrong_url_is_refused_with_the_reason(url: str, complaint: str) -> None:
    with pytest.raises(RedisAddressError, match=complaint):
        parse_redis_url(url)


@pytest.mark.parametrize("url", ["redis://u:hunter2@h:1", "unix://u:hunter2@/run/r.sock", "rediss://:hunter2@h"])
def test_a_password_is_never_shown(url: str) -> None:
    address = parse_redis_url(url)
    assert "hunter2" not in f"{address} {address!r}"
    with pytest.raises(RedisAddressError) as error:
        parse_redis_url(url + "?nonsense=1")
    assert "hunter2" not in str(error.value)


def test_an_address_reads_as_a_url() -> None:
    assert str(parse_redis_url("redis://u:p@[::1]:7/2")) == "redis://[::1]:7"
    assert str(parse_redis_url("rediss://h")) == "rediss://h:6379"
    assert str(parse_redis_url("unix:///run/r.sock")) == "unix:///run/r.sock"


@pytest.mark.parametrize("name", ["my redis", "50%41", "a#b?c=d", "\u00e4\U0001f600", os.fsdecode(b"\xff")])
def test_url_of_any_socket_file_is_ascii_and_parses(name: str) -> None:
    address = RedisAddress(unix_path=Path("/run") / name)
    assert str(address).isascii()
    assert parse_redis_url(str(address)) == address

"""Address of a Redis server, and the credentials for it."""

import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, unquote_to_bytes, urlsplit

from cache_tiers.redis.errors import RedisAddressError

DEFAULT_PORT = 6379


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """Verification of the server of a rediss:// URL.

    ca_file: PEM file of the trusted authorities; None for the system's.
    """

    verify: bool = True
    ca_file: str | None = None

    def context(self) -> ssl.SSLContext:
        """Create a client context. Raise OSError if `ca_file` cannot be read."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisAddress:
    """A TCP endpoint (`host`, `port`) or, if `unix_path` is set, a socket file.

    username: None signs in as the default user if there is a password.
    password: left out of repr(); None means no sign-in.
    tls: None means a plain connection.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    unix_path: Path | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    database: int = 0
    tls: TlsOptions | None = None

    def __str__(self) -> str:
        """Return the URL without user and password, safe for logs and pages. `parse_redis_url` accepts it."""
        if self.unix_path is not None:
            return f"unix://{quote(os.fsencode(self.unix_path))}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'rediss' if self.tls else 'redis'}://{host}:{self.port}"


def parse_redis_url(url: str) -> RedisAddress:
    """Parse redis://, rediss:// or unix:// in redis-py's syntax.

    redis[s]://[[user]:password@]host[:port][/database] and unix://[[user]:password@]/path[?db=n];
    rediss:// also takes ?ssl_cert_reqs=required|none and ?ssl_ca_certs=FILE.

    Raise RedisAddressError, whose message names the error.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise RedisAddressError("the Redis URL has no valid host and port") from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    username = unquote(parts.username) if parts.username else None
    password = unquote(parts.password) if parts.password else None
    if username is not None and password is None:
        raise RedisAddressError("the Redis URL has a user but no password")
    if parts.scheme == "unix":
        path = os.fsdecode(unquote_to_bytes(parts.path))
        if not path.startswith("/") or path == "/":
            raise RedisAddressError("a unix:// Redis URL needs an absolute path, such as unix:///run/redis.sock")
        database = _database(options.pop("db", ""))
        address = RedisAddress(unix_path=Path(path), username=username, password=password, database=database)
    elif parts.scheme in ("redis", "rediss"):
        address = RedisAddress(
            host=parts.hostname or "127.0.0.1",
            port=DEFAULT_PORT if port is None else port,
            username=username,
            password=password,
            database=_database(options.pop("db", "") or parts.path.strip("/")),
            tls=_tls(options) if parts.scheme == "rediss" else None,
        )
    else:
        raise RedisAddressError(
            f"a Redis URL must start with redis://, rediss:// or unix://, not {parts.scheme or url!r}"
        )
    if options:
        raise RedisAddressError(f"unknown options in the Redis URL: {', '.join(sorted(options))}")
    return address


def _database(text: str) -> int:
    if not text:
        return 0
    if not text.isdecimal():
        raise RedisAddressError(f"the database in a Redis URL must be a number, not {text!r}")
    return int(text)


def _tls(options: dict[str, str]) -> TlsOptions:
    mode = options.pop("ssl_cert_reqs", "required")
    if mode not in ("required", "none"):
        raise RedisAddressError(f"ssl_cert_reqs must be required or none, not {mode!r}")
    return TlsOptions(verify=mode == "required", ca_file=options.pop("ssl_ca_certs", None))

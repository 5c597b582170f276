"""Settings of access to the server and of its logs."""

from dataclasses import dataclass
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

from app.config.options import any_path, integer, one_of, setting, switch
from app.config.parsers import parse_origins, parse_public_url
from app.logs.log_lines import LogFormat, LogLevel


def _http_url(text: str) -> str:
    url = urlsplit(text)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(f"{text!r} is not a URL like http://localhost:4318/v1/traces")
    return text


@dataclass(frozen=True, kw_only=True)
class AccessSettings:
    """Connections, origins, keys, logs and traces."""

    tls_certificate: Path | None = setting(
        None,
        any_path,
        "FILE",
        "certificate chain (PEM) for TLS; reloaded when it changes ([keys](guides/keys.md#tls))",
        default_text="none",
    )
    tls_key: Path | None = setting(
        None, any_path, "FILE", "private key of the certificate (PEM, without a passphrase)", default_text="none"
    )
    max_connections: int = setting(
        0,
        integer(0, 1 << 20),
        "N",
        "maximum number of open connections; `0`: what `ulimit -n` has room for, at most 8,192",
    )
    max_connections_per_address: int = setting(
        0,
        integer(0, 1 << 20),
        "N",
        "maximum number of open connections per address other than this machine's; `0`: a quarter of all",
    )
    public_url: str = setting(
        "",
        parse_public_url,
        "URL",
        (
            "URL that people open, if a proxy in front forwards its own name: `https://chat.example` "
            "([keys](guides/keys.md#behind-a-proxy))"
        ),
        default_text="none",
    )
    cors_origins: tuple[str, ...] = setting(
        (),
        parse_origins,
        "ORIGIN,...",
        "pages of other origins that may use the API: `https://chat.example,http://localhost:3000`",
        default_text="none",
    )
    without_keys: bool = setting(
        False,
        switch,
        "",
        (
            "serve every client without a key; otherwise a key is required once one has been created, and "
            "always on other addresses ([keys](guides/keys.md))"
        ),
    )
    log_format: LogFormat = setting(
        "text", one_of(*get_args(LogFormat)), "FORMAT", "`text`, or `json`: one object per line"
    )
    log_level: LogLevel = setting(
        "info",
        one_of(*get_args(LogLevel)),
        "LEVEL",
        "least level of log lines: `debug` adds a line for each request that succeeded, `warning` leaves out the start",
    )
    log_messages: bool = setting(
        False, switch, "", "write the text of messages to the log; otherwise it contains only numbers"
    )
    otlp_endpoint: str = setting(
        "",
        _http_url,
        "URL",
        (
            "endpoint of OpenTelemetry traces: `http://localhost:4318/v1/traces`; needs `pip install "
            "'ebb-chat[tracing]'`"
        ),
        default_text="none",
    )

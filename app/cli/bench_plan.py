"""Parameters of `ebb bench`."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from app.config.options import Option, any_path, any_text, integer

MAX_STREAMS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """The load, and where the result is written.

    url: the server; empty takes the one that the settings name.
    streams: numbers of concurrent answers, measured one after another.
    prompt_tokens: approximate length of the prompts, by the server's own count.
    rounds: number of measurements for each number of streams.
    api_key: left out of the repr.
    json: the file that also receives the result; None writes none.
    """

    url: str = ""
    streams: tuple[int, ...] = (1, 8, 32)
    prompt_tokens: int = 512
    output_tokens: int = 64
    rounds: int = 3
    api_key: str | None = field(default=None, repr=False)
    json: Path | None = None


def stream_counts(text: str) -> tuple[int, ...]:
    """Parse a comma-separated list of stream counts."""
    return tuple(integer(1, MAX_STREAMS)(part.strip()) for part in text.split(","))


def server_url(text: str) -> str:
    """Parse an http or https URL and strip the path of the API."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{text!r} is not http://host:port or https://host")
    return text.rstrip("/").removesuffix("/v1")


def api_key(text: str) -> str:
    """Parse a key, or @FILE for a key in a file: every user of the machine can read a command line."""
    if not text.startswith("@"):
        return any_text(text)
    try:
        return any_text(Path(text[1:]).expanduser().read_text(encoding="utf-8").strip())
    except OSError as error:
        raise ValueError(f"{text[1:]}: {error.strerror or error}") from None


API_KEY = Option("api-key", api_key, "KEY", "API key of the server, or @FILE to read the key from")
BENCH_OPTIONS = (
    Option("url", server_url, "URL", "URL of the server (default: http at --host and --port)"),
    Option("streams", stream_counts, "N,...", "numbers of concurrent answers, one table row each (default 1,8,32)"),
    Option("prompt-tokens", integer(1, 1 << 20), "N", "approximate length of the prompts (default 512)"),
    Option("output-tokens", integer(2, 1 << 20), "N", "length of the answers (default 64)"),
    Option("rounds", integer(1, 1000), "N", "measurements per row (default 3)"),
    API_KEY,
    Option("json", any_path, "FILE", "file to which the result is also written"),
)

"""Settings of the server's place."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path

from app.config.options import any_path, any_text, integer, setting
from app.config.parsers import parse_aliases, parse_database_url

DEFAULT_MODEL = "smollm2-135m-instruct"


def _host(text: str) -> str:
    """Parse a name or an address. An IPv6 address may be in brackets, as in a URL."""
    host = any_text(text)
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


@dataclass(frozen=True, kw_only=True)
class PlaceSettings:
    """Addresses to listen on, the model to serve, and directories."""

    host: str = setting("127.0.0.1", _host, "ADDRESS", "address to listen on")
    port: int = setting(8000, integer(0, 65535), "PORT", "port to listen on; `0` takes a free one")
    ollama_port: int = setting(
        0,
        integer(0, 65535),
        "PORT",
        "second port, with the same routes, for clients of Ollama, which expect `11434`; `0`: none",
    )
    model: str = setting(DEFAULT_MODEL, any_text, "NAME", "short name, folder, `.gguf` file or hub id")
    model_alias: Mapping[str, str] = setting(
        MISSING,
        parse_aliases,
        "ALIAS=NAME,...",
        (
            "further names of the model for clients that insist on theirs, or a table in TOML; `*` stands for any "
            "characters: `gpt-4o=smollm2-135m-instruct,claude-*=smollm2-135m-instruct`"
        ),
        default_text="none",
        default_factory=dict,
    )
    adapters_dir: Path | None = setting(
        None,
        any_path,
        "DIR",
        "a folder with a folder per [adapter](guides/adapters.md), whose name is that of a model for clients",
        default_text="none",
    )
    state_dir: Path = setting(
        MISSING,
        any_path,
        "DIR",
        "directory of durable data: chats, secret, deleted tenants",
        default_text="`$XDG_STATE_HOME/ebb`",
    )
    database_url: str = setting(
        "",
        parse_database_url,
        "URL",
        "PostgreSQL database of the chats instead of a file in the state directory "
        "([PostgreSQL](guides/postgresql.md))",
        default_text="none",
        repr=False,
    )
    cache_dir: Path = setting(
        MISSING,
        any_path,
        "DIR",
        "directory of replaceable data: models, compiled kernels, packed weights",
        default_text="`$XDG_CACHE_HOME/ebb`",
    )
    secret_file: Path = setting(
        MISSING,
        any_path,
        "FILE",
        "secret that the tenants' block keys derive from; servers that share a Redis share it",
        default_text="`secret` in the state directory",
    )

"""Settings from flags, EBB_* variables, a TOML file and defaults, in order of precedence.

No other module reads the environment.
"""

import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from app.config.line_patterns import parse_line_patterns
from app.config.model_aliases import parse_aliases
from app.config.options import (
    ENV_PREFIX,
    SettingsError,
    any_path,
    any_text,
    did_you_mean,
    integer,
    one_of,
    option_of,
    parse_option,
    setting,
    size_from,
    switch,
)
from app.config.origins import parse_origins, parse_public_url
from app.config.tenant_weights import parse_weights
from app.domain.bounds import MAX_ANSWERS
from app.logs.log_lines import LogFormat
from cache_tiers.config import TierConfig
from cache_tiers.cpu.eviction import EvictionName
from engine.attention.backends import BACKENDS
from engine.config import EngineConfig
from engine.device_choice import DEVICES, block_size_for, choose_device
from engine.scheduling.queue.policy import QueuePolicy

DEFAULT_MODEL = "smollm2-135m-instruct"
UNSPECIFIED_ADDRESSES = ("0.0.0.0", "::")
"""Addresses that a server can listen on, but a client cannot connect to."""
ATTENTIONS = ("auto", *BACKENDS)
CPU_KERNELS = ("auto", "onednn", "torch", "amx_bf16", "avx512_bf16", "avx512", "avx2", "portable")


def _redis_url(text: str) -> str:
    if text in ("auto", "off"):
        return text
    url = urlsplit(text)
    if url.scheme not in ("redis", "rediss", "unix") or not (url.path if url.scheme == "unix" else url.hostname):
        # Leave the text out of the message: it may hold a password.
        raise ValueError("must be auto, off, redis://host:port, rediss://host:port or unix:///path")
    return text


def _http_url(text: str) -> str:
    url = urlsplit(text)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(f"{text!r} is not a URL like http://localhost:4318/v1/traces")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All choices of the user. Sizes are in bytes, paths absolute."""

    host: str = setting("127.0.0.1", any_text, "ADDRESS", "address to listen on")
    port: int = setting(8000, integer(0, 65535), "PORT", "port to listen on; `0` takes a free one")
    ollama_port: int = setting(
        0,
        integer(0, 65535),
        "PORT",
        "second port, with the same routes, for clients of Ollama, which expect `11434`; `0`: none",
    )
    model: str = setting(DEFAULT_MODEL, any_text, "NAME", "alias, folder, `.gguf` file or hub id")
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
    state_dir: Path = setting(
        MISSING,
        any_path,
        "DIR",
        "directory of durable data: chats, secret, deleted tenants, snapshot of Redis",
        default_text="`$XDG_STATE_HOME/ebb`",
    )
    cache_dir: Path = setting(
        MISSING,
        any_path,
        "DIR",
        "directory of replaceable data: models, compiled kernels",
        default_text="`$XDG_CACHE_HOME/ebb`",
    )
    secret_file: Path = setting(
        MISSING,
        any_path,
        "FILE",
        "secret that the tenants' block keys derive from; servers that share a Redis share it",
        default_text="`secret` in the state directory",
    )
    dtype: str = setting("bfloat16", one_of("bfloat16", "float32"), "DTYPE", "`bfloat16` or `float32`")
    quantization: str = setting(
        "none",
        one_of("none", "int8", "int4"),
        "KIND",
        (
            "`none`, `int8` or `int4`: half or a third of the bytes to read per token, so faster on CPUs; `int8` is a "
            "little less exact than `bfloat16`, `int4` noticeably"
        ),
    )
    device: str = setting(
        "auto",
        one_of(*DEVICES),
        "DEVICE",
        (
            "`auto` (an NPU if there is one, else the CPU), `cpu`, `npu` ([Ascend](docs/ascend.md)) or `cuda` "
            "([GPUs](docs/cuda.md))"
        ),
    )
    attention: str = setting(
        "auto",
        one_of(*ATTENTIONS),
        "KIND",
        (
            "backend that computes attention: `auto` (the first that can serve), `npu`, `cuda`, `torch`, "
            "`reference` or `placeholder`; `ebb doctor` says why one cannot serve"
        ),
    )
    tensor_parallel_size: int = setting(
        1,
        integer(1, 64),
        "N",
        (
            "processes that share the model, each on a device of its own or on its share of the cores; must "
            "divide the heads, the KV heads and the MLP"
        ),
    )
    no_decode_graphs: bool = setting(
        False, switch, "", "NPU and GPU: launch decode steps call by call, without captured graphs"
    )
    check_operators: bool = setting(
        False, switch, "", "NPU: check every operator call against its documented limits; slow"
    )
    cpu_kernels: str = setting(
        "auto",
        one_of(*CPU_KERNELS),
        "KIND",
        (
            "`auto` (the best that the CPU has), `amx_bf16`, `avx512_bf16`, `avx512`, `avx2` or `portable`; "
            "`onednn` and `torch` compute without the native step"
        ),
    )
    max_model_len: int = setting(
        0,
        integer(0, 1 << 24),
        "TOKENS",
        "maximum tokens of prompt and answer together",
        default_text="the model's window",
    )
    max_num_seqs: int = setting(32, integer(1, 4096), "N", "maximum number of requests computed at the same time")
    max_num_batched_tokens: int = setting(
        512, integer(1, 1 << 20), "TOKENS", "maximum number of tokens computed in one step"
    )
    queue_policy: QueuePolicy = setting(
        "fair",
        one_of(*get_args(QueuePolicy)),
        "POLICY",
        "which request is next: `fair` between tenants, `priority` or `fcfs`",
    )
    max_waiting: int = setting(
        256, integer(1, 1 << 20), "N", "maximum number of waiting requests; more are refused with 429"
    )
    max_queue_wait: int = setting(
        30,
        integer(1, 86_400),
        "S",
        "seconds of waiting after which a request (a tenant, if `fair`) is next, whatever the policy",
    )
    queue_timeout: int = setting(
        0, integer(0, 86_400), "S", "seconds of waiting after which a request is refused; `0`: never"
    )
    tenant_weights: Mapping[str, float] = setting(
        MISSING,
        parse_weights,
        "NAME=W,...",
        "shares of tenants under the policy `fair`: `research=2,batch=0.5`, or a table in TOML",
        default_text="all 1",
        default_factory=dict,
    )
    public_prefix: Path | None = setting(
        None,
        any_path,
        "FILE",
        "text file with a system prompt whose KV all tenants share; every tenant can detect its use",
        default_text="none",
    )
    itl_target: int = setting(
        0,
        integer(0, 60_000),
        "MS",
        ("longest step while streams are running, in ms; `0`: 50, or twice a step without prompts if that is more"),
    )
    decode_passes: int = setting(
        4,
        integer(1, 64),
        "N",
        (
            "maximum number of tokens per stream and step while all requests decode and none waits; never "
            "more than fit in 50 ms (or `itl-target`)"
        ),
    )
    max_answers: int = setting(
        16,
        integer(1, MAX_ANSWERS),
        "N",
        "maximum number of answers to one prompt of a request (`n`, `best_of`), up to 128",
    )
    max_answer_tokens: int = setting(
        0,
        integer(0, 1 << 31),
        "N",
        "maximum number of tokens of an answer whose client sets no limit; `0`: up to the end of the window",
    )
    no_speculation: bool = setting(
        False,
        switch,
        "",
        ("compute tokens one after another, even where they can be [guessed](docs/decisions/speculation.md)"),
    )
    kv_memory: int = setting(
        0,
        size_from(1 << 20),
        "SIZE",
        "memory of the KV blocks on the device, or on all devices together",
        default_text="three windows, at most a tenth of the free memory",
    )
    cpu_kv_memory: int | None = setting(
        None, size_from(0), "SIZE", "memory of the CPU tier; `0` turns it off", default_text="3 × `kv-memory`"
    )
    eviction_policy: EvictionName = setting(
        "returning",
        one_of(*get_args(EvictionName)),
        "POLICY",
        (
            "blocks that a full CPU tier evicts first: `returning` keeps live chats and shared prefixes "
            "longer, `lru` goes by last use"
        ),
    )
    redis_url: str = setting(
        "auto",
        _redis_url,
        "URL",
        "Redis of the lower tier: `auto` (a companion), `off`, `redis://`, `rediss://` or `unix://`",
        repr=False,
    )
    redis_memory: int = setting(
        2 << 30, size_from(1 << 20), "SIZE", "memory of the companion Redis", default_text="`2GiB`"
    )
    chat_titles: str = setting(
        "model",
        one_of("model", "first-words"),
        "KIND",
        (
            "titles of unnamed chats: `model` generates them while idle, `first-words` takes the beginning of "
            "the first message"
        ),
    )
    response_days: int = setting(
        30,
        integer(0, 36_500),
        "DAYS",
        (
            "days of serving after which a stored response expires, unless it is in a conversation that its "
            "client named; `0`: never"
        ),
    )
    strict_fields: bool = setting(
        False,
        switch,
        "",
        (
            "refuse [fields](docs/api.md#fields) that Ebb does not know on OpenAI's and Anthropic's routes; otherwise "
            "they are ignored, and the response names them"
        ),
    )
    no_prefix_cache: bool = setting(False, switch, "", "recompute every prompt: no reuse from any tier")
    removed_lines: tuple[str, ...] = setting(
        (),
        parse_line_patterns,
        "LINE,...",
        (
            "lines to leave out of the system prompts of API clients, alongside the [known ones](docs/decisions/"
            "stable-prefixes.md); `*` stands for any text: `Trace id: *`"
        ),
        default_text="none",
    )
    moved_lines: tuple[str, ...] = setting(
        (),
        parse_line_patterns,
        "LINE,...",
        "lines to move from there to the first message of the user: `Open files: *,Branch: *`",
        default_text="none",
    )
    keep_volatile_lines: bool = setting(
        False, switch, "", "leave all lines where they are, those of `removed-lines` and `moved-lines` too"
    )
    keep_tool_order: bool = setting(
        False, switch, "", "describe tools to the model in the client's order, not in that of their names"
    )
    tls_certificate: Path | None = setting(
        None,
        any_path,
        "FILE",
        "certificate chain (PEM) for TLS; reloaded when it changes ([keys](docs/keys.md#tls))",
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
            "([keys](docs/keys.md#behind-a-proxy))"
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
            "always on other addresses ([keys](docs/keys.md))"
        ),
    )
    log_format: LogFormat = setting(
        "text", one_of(*get_args(LogFormat)), "FORMAT", "`text`, or `json`: one object per line"
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

    def engine_config(self, *, model_path: Path, model_name: str, secret: bytes) -> EngineConfig:
        """Make the engine's configuration. `model_path`: the folder that `model` was resolved to.

        Raises SettingsError if the public prefix cannot be read.
        """
        tiers = TierConfig(
            cpu_memory=self.cpu_kv_memory,
            redis_url=self.redis_url,
            redis_memory=self.redis_memory,
            state_dir=self.state_dir,
            eviction=self.eviction_policy,
        )
        device = choose_device(self.device)
        names = {each.name for each in fields(EngineConfig)} & {each.name for each in fields(Settings)}
        # Fields of the same name and meaning are passed on as they are.
        passed_on = {name: getattr(self, name) for name in names - {"device", "itl_target"}}
        return EngineConfig(
            **passed_on,
            device=device,
            block_size=block_size_for(device),
            itl_target=self.itl_target / 1e3,
            decode_graphs=not self.no_decode_graphs,
            speculation=not self.no_speculation,
            prefix_cache=not self.no_prefix_cache,
            tiers=None if self.no_prefix_cache else tiers,
            model_path=model_path,
            model_name=model_name,
            secret=secret,
            public_prompt=_read_prompt(self.public_prefix) if self.public_prefix is not None else "",
            tenants_file=self.state_dir / "tenants.json",
        )

    @property
    def database(self) -> Path:
        """SQLite file of the conversations."""
        return self.state_dir / "conversations.db"

    @property
    def ports(self) -> dict[str, int]:
        """Ports to listen on, by the names of their settings."""
        return {"port": self.port, **({"ollama-port": self.ollama_port} if self.ollama_port else {})}

    @property
    def client_url(self) -> str:
        """URL of the server for clients on this machine."""
        host = "127.0.0.1" if self.host in UNSPECIFIED_ADDRESSES else self.host
        scheme = "http" if self.tls_certificate is None else "https"
        return f"{scheme}://[{host}]:{self.port}" if ":" in host else f"{scheme}://{host}:{self.port}"

    def make_directories(self) -> None:
        """Create the state and cache directories, accessible only to their owner.

        Also restricts the mode of an existing state directory. Raises SettingsError.
        """
        for name, path in (("state-dir", self.state_dir), ("cache-dir", self.cache_dir)):
            try:
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise SettingsError(f"--{name} {path}: {error.strerror or error}", param=name) from error
        # A directory of another user keeps its mode: `ebb doctor --security` reports it.
        with suppress(PermissionError):
            mode = self.state_dir.stat().st_mode
            if mode & 0o077:
                self.state_dir.chmod(mode & 0o700)


def _read_prompt(path: Path) -> str:
    """Read a prompt, without the newline that editors put at the end."""
    try:
        text = path.read_text(encoding="utf-8").rstrip("\n")
    except OSError as error:
        raise SettingsError(f"--public-prefix {path}: {error.strerror or error}", param="public-prefix") from error
    except ValueError as error:
        raise SettingsError(f"--public-prefix {path} is not UTF-8 text", param="public-prefix") from error
    if not text:
        raise SettingsError(f"--public-prefix {path} is empty", param="public-prefix")
    return text


OPTIONS = tuple(option_of(each) for each in fields(Settings))
"""Options of the command line, the environment and TOML files, as the settings declare them."""
CONFIG_VARIABLE = ENV_PREFIX + "CONFIG"


def load_settings(
    flags: Mapping[str, str], *, config_file: str | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """Load the settings from `flags` (name -> text as typed), the environment and the TOML file.

    The first source that names a setting wins.

    config_file: the TOML file; None takes EBB_CONFIG, or no file if that is unset.
    environ: the environment; None takes the process's.

    Raises SettingsError for an unknown name in any of the three, and for an invalid value.
    """
    if environ is None:
        environ = os.environ
    config_file = config_file or environ.get(CONFIG_VARIABLE)
    values: dict[str, Any] = {}
    if config_file is not None:
        values |= _from_toml(Path(config_file).expanduser())
    values |= _from_environment(environ)
    values |= _from_flags(flags)
    values.setdefault("state_dir", _xdg(environ, "XDG_STATE_HOME", ".local/state"))
    values.setdefault("cache_dir", _xdg(environ, "XDG_CACHE_HOME", ".cache"))
    values.setdefault("secret_file", values["state_dir"] / "secret")
    return Settings(**values)


def _from_flags(flags: Mapping[str, str]) -> dict[str, object]:
    by_name = {option.name: option for option in OPTIONS}
    for name in flags:
        if name not in by_name:
            raise SettingsError(f"unknown setting --{name}{did_you_mean(name, by_name)}", param=name)
    return dict(parse_option(by_name[name], text, f"--{name}") for name, text in flags.items())


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    by_variable = {option.variable: option for option in OPTIONS}
    given = {name: text for name, text in environ.items() if name.startswith(ENV_PREFIX) and name != CONFIG_VARIABLE}
    for name in given:
        if name not in by_variable:
            raise SettingsError(f"unknown variable {name}{did_you_mean(name, by_variable)}", param=name)
    return dict(parse_option(by_variable[name], text, name) for name, text in given.items())


def _from_toml(path: Path) -> dict[str, object]:
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise SettingsError(f"config file {path}: {error.strerror or error}", param="config") from error
    except ValueError as error:
        raise SettingsError(f"config file {path} is not TOML: {error}", param="config") from error
    by_name = {option.name: option for option in OPTIONS}
    values: dict[str, object] = {}
    for name, value in table.items():
        if name not in by_name:
            raise SettingsError(f"{path}: unknown key {name}{did_you_mean(name, by_name)}", param=name)
        text = _toml_text(value)
        if text is None:
            raise SettingsError(f"{path}: {name} must be a string, a whole number, true or false", param=name)
        field_name, parsed = parse_option(by_name[name], text, f"{path}: {name}")
        values[field_name] = parsed
    return values


def _toml_text(value: object) -> str | None:
    """Return a value as a user would type it, and a table as `key=value,...`; None for types that no setting takes."""
    if isinstance(value, dict):
        return ",".join(f"{name}={number}" for name, number in value.items())
    return str(value) if isinstance(value, str | int) else None


def _xdg(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    # The XDG base directory specification says to ignore a relative path.
    base = Path(environ.get(variable, ""))
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return (base if base.is_absolute() else home / fallback) / "ebb"

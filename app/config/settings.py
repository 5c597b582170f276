"""Settings from flags, EBB_* variables, a TOML file and defaults, in order of precedence.

No other module reads the environment.
"""

import fcntl
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from app.config.listed_models import listed_models
from app.config.options import ENV_PREFIX, SettingsError, did_you_mean, option_of, parse_option
from app.config.toml_file import values_of_file
from app.config.topics.access import AccessSettings
from app.config.topics.accounts import AccountSettings, ProvisioningSettings, SamlSettings
from app.config.topics.answers import AnswerSettings
from app.config.topics.computation import ComputationSettings
from app.config.topics.directory import DirectorySettings
from app.config.topics.memory import MemorySettings
from app.config.topics.models import ModelsSettings
from app.config.topics.place import PlaceSettings
from app.config.topics.scheduling import SchedulingSettings
from app.config.unloaded_adapters import UnloadedAdapters
from cache_tiers.config import DiskConfig, TierConfig
from cache_tiers.disk.folder import folder_of
from engine.config import (
    CacheConfig,
    DeviceConfig,
    EngineConfig,
    ModelConfig,
    ParallelConfig,
    SchedulerConfig,
    SpeculationConfig,
)
from engine.device.choice import block_size_for, choose_device, step_tokens_for
from engine.executor.device_shares import visible_devices
from engine.kv.budget import redis_budget
from engine.worker.host_resources import available_memory

UNSPECIFIED_ADDRESSES = ("0.0.0.0", "::")
"""Addresses that a server can listen on, but a client cannot connect to."""


@dataclass(frozen=True, kw_only=True)
class Settings(
    ProvisioningSettings,
    SamlSettings,
    DirectorySettings,
    AccountSettings,
    AccessSettings,
    AnswerSettings,
    MemorySettings,
    SchedulingSettings,
    ComputationSettings,
    ModelsSettings,
    PlaceSettings,
):
    """All choices of the user. Sizes are in bytes, paths absolute.

    The settings of the last base come first, in `--help` as in docs/reference/settings.md.
    """

    def tier_config(self, secret: bytes | None) -> TierConfig:
        """Make the configuration of the tiers. secret: None before a server has created it; then there is no disk."""
        disk = None if secret is None else DiskConfig(folder_of(self.disk_kv_parent, secret), self.disk_kv_size)
        return TierConfig(
            cpu_memory=self.cpu_kv_memory,
            redis_url=self.redis_url,
            redis_memory=redis_budget(self.redis_memory, available_memory()),
            state_dir=self.state_dir,
            eviction=self.eviction_policy,
            disk=disk,
        )

    @property
    def disk_kv_parent(self) -> Path:
        """Folder of the blocks of all secrets on the disk."""
        return self.disk_kv_dir or self.cache_dir / "kv"

    def engine_config(
        self, *, model_path: Path, model_name: str, secret: bytes, draft_path: Path | None = None
    ) -> EngineConfig:
        """Make the engine's configuration.

        model_path, draft_path: the folders that `model` and `draft_model` were resolved to; None for no draft model.

        Raise SettingsError if the public prefix cannot be read, ModelNotFoundError if the folder of adapters cannot.
        """
        tiers = self.tier_config(secret)
        device = choose_device(self.device)
        scheduler = {
            **_fields_of(self, SchedulerConfig),
            "max_num_batched_tokens": self.max_num_batched_tokens or step_tokens_for(device),
            "itl_target": self.itl_target / 1e3,
        }
        return EngineConfig(
            model=ModelConfig(
                path=model_path,
                name=model_name,
                adapters=self.unloaded_adapters.to_load(self.adapters_dir),
                **_fields_of(self, ModelConfig),
            ),
            cache=CacheConfig(
                **_fields_of(self, CacheConfig),
                block_size=block_size_for(device),
                prefix_cache=not self.no_prefix_cache,
                tiers=None if self.no_prefix_cache else tiers,
                unused_tiers=tiers if self.no_prefix_cache else None,
                secret=secret,
                public_prompt=_read_prompt(self.public_prefix) if self.public_prefix is not None else "",
                tenants_file=self.state_dir / "tenants.json",
            ),
            parallel=ParallelConfig(**_fields_of(self, ParallelConfig)),
            scheduler=SchedulerConfig(**scheduler),
            device=DeviceConfig(
                **_fields_of(self, DeviceConfig),
                kind=device,
                accelerators=visible_devices(device, os.environ),
                decode_graphs=not self.no_decode_graphs,
            ),
            speculation=SpeculationConfig(
                prompt_lookup=not self.no_speculation,
                draft_model=draft_path,
                draft_quantization=self.draft_quantization,
            ),
        )

    @property
    def has_accounts(self) -> bool:
        """Whether people log in with accounts: with passwords, at a directory or a provider, or by a proxy."""
        logins = (self.passwords, self.ldap_url, self.oidc_issuer, self.saml_metadata_file, self.proxy_user_header)
        return any(logins)

    @property
    def unloaded_adapters(self) -> UnloadedAdapters:
        """Record of the adapters that administrators have unloaded."""
        return UnloadedAdapters(self.state_dir / "unloaded_adapters.json")

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

        Also restricts the mode of an existing state directory. Raise SettingsError.
        """
        for name, path in (("state-dir", self.state_dir), ("cache-dir", self.cache_dir)):
            try:
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            except FileExistsError as error:
                reason = "is a link to a folder that does not exist" if path.is_symlink() else "is not a folder"
                raise SettingsError(f"--{name} {path} {reason}", param=name) from error
            except OSError as error:
                raise SettingsError(f"--{name} {path}: {error.strerror or error}", param=name) from error
        # `ebb doctor --security` reports the mode of a directory that is another user's, or cannot be written.
        with suppress(OSError):
            mode = self.state_dir.stat().st_mode
            if mode & 0o077:
                self.state_dir.chmod(mode & 0o700)


def _fields_of(settings: Settings, group: type[Any]) -> dict[str, Any]:
    """Return the settings that have the name and the meaning of a field of `group`."""
    names = {each.name for each in fields(group)} & {each.name for each in fields(Settings)}
    return {name: getattr(settings, name) for name in names}


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

    Raise SettingsError for an unknown name in any of the three, and for an invalid value.
    """
    if environ is None:
        environ = os.environ
    config_file = config_file or environ.get(CONFIG_VARIABLE)
    values: dict[str, Any] = {}
    if config_file is not None:
        values |= values_of_file(Path(config_file).expanduser(), OPTIONS)
    values |= _from_environment(environ)
    values |= _from_flags(flags)
    # Not `setdefault`, which asks for the home directory even where both directories are given.
    if "state_dir" not in values:
        values["state_dir"] = _xdg(environ, "XDG_STATE_HOME", ".local/state")
    if "cache_dir" not in values:
        values["cache_dir"] = _xdg(environ, "XDG_CACHE_HOME", ".cache")
    values.setdefault("secret_file", values["state_dir"] / "secret")
    if "model" not in values and (values.get("models") or values.get("models_dir")):
        first, fields_of_first = next(iter(listed_models(values.get("models", {}), values.get("models_dir")).items()))
        values["model"] = fields_of_first.get("model", first)
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


def _xdg(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    # The XDG base directory specification says to ignore a relative path.
    base = Path(environ.get(variable, ""))
    return (base if base.is_absolute() else _home(environ, variable) / fallback) / "ebb"


def _home(environ: Mapping[str, str], variable: str) -> Path:
    if environ.get("HOME"):
        return Path(environ["HOME"])
    try:
        return Path.home()
    except RuntimeError as error:
        raise SettingsError(
            f"this user has no home directory: set HOME or {variable}, or give --state-dir and --cache-dir",
            param="HOME",
        ) from error


def has_screen() -> bool:
    """Return whether windows can be opened, which on Linux takes a display in the environment."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def lock_state_dir(state_dir: Path) -> int | None:
    """Take the exclusive lock of a state directory, and return its descriptor, or None if another process holds it.

    The lock is held until the descriptor is closed or the process ends. Raise SettingsError for an unusable directory.
    """
    try:
        descriptor = os.open(state_dir / "serve.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SettingsError(f"--state-dir {state_dir} cannot be used: {error.strerror}", param="state-dir") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def trial_config(settings: Settings, folder: Path) -> EngineConfig:
    """Return the configuration of `settings` for the model in `folder`, which need not be there."""
    # The public prefix is a file that may be missing, and does not matter here.
    return replace(settings, public_prefix=None).engine_config(model_path=folder, model_name="", secret=b"")

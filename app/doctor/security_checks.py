"""Checks of `ebb doctor --security`: who can reach what under these settings.

Each check is OK, or a WARNING with advice. No check changes anything or prints a secret.
"""

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from app.access.auth_policy import keys_required
from app.access.counted_keys import counted_keys
from app.accounts.accounts import accounts_of
from app.config.options import SettingsError
from app.config.parsers import is_loopback, place_of
from app.config.settings import Settings
from app.doctor.finding import Finding
from app.doctor.tls_checks import check_tls
from cache_tiers.disk.folder import is_folder_name
from cache_tiers.redis.address import RedisAddress, parse_redis_url

OTHERS = stat.S_IRWXG | stat.S_IRWXO
WRITE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def check_address(settings: Settings) -> Finding:
    """Check who can reach the ports."""
    where = ", ".join(f"{settings.host}:{port}" for port in settings.ports.values())
    if is_loopback(settings.host):
        return Finding("ok", "address", f"{where}: this machine only")
    if settings.tls_certificate is not None:
        return Finding("ok", "address", f"{where}: reachable from other machines, over TLS")
    advice = "give --tls-certificate and --tls-key, or listen on 127.0.0.1 (--host) behind a proxy that speaks TLS"
    return Finding("warn", "address", f"{where}: reachable from other machines, and unencrypted", advice)


def check_keys(settings: Settings) -> Finding:
    """Check what clients that reach the port may do."""
    if keys_required(settings):
        valid = counted_keys(settings).valid
        if not valid and not settings.has_accounts:
            advice = "ebb keys create NAME"
            return Finding("warn", "keys", "required of every client, and no valid key exists", advice)
        return Finding("ok", "keys", f"required of every client; valid keys: {valid} (ebb keys list)")
    advice = "leave out --without-keys, and give people keys (ebb keys create NAME)"
    if not is_loopback(settings.host):
        text = (
            "none: every client that reaches the port may read and delete every chat, use the model and read /metrics"
        )
        return Finding("warn", "keys", text, advice)
    if settings.without_keys:
        text = (
            "none: every user and program of this machine, and every client that a proxy lets through, may read "
            "every chat"
        )
        return Finding("warn" if settings.public_url else "ok", "keys", text, advice if settings.public_url else "")
    if settings.public_url:
        text = f"none: requests that a proxy forwards from {settings.public_url} are refused"
        return Finding("warn", "keys", text, "create a key (ebb keys create NAME)")
    text = "none: every user and program of this machine may read and delete every chat; proxied requests are refused"
    return Finding("ok", "keys", text)


def check_accounts(settings: Settings) -> Finding:
    """Check how people log in, and who could log in as another person."""
    if not settings.has_accounts:
        return Finding("ok", "accounts", "off: keys are the only way to log in")
    try:
        accounts_of(settings)
    except SettingsError as error:
        return Finding("fail", "accounts", error.message, f"correct --{error.param}")
    for secret in (settings.oidc_client_secret_file, settings.ldap_bind_password_file, settings.scim_token_file):
        if secret is not None and (finding := _private("accounts", secret, OTHERS, "0600")).level != "ok":
            return finding
    if (
        (settings.oidc_issuer or settings.ldap_url)
        and settings.public_url.startswith("http://")
        and not _is_local(settings.public_url)
    ):
        advice = "let people open the server over https, and say so with --public-url"
        return Finding("warn", "accounts", "logins travel unencrypted to --public-url", advice)
    trusted = [str(network) for network in settings.proxy_addresses if network.is_loopback]
    if settings.proxy_user_header and trusted:
        text = f"every user and program of this machine ({', '.join(trusted)}) can name any person"
        return Finding("warn", "accounts", text, "on a machine with other users, give the proxy an address of its own")
    return Finding("ok", "accounts", " and ".join(_logins(settings)))


def _logins(settings: Settings) -> list[str]:
    provider = [f"people log in at {settings.oidc_issuer}"] if settings.oidc_issuer else []
    if settings.saml_metadata_file is not None:
        provider = [f"people log in at the provider of {settings.saml_metadata_file}"]
    directory = [f"people log in with passwords of {settings.ldap_url}"] if settings.ldap_url else []
    proxy = [f"a proxy names people in {settings.proxy_user_header}"] if settings.proxy_user_header else []
    passwords = ["people log in with passwords that Ebb keeps"] if settings.passwords else []
    return provider + directory + proxy + passwords


def check_cors(settings: Settings) -> Finding:
    """Check the allowed CORS origins."""
    if not settings.cors_origins:
        return Finding("ok", "cors", "off: no page but Ebb's own")
    plain = [origin for origin in settings.cors_origins if origin.startswith("http://") and not _is_local(origin)]
    if plain:
        text = f"{', '.join(plain)}: anyone between that page and a visitor can change the page"
        return Finding("warn", "cors", text, "serve that page over https, or remove it from --cors-origins")
    return Finding("ok", "cors", f"exactly {', '.join(settings.cors_origins)}; never with cookies")


def check_state_dir(settings: Settings) -> Finding:
    """Check who can read the state directory."""
    return _private("state-dir", settings.state_dir, OTHERS, "0700")


def check_secret(settings: Settings) -> Finding:
    """Check who can read the secret that block keys are derived from."""
    return _private("secret", settings.secret_file, OTHERS, "0600")


def check_database(settings: Settings) -> Finding:
    """Check who can read the chats."""
    if settings.database_url:
        place = place_of(settings.database_url)
        return Finding("ok", "database", f"PostgreSQL at {place}, whose own rules say who can read it")
    folder = settings.state_dir
    if settings.database.exists() and not _mode(folder) & OTHERS and _is_mine(folder):
        return Finding("ok", "database", f"{settings.database}: in a folder that only its owner can access")
    return _private("database", settings.database, OTHERS, "0600")


def check_cache_dir(settings: Settings) -> Finding:
    """Check who can change the models and compiled kernels, which the server executes."""
    return _private("cache-dir", settings.cache_dir, WRITE_BY_OTHERS, "0700")


def check_redis(settings: Settings) -> Finding:
    """Check who can remove the KV blocks in Redis. A seal protects them from being read and changed."""
    if settings.no_prefix_cache or settings.redis_url == "off":
        return Finding("ok", "redis", "off")
    if settings.redis_url == "auto":
        return Finding("ok", "redis", "a companion on a socket that only its owner can access")
    return _redis_by_url(parse_redis_url(settings.redis_url))


def _redis_by_url(address: RedisAddress) -> Finding:
    here = address.unix_path is not None or is_loopback(address.host)
    if address.tls is not None and not address.tls.verify:
        advice = "remove ssl_cert_reqs=none from --redis-url; ssl_ca_certs=FILE trusts an authority of your own"
        return Finding("warn", "redis", f"{address}: TLS without verification of the certificate", advice)
    if not here and address.tls is None:
        advice = "use rediss://, or a tunnel; KV blocks are sealed, but anyone with the password can remove them"
        return Finding("warn", "redis", f"{address}: unencrypted over a network, including its password", advice)
    if address.password is None and address.unix_path is None:
        who = "every user of this machine" if here else "every client that reaches it"
        advice = "set a password (requirepass or an ACL), and give it in EBB_REDIS_URL, not on the command line"
        return Finding("warn", "redis", f"{address}: no password, so {who} can remove the KV blocks", advice)
    protection = (
        "a socket" if address.unix_path is not None else "TLS" if address.tls is not None else "this machine only"
    )
    return Finding(
        "ok", "redis", f"{address}: {protection}{', with a password' if address.password is not None else ''}"
    )


def check_disk(settings: Settings) -> Finding:
    """Check who can remove the KV blocks on the disk. A seal protects them from being read and changed."""
    if settings.no_prefix_cache or settings.disk_kv_size == 0:
        return Finding("ok", "disk", "off")
    parent = settings.disk_kv_parent
    if not os.access(parent, os.R_OK | os.X_OK):
        return _private("disk", parent, OTHERS, "0700")
    # Several users may share the folder above, where each has separate folders.
    mine = [folder for folder in sorted(parent.iterdir()) if is_folder_name(folder.name) and _is_mine(folder)]
    findings = [_private("disk", folder, OTHERS, "0700") for folder in mine] or [
        Finding("ok", "disk", f"{parent}: no blocks yet; their folder will be created with mode 0700")
    ]
    return max(findings, key=lambda finding: finding.level != "ok")


def check_log(settings: Settings) -> Finding:
    """Check whether the log contains messages of users."""
    if settings.log_messages:
        return Finding("warn", "log", "contains the text of messages", "leave out --log-messages when done")
    return Finding("ok", "log", f"{settings.log_format}: numbers only, no messages, no keys, no passwords")


def check_debug(_settings: Settings) -> Finding:
    """Check for Python options that reveal more, or check less, than they should."""
    if sys.flags.dev_mode:
        return Finding("warn", "debug", "Python's development mode is on", "start without -X dev and PYTHONDEVMODE")
    if sys.flags.inspect or sys.flags.interactive:
        return Finding(
            "warn", "debug", "Python opens a prompt when the server exits", "start without -i and PYTHONINSPECT"
        )
    return Finding("ok", "debug", "off; clients never see a traceback")


def check_user(_settings: Settings) -> Finding:
    """Check the user that the server runs as."""
    if os.geteuid() == 0:
        return Finding(
            "warn",
            "user",
            "root: a fault in the server affects the whole machine",
            "run the server as a user of its own",
        )
    return Finding("ok", "user", f"uid {os.geteuid()}")


def _private(subject: str, path: Path, forbidden: int, wanted: str) -> Finding:
    if not path.exists():
        return Finding("ok", subject, f"{path}: does not exist yet; it will be created with mode {wanted}")
    if not _is_mine(path):
        return Finding("warn", subject, f"{path}: belongs to another user", "chown it to the user who runs the server")
    if _mode(path) & forbidden:
        text = f"{path}: mode {_mode(path):04o} gives others access"
        return Finding("warn", subject, text, f"chmod {wanted} {path}")
    return Finding("ok", subject, f"{path}: mode {_mode(path):04o}")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _is_mine(path: Path) -> bool:
    return path.stat().st_uid == os.geteuid()


def _is_local(origin: str) -> bool:
    return is_loopback(urlsplit(origin).hostname or "")


SECURITY_CHECKS: tuple[Callable[[Settings], Finding], ...] = (
    check_address,
    check_tls,
    check_keys,
    check_accounts,
    check_cors,
    check_state_dir,
    check_secret,
    check_database,
    check_cache_dir,
    check_redis,
    check_disk,
    check_log,
    check_debug,
    check_user,
)

"""`ebb doctor --security`: every insecure setting is reported as a warning with advice."""

import os
import sys
from pathlib import Path

import pytest

from app.cli.main import main
from app.config.settings import Settings, load_settings
from app.doctor import security_checks
from app.doctor.finding import Finding
from app.storage.store import Store
from cache_tiers.disk.folder import folder_of


@pytest.fixture(autouse=True)
def not_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run the test as an ordinary user who owns the test's files."""
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid or 1000)
    monkeypatch.setattr(security_checks, "_is_mine", lambda path: True)


def settings(tmp_path: Path, **flags: str) -> Settings:
    here = {"state-dir": str(tmp_path / "state"), "cache-dir": str(tmp_path / "cache")}
    return load_settings(here | {name.replace("_", "-"): text for name, text in flags.items()}, environ={})


def warning(finding: Finding) -> str:
    """Check that the finding is a warning, and return its text and advice."""
    assert finding.level == "warn"
    assert finding.advice
    return f"{finding.text} {finding.advice}"


def test_default_settings_give_no_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings(tmp_path).make_directories()
    places = ["--state-dir", str(tmp_path / "state"), "--cache-dir", str(tmp_path / "cache")]
    assert main(["doctor", "--security", *places]) == 0
    output = capsys.readouterr().out
    assert "WARNING" not in output
    subjects = (
        "address",
        "tls",
        "keys",
        "accounts",
        "cors",
        "state-dir",
        "secret",
        "database",
        "cache-dir",
        "redis",
        "disk",
        "log",
        "debug",
        "user",
    )
    assert [line.split()[:2] for line in output.splitlines() if line.startswith("OK")] == [["OK", s] for s in subjects]


def test_warning_sets_exit_status_and_shows_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--state-dir", str(tmp_path / "state"), "--cache-dir", str(tmp_path / "cache")]
    assert main(["doctor", "--security", "--host", "0.0.0.0", *places]) == 1
    output = capsys.readouterr().out
    assert "WARNING  address    0.0.0.0:8000" in output
    assert "-> give --tls-certificate and --tls-key, or listen on 127.0.0.1" in output
    assert not (tmp_path / "state").exists()


async def test_public_address_without_valid_keys_is_warned_of(tmp_path: Path) -> None:
    public = settings(tmp_path, host="192.168.1.5")
    assert "unencrypted" in warning(security_checks.check_address(public))
    assert "ebb keys create" in warning(security_checks.check_keys(public))
    open_to_all = settings(tmp_path, host="192.168.1.5", without_keys="true")
    assert "delete every chat" in warning(security_checks.check_keys(open_to_all))
    assert not public.database.exists()
    here = settings(tmp_path)
    assert "every user and program of this machine" in security_checks.check_keys(here).text
    here.make_directories()
    store = await Store.open(here.database)
    key, _ = await store.keys.create("alice", "alice", "user")
    for demanding in (public, here):
        found = security_checks.check_keys(demanding)
        assert (found.level, "valid keys: 1 " in found.text) == ("ok", True)
    await store.keys.revoke(key.id)
    assert "no valid key exists" in warning(security_checks.check_keys(here))
    await store.close()


def test_keyless_server_behind_proxy_is_warned_of(tmp_path: Path) -> None:
    refused = settings(tmp_path, public_url="https://ebb.example")
    assert "https://ebb.example are refused create a key" in warning(security_checks.check_keys(refused))
    open_to_all = settings(tmp_path, public_url="https://ebb.example", without_keys="true")
    assert "every client that a proxy lets through" in warning(security_checks.check_keys(open_to_all))
    assert "proxied requests are refused" in security_checks.check_keys(settings(tmp_path)).text


def test_every_loopback_name_is_local(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        assert security_checks.check_address(settings(tmp_path, host=host)).level == "ok"


@pytest.mark.parametrize(
    ("origins", "level"),
    [
        ("https://chat.example", "ok"),
        ("http://localhost:3000,http://[::1]:1,http://127.0.0.1", "ok"),
        ("https://chat.example,http://chat.example", "warn"),
    ],
)
def test_origins_are_listed_and_plain_http_ones_are_warned_of(tmp_path: Path, origins: str, level: str) -> None:
    finding = security_checks.check_cors(settings(tmp_path, cors_origins=origins))
    assert finding.level == level
    assert origins.rpartition(",")[2] in finding.text


def test_too_open_file_modes_are_warned_of_with_chmod_command(tmp_path: Path) -> None:
    here = settings(tmp_path)
    here.make_directories()
    here.secret_file.touch(0o600)
    here.database.touch()
    here.database.chmod(0o644)
    assert security_checks.check_database(here).level == "ok"  # its folder keeps others out
    here.state_dir.chmod(0o755)
    assert f"chmod 0700 {here.state_dir}" in warning(security_checks.check_state_dir(here))
    assert f"chmod 0600 {here.database}" in warning(security_checks.check_database(here))
    assert security_checks.check_secret(here).level == "ok"
    here.secret_file.chmod(0o640)
    assert f"chmod 0600 {here.secret_file}" in warning(security_checks.check_secret(here))
    here.cache_dir.chmod(0o755)
    assert security_checks.check_cache_dir(here).level == "ok"
    here.cache_dir.chmod(0o775)
    assert f"chmod 0700 {here.cache_dir}" in warning(security_checks.check_cache_dir(here))


def test_folder_of_another_user_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = settings(tmp_path)
    here.make_directories()
    monkeypatch.setattr(security_checks, "_is_mine", lambda path: False)
    assert "another user" in warning(security_checks.check_state_dir(here))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://cache.example", "unencrypted"),
        ("redis://:hunter2@cache.example", "unencrypted"),
        ("rediss://cache.example", "every client that reaches it"),
        ("rediss://:hunter2@cache.example?ssl_cert_reqs=none", "without verification of the certificate"),
        ("redis://127.0.0.1", "every user of this machine"),
    ],
)
def test_redis_readable_by_others_is_warned_of(tmp_path: Path, url: str, words: str) -> None:
    text = warning(security_checks.check_redis(settings(tmp_path, redis_url=url)))
    assert words in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    "url", ["auto", "off", "unix:///run/redis.sock", "redis://:hunter2@localhost", "rediss://:hunter2@cache.example"]
)
def test_protected_redis_is_ok(tmp_path: Path, url: str) -> None:
    finding = security_checks.check_redis(settings(tmp_path, redis_url=url))
    assert finding.level == "ok"
    assert "hunter2" not in finding.text


def test_disk_blocks_that_others_can_read_are_warned_of(tmp_path: Path) -> None:
    chosen = settings(tmp_path, disk_kv_size="1GiB")
    assert "no blocks yet" not in security_checks.check_disk(chosen).text
    chosen.disk_kv_parent.mkdir(parents=True)
    assert "no blocks yet" in security_checks.check_disk(chosen).text
    folder = folder_of(chosen.disk_kv_parent, b"secret")
    folder.mkdir(mode=0o700)
    assert security_checks.check_disk(chosen).level == "ok"
    folder.chmod(0o750)
    assert f"{folder}: mode 0750 gives others access" in warning(security_checks.check_disk(chosen))
    assert security_checks.check_disk(settings(tmp_path, disk_kv_size="0")).text == "off"


def test_logged_messages_root_and_debug_mode_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "the text of messages" in warning(security_checks.check_log(settings(tmp_path, log_messages="true")))
    assert security_checks.check_debug(settings(tmp_path)).level == "ok"
    monkeypatch.setattr(sys, "flags", type("Flags", (), {"dev_mode": True, "inspect": 0, "interactive": 0}))
    assert "development mode" in warning(security_checks.check_debug(settings(tmp_path)))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "root" in warning(security_checks.check_user(settings(tmp_path)))


def test_accounts_warn_of_open_secrets_http_and_local_proxies(tmp_path: Path) -> None:
    secret = tmp_path / "oidc"
    secret.write_text("s3cret")
    secret.chmod(0o644)
    oidc = {"oidc_issuer": "https://login.example", "oidc_client_id": "ebb", "oidc_client_secret_file": str(secret)}
    public = settings(tmp_path, **oidc, public_url="https://chat.example")
    assert "0644" in warning(security_checks.check_accounts(public))
    secret.chmod(0o600)
    assert security_checks.check_accounts(public).level == "ok"
    assert security_checks.check_keys(public).level == "ok", "people need no key"
    plain = settings(tmp_path, **oidc, public_url="http://chat.example")
    assert "unencrypted" in warning(security_checks.check_accounts(plain))
    proxy = settings(tmp_path, proxy_user_header="Remote-User", proxy_addresses="127.0.0.1")
    assert "can name any person" in warning(security_checks.check_accounts(proxy))
    missing = settings(tmp_path, proxy_user_header="Remote-User")
    assert security_checks.check_accounts(missing).level == "fail"

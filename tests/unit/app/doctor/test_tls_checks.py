"""`ebb doctor` on the certificate: whether it is served, whom it is for, how long it lasts, who reads its key."""

from pathlib import Path

import pytest

from app.config.settings import Settings, load_settings
from app.doctor.security_checks import check_address
from app.doctor.tls_checks import check_tls
from tests.tls_files import TlsFiles, make_tls_files


def settings(files: TlsFiles | None, **flags: str) -> Settings:
    here = {"state-dir": "/nowhere", "cache-dir": "/nowhere"}
    if files is not None:
        here |= {"tls-certificate": str(files.certificate), "tls-key": str(files.key)}
    return load_settings(here | {name.replace("_", "-"): text for name, text in flags.items()}, environ={})


def made(folder: Path, *, days: float = 90, mode: int = 0o600, name: str = "ebb.example") -> TlsFiles:
    files = make_tls_files(folder, names=(name,), days=days)
    files.key.chmod(mode)
    return files


def test_good_certificate_is_named_with_its_end(tmp_path: Path) -> None:
    found = check_tls(settings(made(tmp_path), public_url="https://ebb.example"))
    assert found.level == "ok"
    assert "for ebb.example, until 20" in found.text
    assert check_tls(settings(None)).text.startswith("off")


@pytest.mark.parametrize(
    ("days", "mode", "name", "words"),
    [
        (-1, 0o600, "ebb.example", "expired on"),
        (13, 0o600, "ebb.example", "expires on"),
        (90, 0o640, "ebb.example", "mode 0640 lets others"),
        (90, 0o600, "other.example", "for other.example, and not for ebb.example"),
        (90, 0o600, "*.ebb.example", "not for ebb.example"),
    ],
)
def test_doubtful_certificate_is_a_warning(tmp_path: Path, days: float, mode: int, name: str, words: str) -> None:
    found = check_tls(settings(made(tmp_path, days=days, mode=mode, name=name), public_url="https://ebb.example"))
    assert found.level == "warn"
    assert words in found.text
    assert found.advice


def test_wildcard_covers_one_label(tmp_path: Path) -> None:
    files = made(tmp_path, name="*.example")
    assert check_tls(settings(files, public_url="https://ebb.example")).level == "ok"
    assert check_tls(settings(files, public_url="https://a.b.example")).level == "warn"


def test_certificate_that_stops_the_server_fails_the_check(tmp_path: Path) -> None:
    files = made(tmp_path)
    (tmp_path / "other").mkdir()
    wrong = TlsFiles(files.authority, files.certificate, make_tls_files(tmp_path / "other").key)
    for found in (check_tls(settings(wrong)), check_tls(settings(None, tls_key="/nowhere/key.pem"))):
        assert found.level == "fail"


def test_network_address_over_tls_is_no_warning(tmp_path: Path) -> None:
    assert check_address(settings(made(tmp_path), host="192.168.1.5")).level == "ok"
    assert check_address(settings(None, host="192.168.1.5")).level == "warn"

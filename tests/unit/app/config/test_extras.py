"""The command that installs an optional part of Ebb."""

import shlex
import sys
from pathlib import Path

import pytest

from app.cli import desktop
from app.config.extras import install_command
from app.config.settings import load_settings


def test_package_is_named_where_there_is_no_checkout(tmp_path: Path) -> None:
    assert install_command("desktop", tmp_path) == "pip install 'ebb-chat[desktop]'"


def test_checkout_is_installed_into_this_python(tmp_path: Path) -> None:
    checkout = tmp_path / "a checkout"
    checkout.mkdir()
    (checkout / "pyproject.toml").touch()
    words = shlex.split(install_command("ldap", checkout))
    assert words == [sys.executable, "-m", "pip", "install", "--editable", f"{checkout}[ldap]"]


def test_desktop_without_its_library_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "webview", None)
    settings = load_settings({"state-dir": str(tmp_path)}, environ={"HOME": str(tmp_path)})
    with pytest.raises(desktop.NoWindowError) as refused:
        desktop.desktop(settings, lambda _: 0)
    assert install_command("desktop") in refused.value.message

"""The `ebb` command: help, usage errors, settings from the command line. tests/integration runs it as a process."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from app.cli import main as cli
from app.config.settings import OPTIONS, Settings, load_settings
from app.version import VERSION


@dataclass(frozen=True)
class Ended:
    """Exit status and output of a command."""

    status: object
    stdout: str
    stderr: str


Run = Callable[..., Ended]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command with an empty environment, on a terminal of 80 columns."""
    monkeypatch.setattr("os.environ", {"HOME": "/nowhere", "COLUMNS": "80"})

    def run(*arguments: str) -> Ended:
        try:
            status: object = cli.main(arguments)
        except SystemExit as end:
            status = end.code
        return Ended(status, *capsys.readouterr())

    return run


def test_help_lists_commands_and_examples_and_succeeds(run: Run) -> None:
    result = run("--help")
    assert result.status == 0
    for words in ("serve", "pull", "chat", "doctor", "ebb serve --model", "EBB_KV_MEMORY=2GiB"):
        assert words in result.stdout


@pytest.mark.parametrize("command", ["serve", "doctor"])
def test_help_of_command_lists_settings_and_defaults(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.status == 0
    for words in (
        "--kv-memory SIZE",
        "at most 2 GiB",
        "--redis-url URL",
        "--no-prefix-cache",
        "--state-dir",
        "127.0.0.1",
    ):
        assert words in result.stdout


class Watched:
    """Settings that note which of their fields were read."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.read = set[str]()

    def __getattr__(self, name: str) -> Any:
        member = getattr(Settings, name, None)
        if isinstance(member, property):
            assert member.fget is not None
            return member.fget(self)
        if callable(member):
            return partial(member, self)
        self.read.add(name)
        return getattr(self._settings, name)


def test_profile_takes_exactly_the_settings_of_its_engine(run: Run, tmp_path: Path) -> None:
    watched = Watched(load_settings({}, environ={"HOME": "/nowhere"}))
    Settings.engine_config(cast("Settings", watched), model_path=tmp_path, model_name="m", secret=b"")
    # The profile has separate directories, and finds the models before the engine is configured.
    expected = watched.read - {"state_dir", "disk_kv_dir"} | {"model", "draft_model"}
    accepted = set(re.findall(r"^  --([a-z-]+)", run("profile", "--help").stdout, re.MULTILINE))
    settings = {option.name: option.field_name for option in OPTIONS}
    assert {settings[name] for name in accepted & settings.keys()} == expected


def test_doctor_takes_the_model_as_its_argument(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []

    def doctor(settings: Settings) -> int:
        checked.append(settings.model)
        return 0

    monkeypatch.setattr("app.doctor.report.doctor", doctor)
    assert run("doctor", "org/model:Q4_0").status == 0
    assert run("doctor", "--model", "mine").status == 0
    assert checked == ["org/model:Q4_0", "mine"]
    assert "any form of --model" in run("doctor", "--help").stdout.replace("\n", " ")


def test_version_flag_prints_installed_version(run: Run) -> None:
    assert run("--version").stdout == f"ebb {VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "required: COMMAND"),
        (("sevre",), "there is no command 'sevre'; did you mean serve?"),
        (("serve", "--kv-memry", "1GiB"), "unknown argument --kv-memry; did you mean --kv-memory?"),
        (("serve", "--prot=1"), "unknown argument --prot=1; did you mean --port?"),
        (("serve", "--kv-mem", "1GiB"), "unknown argument --kv-mem"),
        (("serve", "extra"), "unknown argument extra"),
        (("doctor", "one", "two"), "unknown argument two"),
        (("chat", "--dtype", "float32"), "unknown argument --dtype"),
        (("serve", "--port"), "--port: expected one argument"),
        (("serve", "--port", "http"), "--port: 'http' is not a whole number"),
        (("serve", "--kv-memory", "512M"), "--kv-memory: '512M' is not a size"),
        (("serve", "--config", "/nowhere.toml"), "config file /nowhere.toml: No such file"),
    ],
)
def test_usage_error_is_named_in_one_line_with_status_2(run: Run, arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert result.status == 2
    assert words in result.stderr
    assert result.stdout == ""


def test_unknown_ebb_variable_stops_every_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EBB_MODLE", "x")
    result = run("doctor")
    assert result.status == 2
    assert "unknown variable EBB_MODLE; did you mean EBB_MODEL?" in result.stderr


def test_command_line_settings_reach_the_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[Settings] = []

    def serve(settings: Settings) -> int:
        started.append(settings)
        return 7

    monkeypatch.setattr(cli, "_serve", serve)
    (tmp_path / "ebb.toml").write_text('host = "0.0.0.0"\n')
    arguments = ["--port", "9000", "--kv-memory=1GiB", "--no-prefix-cache", "--state-dir", str(tmp_path)]
    assert cli.main(["serve", "--config", str(tmp_path / "ebb.toml"), *arguments]) == 7
    (settings,) = started
    assert (settings.host, settings.port, settings.kv_memory) == ("0.0.0.0", 9000, 1 << 30)
    assert settings.no_prefix_cache is True
    assert settings.state_dir == tmp_path

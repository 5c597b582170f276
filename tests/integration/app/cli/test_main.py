"""The `ebb` command as a process: imports, exit status and standard files."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.version import VERSION

EBB = (sys.executable, "-c", "import sys; from app.cli.main import main; sys.exit(main())")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return shell('exec "$@"', *arguments)


def shell(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script of bash whose arguments are the command `ebb` with `arguments`."""
    command = ["bash", "-c", script, "bash", *EBB, *arguments]
    return subprocess.run(command, env={"HOME": "/nowhere"}, capture_output=True, text=True, check=False, timeout=60)


def test_help_imports_nothing_heavy() -> None:
    """`ebb --help` answers at once because of what it does not import."""
    heavy = "'torch', 'numpy', 'aiohttp', 'starlette', 'pydantic', 'transformers', 'redis', 'lmcache'"
    code = (
        "import sys\n"
        "from app.cli.main import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "finally:\n"
        f"    print([name for name in ({heavy}) if name in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ebb serve" in result.stdout
    assert result.stdout.endswith("\n[]\n")


def test_exit_status_is_2_for_an_unknown_command() -> None:
    assert run("--version").stdout == f"ebb {VERSION}\n"
    wrong = run("sevre")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Traceback" not in wrong.stderr


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- >&- 2>&-"])
def test_command_runs_with_closed_standard_files(closed: str) -> None:
    done = shell(f'"$@" {closed}', "pull", "--cache-dir", "/nowhere")
    assert (done.returncode, done.stderr) == (0, "")
    assert ("ebb pull NAME" in done.stdout) == (">&- " not in closed)


def test_server_starts_with_closed_output(tmp_path: Path) -> None:
    settings = ("--state-dir", str(tmp_path), "--cache-dir", str(tmp_path))
    done = shell('"$@" >&-', "serve", "--host", "192.0.2.1", *settings)
    assert done.returncode == 1
    assert "cannot listen on 192.0.2.1" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ('"$@" | true; exit "${PIPESTATUS[0]}"', 141, ""),
        ('"$@" 2>&1 | true; exit "${PIPESTATUS[0]}"', 141, ""),
        ('"$@" >/dev/full', 1, "ebb: cannot write the output: No space left on device\n"),
        ('"$@" >/dev/full 2>&1', 1, ""),
    ],
)
def test_output_that_nothing_takes_ends_command(script: str, status: int, words: str) -> None:
    done = shell(script, "pull", "--cache-dir", "/nowhere")
    assert (done.returncode, done.stdout, done.stderr) == (status, "", words)

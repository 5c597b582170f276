"""The `ebb` command as a process: start-up time and exit status."""

import subprocess
import sys
import time

from app.version import VERSION


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "import sys; from app.cli.main import main; sys.exit(main())", *arguments]
    return subprocess.run(command, env={"HOME": "/nowhere"}, capture_output=True, text=True, check=False, timeout=30)


def test_help_imports_nothing_heavy() -> None:
    heavy = "'torch', 'numpy', 'aiohttp'"
    code = f"import sys; import app.cli.main; print([name for name in ({heavy}) if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_help_answers_within_a_second() -> None:
    """Time the fastest of three runs. The target is 0.3 s; the bound leaves room for a busy machine."""
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        assert run("--help").returncode == 0
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 1.0


def test_exit_status_is_2_for_an_unknown_command() -> None:
    assert run("--version").stdout == f"ebb {VERSION}\n"
    wrong = run("sevre")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Traceback" not in wrong.stderr

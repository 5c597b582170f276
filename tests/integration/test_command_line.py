"""The `ebb` command as a process: it answers at once, and says what is wrong with its status too."""

import subprocess
import sys
import time

from app.version import VERSION


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "import sys; from app.cli import main; sys.exit(main())", *arguments]
    return subprocess.run(command, env={"HOME": "/nowhere"}, capture_output=True, text=True, check=False, timeout=30)


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; import app.cli; print([name for name in ('torch', 'numpy', 'aiohttp') if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_help_answers_within_a_moment() -> None:
    """The fastest of three; the promise is 0.3 s, the rest is room for a machine that is busy with other things."""
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        assert run("--help").returncode == 0
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 1.0


def test_its_status_tells_a_mistake_from_an_end() -> None:
    assert run("--version").stdout == f"ebb {VERSION}\n"
    wrong = run("sevre")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Traceback" not in wrong.stderr

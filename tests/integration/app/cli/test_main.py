"""The `ebb` command as a process: imports and exit status."""

import subprocess
import sys

from app.version import VERSION


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "import sys; from app.cli.main import main; sys.exit(main())", *arguments]
    return subprocess.run(command, env={"HOME": "/nowhere"}, capture_output=True, text=True, check=False, timeout=30)


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

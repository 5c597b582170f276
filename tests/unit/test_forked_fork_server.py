import subprocess
import sys

SCRIPT = """
import multiprocessing, sys
from tests.forked_fork_server import fork_fork_server

sys.modules["imported_before"] = sys
fork_fork_server()
context = multiprocessing.get_context("forkserver")
for _ in range(2):
    process = context.Process(target=exec, args=("import imported_before, sys; sys.exit(7)",))
    process.start()
    process.join(30)
    print(process.exitcode)
"""


def test_processes_have_what_was_imported_before() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("7\n7\n", "")

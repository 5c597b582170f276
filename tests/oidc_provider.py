"""A real OpenID provider (oidc-provider-mock) in a separate process, since its imports warn."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def oidc_provider(*users: str) -> Iterator[str]:
    """Run a provider on a free port until the block ends, and yield its issuer.

    users: claims of its people as JSON, each with `sub`.
    """
    known: Sequence[str] = [part for user in users for part in ("--user-claims", user)]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", "0", *known]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if (found := re.search(r"running on (http://[\d.:]+)", line)) is not None:
                break
        else:
            raise AssertionError("the provider did not start")
        yield found[1]
    finally:
        process.terminate()
        process.stdout.close()
        process.wait(10)

"""Lock files of the clients' environments.

`python -m tests.clients.lock NAME ...` writes them again, from the versions in `requirements.in` or `package.json`.
"""

import argparse

from tests.clients.environments import CLIENTS, Environment, NodeEnvironment, PythonEnvironment, environment

HEADER = "# Made from requirements.in by `python -m tests.clients.lock {name}`.\n"
UNWANTED = ("torch==", "nvidia-", "triton==")
"""Beginnings of lines that no client needs. Each would add gigabytes."""


def write_lock(one: Environment) -> None:
    """Resolve the client's dependencies and write its lock file. Raise subprocess.CalledProcessError."""
    if isinstance(one, NodeEnvironment):
        one.npm(
            "install", "--package-lock-only", "--save-exact", "--omit-lockfile-registry-resolved", folder=one.folder
        )
    elif isinstance(one, PythonEnvironment):
        one.make_empty()
        one.pip("install", "--requirement", str(one.folder / "requirements.in"))
        frozen = one.pip("freeze", "--all")
        unwanted = [line for line in frozen.splitlines() if line.startswith(UNWANTED)]
        if unwanted:
            raise SystemExit(f"{one.folder.name} would install {', '.join(unwanted)}.")
        one.lock.write_text(HEADER.format(name=one.folder.name) + frozen)


def main() -> None:
    """Write the lock files of the named clients."""
    parser = argparse.ArgumentParser(description="Write lock files of clients.")
    parser.add_argument("names", nargs="+", metavar="NAME", help=f"a folder of {CLIENTS.name}")
    for name in parser.parse_args().names:
        write_lock(environment(name))


if __name__ == "__main__":
    main()

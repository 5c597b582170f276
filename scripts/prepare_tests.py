"""Set-up of parts that all tests share: the default model and the compiled CPU kernels.

`python scripts/prepare_tests.py CACHE_DIR` makes both, unless they are there. The kernels are those of every
instruction set that this CPU can run, compiled on all cores at once.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine.cpu.build import KernelBuildError, build_kernels
from engine.cpu.instruction_set import usable_instruction_sets
from models.download.pull import pull_default
from models.download.staging import exclusive


def main() -> int:
    """Pull the model and compile the kernels; return 1 with a sentence if the kernels cannot be compiled."""
    cache_dir = Path(sys.argv[1])
    pull_default(cache_dir, _say)
    with exclusive(cache_dir / "kernels", _say), ThreadPoolExecutor(os.cpu_count()) as pool:
        builds = [pool.submit(build_kernels, each, cache_dir, _say) for each in usable_instruction_sets()]
        try:
            for build in builds:
                build.result()
        except KernelBuildError as error:
            print(f"The CPU kernels for the tests could not be compiled: {error}", file=sys.stderr)
            return 1
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())

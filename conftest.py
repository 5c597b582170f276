"""Plugins of the whole test suite. At the root, where pytest takes plugins and options from a conftest."""

import os

# Before torch loads OpenMP: threads that spin for work starve each other as soon as two processes share the cores.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

pytest_plugins = [
    "tests.sizes",
    "tests.no_skips",
    "tests.native_kernels",
    "tests.processes",
    "tests.memory_folders",
    "tests.foreign_loggers",
]

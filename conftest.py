"""Plugins of the whole test suite. At the root, where pytest takes plugins and options from a conftest."""

pytest_plugins = ["tests.sizes", "tests.no_skips", "tests.native_kernels"]

"""Tests of `ebb desktop`, with a real window on a virtual screen. `make test-desktop` installs the library for them."""

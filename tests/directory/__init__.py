"""Tests with a real directory, for `make test-directory`."""

"""The tests of faults, which `make test` does not run."""

import pytest

from tests.forked_process import run_forked

FOLDERS = ("tests/faults", "tests/faults_tiers", "tests/faults_api", "tests/faults_database")


def test_tests_of_faults_can_be_collected() -> None:
    status, output, errors = run_forked(pytest.console_main, "-qq", "--collect-only", *FOLDERS)
    assert status == 0, output + errors
    assert all(f"{folder}/test_" in output for folder in FOLDERS)

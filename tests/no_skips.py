"""Pytest plugin: with CI=true a skipped test fails, so that a missing dependency cannot leave anything untested.

Tests in tests/device may skip: they need an accelerator, which CI does not have.
"""

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def _refuse_skip(report: Report) -> Report:
    expected = hasattr(report, "wasxfail") or "tests/device" in report.nodeid
    if report.skipped and not expected and os.environ.get("CI") == "true":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason}\nWith CI=true nothing may be skipped; install what is missing."
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _refuse_skip((yield))

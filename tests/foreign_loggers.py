"""Pytest plugin: loggers of other packages propagate, as pytest expects.

In each phase of a test pytest attaches two handlers to every logger that does not propagate. torch and LMCache have a
hundred of them, which would take more time than most unit tests.
"""

import logging

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Let the loggers propagate that the imports of the collected tests have made."""
    # The process that collects for others is the one from which servers are forked, whose log stays as it is.
    if session.config.option.collectonly:
        return
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.propagate = True

"""Sealed summaries of compactions."""

import pytest

from app.apis.responses.compaction import open_summary, seal_summary

SALT = b"a" * 32


@pytest.mark.parametrize("summary", ["", "Rivers and lakes.", "caf\u00e9 \U0001f600"])
def test_summary_is_opened_by_its_own_tenant_only(summary: str) -> None:
    sealed = seal_summary(summary, SALT)
    assert open_summary(sealed, SALT) == summary
    assert open_summary(sealed, b"b" * 32) is None
    assert not summary or summary not in sealed


def test_changed_summary_is_not_opened() -> None:
    sealed = seal_summary("Rivers and lakes.", SALT)
    swapped = sealed[:-6] + ("AA" if sealed[-6:-4] != "AA" else "BB") + sealed[-4:]
    for wrong in (swapped, sealed[:-4], sealed[4:], ""):
        assert open_summary(wrong, SALT) is None

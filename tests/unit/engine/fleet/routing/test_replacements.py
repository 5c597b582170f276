"""Notices of replicas that do all of the work, in the log and in the states."""

import logging
from dataclasses import replace

import pytest

from engine.api.role import Role
from engine.fleet.routing.replacements import Replacements
from engine.loop.stats import ReplicaState

STATE = ReplicaState(index=0, state="ok", epoch=1, machine="here", pid=7, answers=0, restarts=0, last_loss="")


def served(replacements: Replacements, *roles: Role) -> list[Role]:
    return [each.serves_as for each in replacements.shown([replace(STATE, role=role) for role in roles])]


def test_replica_does_both_while_the_other_role_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    replacements = Replacements(["prefill", "decode"])
    replacements.note(["prefill"])
    assert not caplog.messages, "a replica that has not started yet is not missed"
    replacements.note(["prefill", "decode"])
    assert served(replacements, "prefill", "decode") == ["prefill", "decode"]
    for _ in range(2):
        replacements.note(["prefill"])
    assert served(replacements, "prefill") == ["both"]
    replacements.note(["prefill", "decode"])
    assert served(replacements, "prefill") == ["prefill"]
    replacements.note(["decode"])
    assert served(replacements, "decode") == ["both"]
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "WARNING"]
    assert "no replica for answers serves: those with the role prefill do both" in caplog.messages


def test_replica_of_both_roles_replaces_either() -> None:
    replacements = Replacements(["prefill", "decode", "both"])
    replacements.note(["prefill", "decode", "both"])
    replacements.note(["prefill", "both"])
    assert served(replacements, "prefill", "both") == ["prefill", "both"]

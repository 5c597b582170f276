"""Notices of replicas that do all of the work, in the log and in the states."""

import logging
from dataclasses import replace

import pytest

from engine.api.role import Role
from engine.fleet.routing.replacements import StandIns
from engine.loop.stats import ReplicaState

STATE = ReplicaState(index=0, state="ok", epoch=1, machine="here", pid=7, answers=0, restarts=0, last_loss="")


def served(stand_ins: StandIns, *roles: Role) -> list[Role]:
    return [each.serves_as for each in stand_ins.shown([replace(STATE, role=role) for role in roles])]


def test_replica_does_both_while_the_other_role_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    stand_ins = StandIns(["prefill", "decode"])
    stand_ins.note(["prefill"])
    assert not caplog.messages, "a replica that has not started yet is not missed"
    stand_ins.note(["prefill", "decode"])
    assert served(stand_ins, "prefill", "decode") == ["prefill", "decode"]
    for _ in range(2):
        stand_ins.note(["prefill"])
    assert served(stand_ins, "prefill") == ["both"]
    stand_ins.note(["prefill", "decode"])
    assert served(stand_ins, "prefill") == ["prefill"]
    stand_ins.note(["decode"])
    assert served(stand_ins, "decode") == ["both"]
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "WARNING"]
    assert "no replica for answers serves: those with the role prefill do both" in caplog.messages


def test_replica_of_both_roles_replaces_either() -> None:
    stand_ins = StandIns(["prefill", "decode", "both"])
    stand_ins.note(["prefill", "decode", "both"])
    stand_ins.note(["prefill", "both"])
    assert served(stand_ins, "prefill", "both") == ["prefill", "both"]

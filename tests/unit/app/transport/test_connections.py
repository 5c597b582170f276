"""Bounds on open connections: the longest idle one makes room, and too many requests are refused."""

import resource
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.config.settings import load_settings
from app.transport.connections import (
    SPARE_CONNECTIONS,
    AddressFullError,
    ConnectionLimits,
    Connections,
    ServerFullError,
    connection_limits,
)


class Line:
    """Fake connection that records whether it was cut."""

    def __init__(self, peer: str | None = "192.0.2.1") -> None:
        self.peer = peer
        self.is_cut = False

    def cut(self) -> None:
        self.is_cut = True


def opened(connections: Connections, *lines: Line) -> None:
    for line in lines:
        connections.on_open(line)


def limits_for(monkeypatch: pytest.MonkeyPatch, files: int, **flags: str) -> ConnectionLimits:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    here = {"state-dir": str(Path("/nowhere")), "cache-dir": str(Path("/nowhere"))}
    return connection_limits(load_settings(here | flags, environ={}))


def test_longest_idle_connection_makes_room() -> None:
    connections = Connections(ConnectionLimits(total=3, per_address=10))
    first, second, third, fourth = lines = [Line(f"192.0.2.{number}") for number in range(4)]
    opened(connections, first, second, third)
    assert connections.on_request(first) is None
    connections.on_response(first)
    connections.on_open(fourth)
    assert [line.is_cut for line in lines] == [False, True, False, False]
    assert len(connections) == 3
    connections.on_close(second)
    connections.check()


def test_busy_connection_is_never_cut() -> None:
    connections = Connections(ConnectionLimits(total=2, per_address=10))
    busy = [Line(), Line()]
    opened(connections, *busy)
    assert [connections.on_request(line) for line in busy] == [None, None]
    late = [Line() for _ in range(3)]
    opened(connections, *late)
    assert isinstance(connections.on_request(late[-1]), ServerFullError)
    assert not any(line.is_cut for line in busy)
    assert [line.is_cut for line in late] == [True, True, False]


def test_connections_beyond_the_spare_ones_are_cut() -> None:
    connections = Connections(ConnectionLimits(total=1, per_address=10_000))
    lines = [Line() for _ in range(SPARE_CONNECTIONS + 2)]
    for line in lines:
        connections.on_open(line)
        connections.on_request(line)
    assert [line.is_cut for line in lines] == [False] * (SPARE_CONNECTIONS + 1) + [True]


def test_one_address_displaces_and_refuses_its_own() -> None:
    connections = Connections(ConnectionLimits(total=100, per_address=2))
    neighbour, *flood = [Line("198.51.100.7"), Line(), Line(), Line()]
    opened(connections, neighbour, *flood)
    assert [line.is_cut for line in (neighbour, *flood)] == [False, True, False, False]
    assert [connections.on_request(line) for line in flood[1:]] == [None, None]
    late = Line()
    connections.on_open(late)
    refusal = connections.on_request(late)
    assert isinstance(refusal, AddressFullError)
    assert refusal.retry_after > 0
    assert connections.on_request(neighbour) is None


@pytest.mark.parametrize(
    ("addresses", "refused"),
    [
        (("2001:db8::1", "2001:db8::2"), True),
        (("2001:db8::1", "2001:db8:0:1::1"), False),
        (("::ffff:192.0.2.1", "192.0.2.1"), True),
        (("127.0.0.1", "127.0.0.1"), False),
        (("::1", "::1"), False),
        ((None, None), False),
    ],
)
def test_ipv6_networks_count_as_one_and_this_machine_not(addresses: tuple[str | None, ...], refused: bool) -> None:
    connections = Connections(ConnectionLimits(total=100, per_address=1))
    lines = [Line(address) for address in addresses]
    found = []
    for line in lines:
        connections.on_open(line)
        found.append(connections.on_request(line))
    assert isinstance(found[-1], AddressFullError) is refused


@pytest.mark.parametrize(("files", "total"), [(128, 64), (1024, 768), (1 << 20, 8192)])
def test_default_bound_leaves_files_for_the_rest(monkeypatch: pytest.MonkeyPatch, files: int, total: int) -> None:
    assert limits_for(monkeypatch, files) == ConnectionLimits(total, total // 4)


def test_bound_above_the_file_limit_is_lowered(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    flags = {"max-connections": "5000", "max-connections-per-address": "7"}
    assert limits_for(monkeypatch, 1024, **flags) == ConnectionLimits(768, 7)
    assert "ulimit -n 5256" in caplog.text
    assert limits_for(monkeypatch, 1 << 16, **flags) == ConnectionLimits(5000, 7)


THREE_BUSY = [step for number in range(3) for step in (("open", 0), ("ask", number))]


@example([*THREE_BUSY, ("open", 0), ("answer", 0), ("open", 0)])
@given(st.lists(st.tuples(st.sampled_from(("open", "ask", "answer", "close")), st.integers(0, 5)), max_size=60))
def test_connections_are_counted_once_whatever_they_do(steps: list[tuple[str, int]]) -> None:
    connections = Connections(ConnectionLimits(total=3, per_address=2))
    lines: list[Line] = []
    for what, number in steps:
        if what == "open":
            lines.append(Line(f"192.0.2.{number % 3}" if number else None))
            connections.on_open(lines[-1])
        elif lines:
            line = lines[number % len(lines)]
            if what == "close":
                connections.on_close(line)
            elif line.is_cut:
                continue
            elif what == "ask":
                connections.on_request(line)
            else:
                connections.on_response(line)
        connections.check()
        if what == "open":
            assert len(connections) - connections.busy <= max(3 - connections.busy, 1)

"""Leases of other servers on this server's clock: steps of other clocks and outages end none."""

from app.runs.lease import LATE_SECONDS, LeaseWatch
from app.storage.servers import LEASE_SECONDS


def watched(looks: list[tuple[float, int]]) -> LeaseWatch:
    """Look at one other server, at each of these times with this number of renewals."""
    watch = LeaseWatch()
    for now, renewals in looks:
        watch.note({"other": renewals}, now)
    return watch


def test_lease_expires_when_no_renewal_is_seen() -> None:
    watch = watched([(10.0 + second, 7) for second in range(5)])
    assert watch.expired(10.0 + LEASE_SECONDS - 0.1) == {}
    assert watch.expired(10.0 + LEASE_SECONDS) == {"other": 7}


def test_any_other_number_of_renewals_prolongs_a_lease() -> None:
    # A database that failed over may show fewer renewals than before.
    for renewals in (8, 3):
        watch = watched([(0.0, 7), (1.0, 7), (2.0, 7), (3.0, renewals), (4.0, renewals)])
        assert watch.expired(4.0) == {}


def test_time_without_a_look_counts_for_no_lease() -> None:
    watch = watched([(0.0, 7), (1.0, 7)])
    assert watch.expired(60.0) == {}
    watch.note({"other": 7}, 60.0)
    assert watch.expired(61.0) == {}
    watch.note({"other": 7}, 60.0 + LATE_SECONDS)
    watch.note({"other": 7}, 60.0 + 2 * LATE_SECONDS)
    assert watch.expired(60.0 + LEASE_SECONDS) == {"other": 7}


def test_look_names_the_servers_that_renewed_their_lease() -> None:
    watch = LeaseWatch()
    assert watch.note({"a": 1, "b": 5}, 0.0) == set()
    assert watch.note({"a": 2, "b": 5, "c": 9}, 1.0) == {"a"}


def test_server_without_a_lease_is_forgotten() -> None:
    watch = watched([(0.0, 7)])
    watch.note({}, 1.0)
    watch.note({"other": 7}, 2.0)
    assert watch.expired(LEASE_SECONDS) == {}

import threading

from cache_tiers.lower.breaker import CircuitBreaker


def probing_breaker(first_wait: float = 0.01, longest_wait: float = 0.02) -> CircuitBreaker:
    return CircuitBreaker("Test", "here", first_wait=first_wait, longest_wait=longest_wait)


def test_breaker_is_open_until_first_probe_succeeds() -> None:
    breaker = probing_breaker()
    assert breaker.describe() == "not connected yet"
    breaker.close()
    assert breaker.closed
    assert breaker.describe() == "ok"


def test_fault_opens_breaker_until_a_probe_succeeds() -> None:
    breaker = probing_breaker()
    breaker.close()
    breaker.trip("the wire is cut")
    assert not breaker.closed
    assert breaker.describe() == "the wire is cut"
    breaker.wait_for_probe(interval=60)
    assert not breaker.closed, "half-open: only the probe may try"
    breaker.close()
    assert breaker.closed


def test_later_faults_of_same_outage_do_not_delay_probe() -> None:
    breaker = probing_breaker(first_wait=0.01, longest_wait=60)
    breaker.close()
    for _ in range(100):
        breaker.trip("down")
    assert breaker.trips == 1
    breaker.wait_for_probe(interval=60)


def test_fault_wakes_watcher_between_two_probes() -> None:
    breaker = probing_breaker()
    breaker.close()
    waiting = threading.Thread(target=breaker.wait_for_probe, args=(60,))
    waiting.start()
    breaker.trip("down")
    waiting.join(10)
    assert not waiting.is_alive()


def test_failed_probes_back_off_up_to_the_limit() -> None:
    breaker = probing_breaker(first_wait=0.01, longest_wait=0.04)
    breaker.close()
    breaker.trip("down")
    waits = []
    for _ in range(4):
        waits.append(breaker.current_wait)
        breaker.wait_for_probe(interval=60)
        breaker.trip("still down")
    assert waits == [0.01, 0.02, 0.04, 0.04]
    breaker.wait_for_probe(interval=60)
    breaker.close()
    breaker.trip("down again")
    assert breaker.current_wait == 0.01


def test_wake_ends_a_long_wait() -> None:
    breaker = probing_breaker(first_wait=60, longest_wait=60)
    breaker.close()
    breaker.trip("down")
    waiting = threading.Thread(target=breaker.wait_for_probe, args=(60,))
    waiting.start()
    breaker.wake()
    waiting.join(10)
    assert not waiting.is_alive()

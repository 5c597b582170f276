import pytest

from engine.api.outputs import Phases
from engine.request.timeline import Phase, Timeline


def test_phases_add_up_over_preemptions_until_first_token() -> None:
    line = Timeline(since=10.0)
    for phase, now in ((Phase.LOAD, 11.0), (Phase.QUEUE, 14.0), (Phase.PREFILL, 14.5), (Phase.QUEUE, 15.0)):
        line.enter(phase, now)
    line.enter(Phase.PREFILL, 17.0)
    line.lookup = 0.5
    line.end(18.0)
    line.enter(Phase.QUEUE, 50.0)
    line.end(60.0)
    assert line.phases() == Phases(queue=3500.0, lookup=500.0, load=2500.0, prefill=1500.0)
    assert line.phases().first_token == pytest.approx(8000.0)


def test_lookup_is_at_most_the_wait_that_contains_it() -> None:
    line = Timeline(since=0.0, lookup=9.0)
    line.enter(Phase.LOAD, 1.0)
    line.end(3.0)
    assert line.phases() == Phases(queue=1000.0, lookup=2000.0, load=0.0, prefill=0.0)

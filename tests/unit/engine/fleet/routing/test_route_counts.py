"""Counts of routed requests, and the predicted and the seen time to the first token."""

from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.fleet.gateway.answer import RemoteAnswer
from engine.fleet.routing.route_counts import RouteCounts
from engine.fleet.routing.router import Assignment, PredictingRouter, RoutedPrompt, Seat
from engine.fleet.wire.messages import Begun, Output


def test_first_token_is_recorded_with_its_prediction() -> None:
    router, counts, first = PredictingRouter(64), RouteCounts(), list[Assignment]()
    router.join(Seat(epoch=1))
    router.join(Seat(epoch=2))

    def on_first(assignment: Assignment, seconds: float) -> None:
        first.append(assignment)
        counts.on_first_token(assignment, seconds)

    request = GenerateRequest(prompt_token_ids=[1, 2, 3], params=SamplingParams(max_tokens=9))
    answer = RemoteAnswer(
        request_id="a", request=request, choice=0, abort=lambda _: None, on_end=lambda _: None, on_first=on_first
    )
    answer.accept(Begun(SamplingParams(seed=1, max_tokens=9), "", ""))
    for at in (0, 2):
        [assignment] = router.route(RoutedPrompt([], 3 + at))
        counts.on_route(assignment)
        answer.route(assignment)
        answer.take(Output(0, at, (7,), " a"))
        answer.take(Output(0, at + 1, (8,), " b"))
        assert first[-1] is assignment
        answer.lose_replica(at)
        counts.on_takeover()
    stats = counts.stats
    assert (stats.reasons, stats.takeovers) == ({"load": 2}, 2)
    assert len(first) == stats.predicted_seconds.count == stats.seen_seconds.count == 2

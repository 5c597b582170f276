"""Counts of routed requests, and the predicted and the seen time to the first token."""

from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.fleet.gateway.answer import RemoteAnswer
from engine.fleet.routing.route_counts import RouteCounts
from engine.fleet.routing.router import PredictingRouter, RoutedPrompt, Seat, Ticket
from engine.fleet.wire.messages import Begun, Output


def test_first_token_is_recorded_with_its_prediction() -> None:
    router, counts, first = PredictingRouter(64), RouteCounts(), list[Ticket]()
    router.join(Seat(epoch=1))
    router.join(Seat(epoch=2))

    def on_first(ticket: Ticket, seconds: float) -> None:
        first.append(ticket)
        counts.on_first_token(ticket, seconds)

    request = GenerateRequest(prompt_token_ids=[1, 2, 3], params=SamplingParams(max_tokens=9))
    answer = RemoteAnswer(
        request_id="a", request=request, choice=0, abort=lambda _: None, on_end=lambda _: None, on_first=on_first
    )
    answer.accept(Begun(SamplingParams(seed=1, max_tokens=9), "", ""))
    for at in (0, 2):
        [ticket] = router.route(RoutedPrompt([], 3 + at))
        counts.on_route(ticket)
        answer.route(ticket)
        answer.take(Output(0, at, (7,), " a"))
        answer.take(Output(0, at + 1, (8,), " b"))
        assert first[-1] is ticket
        answer.lose_replica(at)
        counts.on_takeover()
    stats = counts.stats
    assert (stats.reasons, stats.takeovers) == ({"load": 2}, 2)
    assert len(first) == stats.predicted_seconds.count == stats.seen_seconds.count == 2

"""Whatever bytes a client sends, the server and h11 read the same requests, or the server refuses and closes."""

import asyncio
from collections.abc import Sequence

from hypothesis import given, note, settings

from app.transport.connections import Connections
from tests.integration.api_server import ROOMY, served
from tests.raw_exchange import Recorder, Response, exchange
from tests.raw_messages import Told, connections, read_by_h11
from tests.sizes import Size

REFUSED = {400, 501}


def check(seen: Sequence[Told], told: Sequence[Told], responses: Sequence[Response]) -> None:
    """Check that each request got its response, and that the server read what h11 read, or refused the rest."""
    assert seen == told[: len(seen)]
    statuses = [each.status for each in responses]
    assert statuses[: len(seen)] == [200] * len(seen)
    assert len(statuses) <= len(seen) + 1
    assert set(statuses[len(seen) :]) <= REFUSED
    if len(seen) < len(told):
        assert responses[-1].ends


def test_server_and_h11_read_the_same_requests(size: Size) -> None:
    recorder = Recorder()
    with asyncio.Runner() as runner:

        @settings(max_examples=size.pick(small=200, full=5000), deadline=None, database=None)
        @given(connections())
        def compare(packets: list[bytes]) -> None:
            recorder.seen.clear()
            told = read_by_h11(b"".join(packets))
            responses = runner.run(exchange(port, packets, len(told)))
            note(f"h11 read {told}, the server {recorder.seen}, and the client {responses}")
            check([each.told for each in recorder.seen], told, responses)

        server = served(recorder, Connections(ROOMY))
        port = int(runner.run(server.__aenter__()).rpartition(":")[2])
        try:
            compare()
        finally:
            runner.run(server.__aexit__(None, None, None))

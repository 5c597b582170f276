"""Whatever bytes a client sends to a proxy, the server receives only requests that the proxy made."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, note, settings

from app.transport.connections import Connections
from tests.integration.api_server import ROOMY, served
from tests.proxies.proxy import MADE_BY, PROXIES, running_proxy
from tests.raw_exchange import Recorder, Response, Seen, exchange
from tests.raw_messages import connections, read_by_h11
from tests.sizes import Size


def check_made_by_proxy(seen: list[Seen], ids: set[bytes]) -> None:
    """Check that each request has its own id and the names of the proxy. Add the ids to `ids`."""
    for each in seen:
        [made_by] = each.values(MADE_BY)
        assert made_by not in ids
        ids.add(made_by)
        assert each.values(b"remote-user") == [b"ada"]
        assert each.values(b"remote-groups") == [b"staff"]


@pytest.mark.parametrize("proxy", PROXIES)
def test_server_receives_only_requests_that_the_proxy_made(proxy: str, size: Size, tmp_path: Path) -> None:
    recorder, ids, examples = Recorder(), set[bytes](), size.pick(small=300, full=5000)
    with asyncio.Runner() as runner:

        @settings(max_examples=examples, deadline=None, database=None)
        @given(connections())
        def send(packets: list[bytes]) -> None:
            told = read_by_h11(b"".join(packets))
            # Caddy may mix an interim response into the final one, once the client has sent its end.
            responses = list[Response]()
            with suppress(ValueError):
                responses = runner.run(exchange(ports.login, packets, len(told)))
            # Requests whose client has left may still arrive.
            seen, recorder.seen = recorder.seen, []
            note(f"h11 read {told}, the server {seen}, and the client {responses}")
            check_made_by_proxy(seen, ids)

        server = served(recorder, Connections(ROOMY))
        url = runner.run(server.__aenter__())
        try:
            with running_proxy(proxy, int(url.rpartition(":")[2]), tmp_path) as ports:
                send()
        finally:
            runner.run(server.__aexit__(None, None, None))
    assert len(ids) >= examples // 2

"""Replicas in this process, whose connections are in memory, and whose engines do what a test says."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from cache_tiers.owners.block_key import BlockKey, KeyNamespace
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.request_stream import RequestStream
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.fleet.gateway.answer import RemoteAnswer
from engine.fleet.gateway.keeper import DIED
from engine.fleet.gateway.link import Link
from engine.fleet.placement.interface import MachinePart
from engine.fleet.placement.order import ReplicaOrder
from engine.fleet.remote_engine import RemoteEngine
from engine.fleet.replica.session import GatewaySession
from engine.fleet.wire.connection import FrameConnection
from engine.fleet.wire.messages import Ready, ReplicaFacts
from engine.loop.async_llm import AsyncLLMEngine
from models.retrieval.folder import Retrieval
from tests.unit.engine.loop.test_stats import STATS

ASKED = GenerateRequest(prompt_token_ids=[1, 2, 3], params=SamplingParams(max_tokens=10, seed=1))
CONFIG = EngineConfig(
    model=ModelConfig(path=Path("model"), name="fake"),
    cache=CacheConfig(tiers=None, secret=b"a secret of the tests", prefix_cache=False),
)
FACTS = ReplicaFacts(
    "same",
    64,
    {},
    KeyNamespace(
        model_fingerprint="model",
        numerics="same",
        kv_dtype="bfloat16",
        block_size=64,
        layout_version=1,
        tp_rank=0,
        tp_size=1,
        tenant_salt=b"",
    ),
    64,
)
TURNS = 100


async def settled() -> None:
    """Give the other tasks, and frames on their way, a hundred turns of the event loop."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


def asked(moved: list[RemoteAnswer] | None = None) -> RemoteAnswer:
    """Make an answer to ASKED, which joins `moved` when a replica hands it over."""
    on_moved = (moved if moved is not None else []).append
    return RemoteAnswer(
        request_id="a",
        request=ASKED,
        choice=0,
        abort=lambda _: None,
        on_end=lambda _: None,
        on_first=lambda *_: None,
        on_moved=on_moved,
    )


class Wire(asyncio.Transport):
    """One end of a connection. Bytes arrive at the other end in the next turn of the loop, whatever became of it."""

    def __init__(self, other: FrameConnection) -> None:
        super().__init__()
        self._other = other

    def write(self, data: bytes | bytearray | memoryview) -> None:
        asyncio.get_running_loop().call_soon(self._other.data_received, bytes(data))

    def close(self) -> None: ...

    def abort(self) -> None: ...


class ScriptedEngine:
    """The engine of a replica.

    admits: cleared by a test to keep requests in their admission.
    failure: raised by every call from then on.
    requests, streams: of the requests that were admitted.
    text_before: of the requests that are admitted.
    aborted: ids of the requests that were aborted.
    erased: the keys of the blocks that were erased.
    """

    is_broken = False

    def __init__(self) -> None:
        self.admits = asyncio.Event()
        self.admits.set()
        self.failure: BaseException | None = None
        self.requests: list[GenerateRequest] = []
        self.streams: list[RequestStream] = []
        self.text_before: Any = ""
        self.aborted: list[str] = []
        self.erased: list[BlockKey] = []
        self.erases = True
        self.prefixes = SimpleNamespace(until_below=self._call)

    async def generate(self, request: GenerateRequest) -> list[RequestStream]:
        await self.admits.wait()
        await self._call()
        id_ = f"r{len(self.streams)}"
        self.requests.append(request)
        self.streams.append(RequestStream(id_, request.params, self.aborted.append, self.text_before))
        return self.streams[-1:]

    def abort(self, request_id: str) -> None:
        self.aborted.append(request_id)

    async def erase(self, keys: Sequence[BlockKey], *, again: bool) -> bool:
        await self._call()
        self.erased += keys
        return self.erases

    def adopt_deletions(self, generations: dict[str, int]) -> None: ...

    def produce(self, *ids: int, end: Any = None) -> None:
        """Deliver tokens of the newest request."""
        stream = self.streams[-1]
        stream.put(
            RequestOutput(
                request_id=stream.request_id,
                text="".join(f" w{each}" for each in ids),
                token_ids=ids,
                finish_reason=end,
            )
        )

    async def _call(self, *_: object, **__: object) -> None:
        if self.failure is not None:
            raise self.failure


class SilentReplica:
    """A replica that answers no connection, and ends only when it is killed. See PlacedReplica."""

    machine, pid = "here", 1

    def __init__(self, epoch: int, token: bytes) -> None:
        self.epoch, self.token = epoch, token
        self._gone = asyncio.Event()

    async def connect(self, protocol: asyncio.Protocol) -> None: ...

    def retire(self) -> None: ...

    def kill(self) -> None:
        self._gone.set()

    async def died(self) -> None:
        await asyncio.Event().wait()

    async def ended(self) -> str:
        await self._gone.wait()
        return "ended"


class MemoryReplica(SilentReplica):
    """A replica with a session. See SessionOwner."""

    is_broken = False

    def __init__(self, epoch: int, token: bytes) -> None:
        super().__init__(epoch, token)
        self.scripted = ScriptedEngine()
        self.session = GatewaySession(0, token, epoch, self)

    @property
    def engine(self) -> AsyncLLMEngine:
        return cast("AsyncLLMEngine", self.scripted)

    async def connect(self, protocol: asyncio.Protocol) -> None:
        gateway = cast("FrameConnection", protocol)
        gateway.connection_made(Wire(self.session.connection))
        self.session.connection.connection_made(Wire(gateway))

    def exit_if_broken(self) -> None: ...

    def on_opened(self, session: GatewaySession) -> None: ...

    def on_proven(self, session: GatewaySession) -> None:
        session.send(Ready(FACTS, STATS))

    def on_drain(self, seconds: float, patience: float) -> None: ...

    def on_closed(self, session: GatewaySession) -> None: ...


class MemoryPlacement:
    """Replicas in this process, as many as `most`. Later ones find no place.

    replicas: those that were started.
    survive: whether replicas live on when their connection is lost, and are connected to again.
    """

    is_shared = False

    def __init__(self, most: int) -> None:
        self.replicas: list[MemoryReplica] = []
        self.survive = False
        self._most = most

    def shares(self, count: int, accelerators: Sequence[str]) -> list[MachinePart]:
        return [MachinePart()] * count

    async def start(self, order: ReplicaOrder) -> MemoryReplica:
        if len(self.replicas) == self._most:
            await asyncio.Event().wait()
        if self.survive:
            former = self.replicas.pop(order.index)
            self.replicas.insert(order.index, MemoryReplica(former.epoch, former.token))
            self.replicas[order.index].scripted = former.scripted
            return self.replicas[order.index]
        self.replicas.append(MemoryReplica(order.epoch, order.token))
        return self.replicas[-1]


class MemoryFleet:
    """A gateway with replicas in this process."""

    def __init__(self, most: int, config: EngineConfig = CONFIG) -> None:
        """Prepare two replicas, of which one after the other starts again until there were `most`."""
        self.placement = MemoryPlacement(most)
        self.engine = RemoteEngine(
            [config] * 2,
            self.placement,
            lambda _: None,
            config=config,
            tokenizer=cast("Any", None),
            chat_format=cast("Any", None),
            sampling_defaults={},
            retrieval=Retrieval(),
            tier_notes={},
            on_close=lambda: None,
        )

    @property
    def links(self) -> list[Link]:
        """Links of the newest epochs."""
        return [slot.link for slot in self.engine._keeper._slots if slot.link is not None]

    def of(self, link: Link) -> ScriptedEngine:
        """Return the engine at the other end of a link."""
        [replica] = [each for each in self.placement.replicas if each.epoch == link.epoch]
        return replica.scripted

    def busy(self) -> Link:
        """Return the only link that has an answer."""
        [link] = [each for each in self.links if each.num_answers]
        return link

    async def lose_busy(self) -> None:
        """Lose the replica that has an answer, and wait until another one has it, if there is any."""
        await settled()
        self.busy().mark_lost(DIED)
        await settled()


async def joined(epoch: int = 1) -> tuple[Link, MemoryReplica, list[RemoteAnswer]]:
    """Join a gateway's link and a replica. Return both, and the answers that the link will have lost."""
    lost: list[RemoteAnswer] = []
    events = SimpleNamespace(on_ready=lambda _: None, on_lost=lambda _, __, answers: lost.extend(answers))
    replica = MemoryReplica(epoch, b"a token of the tests")
    link = Link(0, epoch, replica.token, cast("Any", events))
    await replica.connect(link.connection)
    await settled()
    assert link.is_ready
    return link, replica, lost

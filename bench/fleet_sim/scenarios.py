"""Simulations at scale: many replicas, stale reports, and the loss of a gateway."""

import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.observability.percentiles import percentile
from bench.fleet_policies.policies import POLICIES
from bench.fleet_sim.agenda import Agenda
from bench.fleet_sim.chats import ChatShape, chats
from bench.fleet_sim.replica import ReplicaSize
from bench.fleet_sim.world import Observed, Session, World, WorldShape
from engine.api.role import Role
from engine.fleet.routing.prediction import StepLimits
from engine.fleet.routing.router import Router
from engine.fleet.wire.report import ReplicaCost

PREDICTED: Final = "predicted"

ACCELERATOR: Final = ReplicaCost(
    step=0.008, decode=5e-5, token=5e-5, pair=2e-9, turn=0.05, copy=4e-4, load_start=0.002, load_block=0.002
)
"""Costs of a replica on an accelerator: 20,000 prompt tokens a second, and blocks of 256 tokens."""

BLOCK: Final = 256
LIMITS: Final = StepLimits(places=256)
SIZE: Final = ReplicaSize(device=2_000, cpu=10_000, block=BLOCK, limits=LIMITS)
CHATS: Final = ChatShape(
    count=0, seconds=0.0, block=BLOCK, system_blocks=2, question_blocks=(1, 5), more_blocks=(1, 2), think=5.0
)
EACH_SECOND: Final = 9.0
"""Conversations that begin per second and replica."""

TOLD_EVERY: Final = 100_000
"""Conversations between two lines about the progress."""

ENDLESS: Final = 1 << 40
STALE: Final = (0.1, 0.5, 1.0, 2.0, 5.0)
AROUND: Final = 5.0
"""Seconds before and after the loss of a gateway that are compared."""


@dataclass(frozen=True, slots=True)
class Row:
    """One simulation.

    first_token, first_token_p99, predicted: seconds; predicted is the mean that the routers predicted.
    computed: share of the prompt tokens that was computed. possible: the same with one endless cache for all.
    crowding: median over the seconds of the largest number of requests of a replica over the mean. crowding_most: its
        maximum.
    names: names in the index of the largest router. memory: most bytes of the whole simulation.
    """

    policy: str
    replicas: int
    gateways: int
    conversations: int
    requests: int
    report_seconds: float
    first_token: float
    first_token_p99: float
    predicted: float
    computed: float
    crowding: float
    crowding_most: float
    names: int
    memory: int
    taken_over: int = 0


def run(
    shape: WorldShape,
    asked: ChatShape,
    policy: str,
    *,
    loses_gateway: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Row, Observed]:
    """Run one simulation. `say` is called with the progress of a long one."""

    def make(agenda: Agenda) -> Router:
        return POLICIES[policy](BLOCK, LIMITS, lambda: agenda.now)

    world = World(shape, make)
    world.watch_crowding(0.5, asked.seconds)
    if loses_gateway:
        world.agenda.at(asked.seconds / 2, lambda: world.lose_gateway(0))
    seen = world.play_arriving(_told(chats(asked, 1), asked.count, say))
    row = Row(
        policy,
        shape.replicas,
        shape.gateways,
        asked.count,
        len(seen.first_token),
        shape.report_seconds,
        sum(seen.first_token) / len(seen.first_token),
        percentile(list(seen.first_token), 99),
        sum(seen.predicted) / len(seen.predicted),
        seen.totals.computed / seen.totals.prompt_tokens,
        percentile(list(seen.crowding), 50),
        max(seen.crowding),
        max(getattr(gateway.router, "num_names", 0) for gateway in world.gateways),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        seen.taken_over,
    )
    return row, seen


def _told(made: Iterator[Session], count: int, say: Callable[[str], None]) -> Iterator[Session]:
    for number, chat in enumerate(made):
        if number and number % TOLD_EVERY == 0:
            say(f"{number:,} of {count:,} conversations")
        yield chat


def shape_of(replicas: int, gateways: int, report_seconds: float = 0.1) -> WorldShape:
    """Return a world with a common lower tier that keeps everything."""
    return WorldShape(replicas, gateways, ACCELERATOR, SIZE, report_seconds, ENDLESS)


def chats_of(replicas: int, seconds: float) -> ChatShape:
    """Return conversations that use a little more than half of what `replicas` can compute."""
    return replace(CHATS, count=round(EACH_SECOND * replicas * seconds), seconds=seconds)


def stale_rows(replicas: int, gateways: int, seconds: float, say: Callable[[Row], None]) -> list[Row]:
    """Run the same conversations with older and older reports, and with policies that need none."""
    rows = []
    asked = chats_of(replicas, seconds)
    for policy, stale in [*((PREDICTED, stale) for stale in STALE), ("least loaded", 0.1), ("round robin", 0.1)]:
        row, _ = run(shape_of(replicas, gateways, stale), asked, policy)
        rows.append(row)
        say(row)
    return rows


@dataclass(frozen=True, slots=True)
class Loss:
    """Loss of a gateway in the middle of a simulation.

    before, after: p99 of the seconds to the first token of requests that arrived shortly before and after.
    undisturbed: of the same requests as `after`, without the loss.
    """

    row: Row
    before: float
    after: float
    undisturbed: float


def gateway_loss(replicas: int, gateways: int, seconds: float) -> Loss:
    """Lose one of `gateways`."""
    asked, at = chats_of(replicas, seconds), seconds / 2
    _, calm = run(shape_of(replicas, gateways), asked, PREDICTED)
    row, seen = run(shape_of(replicas, gateways), asked, PREDICTED, loses_gateway=True)
    return Loss(row, _p99(seen, at - AROUND, at), _p99(seen, at, at + AROUND), _p99(calm, at, at + AROUND))


LONG_PROMPTS: Final = replace(
    CHATS, question_blocks=(16, 64), more_blocks=(8, 32), answer=(128, 512), turns=(1, 2), system_blocks=1
)
"""Conversations with prompts of 4,000 to 16,000 tokens, so that most steps have a part of one."""

LONG_EACH_SECOND: Final = 0.75
"""Such conversations that begin per second and replica."""


@dataclass(frozen=True, slots=True)
class RolesRow:
    """The same conversations, with prompts and answers on the same or on different replicas.

    prefill: replicas that only compute prompts; 0 if all do everything.
    first_token, first_token_p99, gap, gap_p99, gap_p999: seconds to the first token and between two tokens.
    """

    replicas: int
    prefill: int
    requests: int
    first_token: float
    first_token_p99: float
    gap: float
    gap_p99: float
    gap_p999: float


def roles_rows(replicas: int, gateways: int, seconds: float, shares: Sequence[float]) -> list[RolesRow]:
    """Run long prompts on replicas that do everything, and with each share of them for prompts alone."""
    asked = replace(LONG_PROMPTS, count=round(LONG_EACH_SECOND * replicas * seconds), seconds=seconds)
    rows = []
    for share in (0.0, *shares):
        prefill = round(share * replicas)
        roles: list[Role] = ["prefill" if at < prefill else "decode" for at in range(replicas)] if prefill else []
        _, seen = run(replace(shape_of(replicas, gateways), roles=roles), asked, PREDICTED)
        waits, totals = list(seen.first_token), seen.totals
        rows.append(
            RolesRow(
                replicas,
                prefill,
                len(waits),
                sum(waits) / len(waits),
                percentile(waits, 99),
                totals.gap_percentile(50),
                totals.gap_percentile(99),
                totals.gap_percentile(99.9),
            )
        )
    return rows


def _p99(seen: Observed, start: float, stop: float) -> float:
    waits: Sequence[float] = [wait for at, wait in zip(seen.at, seen.first_token, strict=True) if start <= at < stop]
    return percentile(waits, 99) if waits else 0.0

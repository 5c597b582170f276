"""A simulated replica: a queue of prompts, a batch of answers, and caches, at the costs of a real one.

Between two events the batch does not change, so the time of the next event follows from the costs:

- Prompts are computed one after the other, slowed down by the answers alongside (`prediction.stretch`).
- All answers advance at one pace, which is that of a step with the prompt in it, or of a step without one.
- Replicas that share a core slow each other down (`share_core`).
- Blocks of the common lower tier are loaded one prompt at a time, while others are computed.
"""

import heapq
import itertools
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.fleet_sim.agenda import Agenda
from bench.fleet_sim.block_cache import BlockCache
from bench.fleet_sim.tip_log import TipLog
from engine.fleet.routing.prediction import StepLimits, step_with_prompt, stretch
from engine.fleet.wire.report import ReplicaCost, ReplicaWork, Report, Tips
from engine.scheduling.step_size import AUTO_STEP_SECONDS


@dataclass(slots=True, eq=False)
class SimRequest:
    """A request on its way through the simulation.

    names: of the full blocks of its prompt; names_after: of those of prompt and answer.
    on_start, on_end: called with the first token and at the end.
    left: seconds that its prompt still takes if nothing else is computed.
    reused, loaded: tokens that the replica had, and tokens from the common lower tier.
    is_handed_over: another replica computed the prompt and the first token.
    """

    names: Sequence[int]
    names_after: Sequence[int]
    num_tokens: int
    num_answer: int
    on_start: Callable[[], None]
    on_end: Callable[[], None]
    left: float = 0.0
    tokens_left: int = 0
    pairs: float = 0.0
    reused: int = 0
    loaded: int = 0
    is_cancelled: bool = False
    is_handed_over: bool = False


@dataclass(slots=True)
class Totals:
    """Work of all replicas: tokens computed, loaded and reused, and seconds in which they computed.

    gaps: number of times between two tokens of an answer, by their milliseconds.
    """

    computed: int = 0
    loaded: int = 0
    reused: int = 0
    prompt_tokens: int = 0
    busy_seconds: float = 0.0
    gaps: Counter[int] = field(default_factory=Counter)

    def gap_percentile(self, percent: float) -> float:
        """Return the seconds that `percent` of the times between two tokens do not exceed."""
        left = self.gaps.total() * percent / 100
        for milliseconds in sorted(self.gaps):
            left -= self.gaps[milliseconds]
            if left <= 0:
                return milliseconds / 1e3
        return 0.0


@dataclass(frozen=True, slots=True)
class ReplicaSize:
    """Sizes of a replica.

    device, cpu: blocks that fit on the device and in CPU memory. block: tokens of a block.
    limits: limits of its steps.
    """

    device: int
    cpu: int
    block: int = 64
    limits: StepLimits = field(default_factory=StepLimits)


class SimReplica:
    """One epoch of a replica.

    shared: blocks of the common lower tier; None without one.
    """

    def __init__(
        self, agenda: Agenda, cost: ReplicaCost, size: ReplicaSize, totals: Totals, shared: BlockCache | None
    ) -> None:
        self.cost = cost
        self._agenda = agenda
        self._size = size
        self._totals = totals
        self._shared = shared
        self._tips = (TipLog(), TipLog(), TipLog())
        self._device = BlockCache(size.device, self._tips[0].remove)
        self._cpu = BlockCache(size.cpu, self._tips[1].remove)
        self._prompts: deque[SimRequest] = deque()
        # Each stream by the position of the pace at which it ends.
        self._streams: list[tuple[float, int, SimRequest]] = []
        self._numbers = itertools.count()
        self._pace = 0.0
        self._at = 0.0
        self._plan = 0
        self._link_free_at = 0.0
        self._num_sharing = 1
        self._on_work: Callable[[], None] = lambda: None
        self._num_loading = 0
        self._is_changed = True
        self._parts: defaultdict[int, float] = defaultdict(float)

    @property
    def queue_seconds(self) -> float:
        """Seconds until the prompts that wait here are computed."""
        self._advance()
        return sum(each.left for each in self._prompts) * self._stretch()

    @property
    def num_requests(self) -> int:
        """Number of requests here."""
        return len(self._prompts) + len(self._streams) + self._num_loading

    @property
    def is_busy(self) -> bool:
        """Whether the replica computes anything."""
        return bool(self._streams or (self._prompts and not self._is_full))

    def watch_work(self, on_work: Callable[[], None]) -> None:
        """Set the callback for every change of the batch, after which the replica may be busy or idle."""
        self._on_work = on_work

    def share_core(self, num_busy: int) -> None:
        """Continue with a part of a core, of which `num_busy` replicas have an equal one."""
        if num_busy != self._num_sharing:
            self._advance()
            self._num_sharing = num_busy
            self._schedule()

    def submit(self, request: SimRequest) -> None:
        """Take a request. From now on, the blocks of the prompt count as held: a request that needs them waits too."""
        self._advance()
        if request.is_handed_over:
            self._take_over(request)
            return
        names, size = request.names, self._size.block
        device = self._device.run(names)
        near = max(device, self._cpu.run(names, device))
        start = min(near * size, request.num_tokens - 1)
        far = self._shared.run(names, near) if self._shared is not None else 0
        seconds = self._compute_seconds(start, request.num_tokens)
        load = 0.0
        if far > near and self.cost.load_block:
            stop = min(far * size, request.num_tokens - 1)
            load = self.cost.load_start + (far - near) * self.cost.load_block
            rest = self._compute_seconds(stop, request.num_tokens)
            if load < seconds - rest:
                request.loaded, seconds = stop - start, rest
        request.reused = start
        copied = (near - device) * self.cost.copy
        request.left = seconds + copied
        if not self._prompts:
            # The first prompt of a step joins it after half a step on average. The others share the step.
            request.left += self.cost.step + (self._step_seconds() / 2 if self._streams else 0.0)
        computed = request.num_tokens - start - request.loaded
        request.tokens_left, request.pairs = computed, computed * (2 * request.num_tokens - computed) / 2
        self._count(request, computed)
        self._hold(names, device, near, far)
        if request.loaded:
            self._num_loading += 1
            self._link_free_at = max(self._link_free_at, self._agenda.now) + load
            self._agenda.at(self._link_free_at, lambda: self._end_load(request))
        else:
            self._prompts.append(request)
        self._schedule()
        self._on_work()

    def _take_over(self, request: SimRequest) -> None:
        """Load the blocks of a prompt that another replica has just computed, and then decode.

        The full blocks went down while later ones were computed. Only those of the last step, and the partly filled
        block, are written after the first token.
        """
        names, cost = request.names, self.cost
        near = max(device := self._device.run(names), self._cpu.run(names, device))
        fresh = 1 + min(len(names), math.ceil(AUTO_STEP_SECONDS / (cost.token * self._size.block)))
        store = cost.load_start + fresh * cost.load_block
        load = cost.load_start + (len(names) + 1 - near) * cost.load_block + (near - device) * cost.copy
        self._hold(names, device, near, len(names))
        self._num_loading += 1
        began = self._agenda.now
        self._link_free_at = max(self._link_free_at, began + store) + load

        def decode() -> None:
            self._advance()
            self._num_loading -= 1
            if not request.is_cancelled:
                heapq.heappush(self._streams, (self._pace + request.num_answer - 1, next(self._numbers), request))
                self._totals.gaps[round(1e3 * (self._agenda.now - began + self._step_seconds()))] += 1
            self._schedule()
            self._on_work()

        self._agenda.at(self._link_free_at, decode)

    def _count(self, request: SimRequest, computed: int) -> None:
        self._totals.computed += computed
        self._totals.loaded += request.loaded
        self._totals.reused += request.reused
        self._totals.prompt_tokens += request.num_tokens

    def _hold(self, names: Sequence[int], device: int, cpu: int, shared: int) -> None:
        """Put a chain into all tiers, which held its first blocks before."""
        self._is_changed = True
        self._tips[0].add(names, device)
        self._device.use(names)
        self._tips[1].add(names, min(cpu, self._cpu.run(names)))
        self._cpu.use(names)
        if self._shared is not None:
            self._tips[2].add(names, shared)
            self._shared.use(names[shared:])

    def _end_load(self, request: SimRequest) -> None:
        self._advance()
        self._num_loading -= 1
        if not request.is_cancelled:
            self._prompts.append(request)
        self._schedule()
        self._on_work()

    def cancel_all(self, requests: Sequence[SimRequest]) -> None:
        """Drop requests whose gateway is gone."""
        self._advance()
        gone = set(map(id, requests))
        for request in requests:
            request.is_cancelled = True
        self._prompts = deque(each for each in self._prompts if id(each) not in gone)
        self._streams = [each for each in self._streams if id(each[2]) not in gone]
        heapq.heapify(self._streams)
        self._schedule()

    def _compute_seconds(self, start: int, stop: int) -> float:
        return (stop - start) * (self.cost.token + self.cost.pair * (start + stop) / 2)

    @property
    def _is_full(self) -> bool:
        return len(self._streams) >= self._size.limits.places

    def _stretch(self) -> float:
        return stretch(self.cost, len(self._streams), self._size.limits.target)

    def _step_seconds(self) -> float:
        """Return the seconds of a step of the current batch."""
        alone = self.cost.step + self.cost.decode * len(self._streams)
        if not self._prompts or self._is_full:
            return alone
        return step_with_prompt(self.cost, len(self._streams), self._size.limits.target)

    def _advance(self) -> None:
        """Bring the state up to the current time. Nothing ends before that time."""
        seconds = (self._agenda.now - self._at) / self._num_sharing
        self._at = self._agenda.now
        if seconds <= 0 or not (self._prompts or self._streams):
            return
        self._totals.busy_seconds += seconds
        if self._streams:
            step = self._step_seconds()
            self._pace += seconds / step
            self._count_gaps(step * self._num_sharing, seconds / step)
        if self._prompts and not self._is_full:
            self._prompts[0].left -= seconds / self._stretch()

    def _count_gaps(self, step: float, num_steps: float) -> None:
        """Count a gap of each stream in each step. Parts of a step add up."""
        milliseconds = round(1e3 * step)
        self._parts[milliseconds] += len(self._streams) * num_steps
        whole = int(self._parts[milliseconds])
        self._parts[milliseconds] -= whole
        self._totals.gaps[milliseconds] += whole

    def _schedule(self) -> None:
        """Plan the next event of the batch. Earlier plans are void."""
        self._plan += 1
        times = []
        if self._prompts and not self._is_full:
            times.append(max(0.0, self._prompts[0].left) * self._stretch())
        if self._streams:
            times.append(max(0.0, self._streams[0][0] - self._pace) * self._step_seconds())
        if times:
            plan = self._plan
            self._agenda.at(self._agenda.now + min(times) * self._num_sharing, lambda: self._happen(plan))

    def _happen(self, plan: int) -> None:
        if plan != self._plan:
            return
        self._advance()
        self._is_changed = True
        while self._streams and self._streams[0][0] <= self._pace + 1e-9:
            request = heapq.heappop(self._streams)[2]
            done = len(request.names)
            self._hold(request.names_after, done, done, done)
            request.on_end()
        if self._prompts and self._prompts[0].left <= 1e-9 and not self._is_full:
            request = self._prompts.popleft()
            heapq.heappush(self._streams, (self._pace + request.num_answer - 1, next(self._numbers), request))
            request.on_start()
        self._schedule()
        self._on_work()

    def report(self, epoch: int) -> Report | None:
        """Return what a real replica would report now; None if nothing has changed since the last report."""
        if not (self._is_changed or self._prompts or self._streams):
            return None
        self._is_changed = False
        self._advance()
        tokens, pairs = 0, 0.0
        for at, each in enumerate(self._prompts):
            part = 1.0
            if at == 0 and each.tokens_left:
                whole = self._compute_seconds(each.num_tokens - each.tokens_left, each.num_tokens)
                part = min(1.0, each.left / whole) if whole else 0.0
            tokens, pairs = tokens + round(part * each.tokens_left), pairs + part * each.pairs
        work = ReplicaWork(tokens, pairs, len(self._streams), len(self._prompts), self._num_loading)
        changes = [each.take() if each.has_changed else ([], []) for each in self._tips]
        gained, lost = (Tips(*(change[way] for change in changes)) for way in (0, 1))
        return Report(epoch, 0, work, self.cost, gained=gained, lost=lost)

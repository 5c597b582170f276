"""The scheduler's interface to the tiers below the device."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from cache_tiers.leak_check import LeakCheck
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.transfer import TransferJob, TransferResult
from engine.api.outputs import MissReason
from engine.request.request import Request
from engine.request.scheduler_output import SchedulerOutput


class TierConnector(Protocol):
    """Connection of a scheduler to the tiers below the device, if there are any."""

    @property
    def tiers(self) -> TierManager | None:
        """The tiers below the device; None if the device is the only tier."""

    @property
    def is_quiet(self) -> bool:
        """Whether no load, store or promotion is in flight."""

    @property
    def is_idle(self) -> bool:
        """Whether the connection is quiet, and the tiers neither copy nor erase."""

    @property
    def has_late_copies(self) -> bool:
        """Whether results of copies are outstanding. They come with a later step."""

    @property
    def num_prefetched(self) -> int:
        """Number of blocks prefetched from lower tiers into host memory before a request needed them."""

    def next_poll_seconds(self) -> float | None:
        """Return the seconds until `poll` is worth a call; None if only a new request can change that."""

    # Requests

    def on_arrival(self, request: Request) -> None:
        """Prefetch the queued request's blocks into host memory, and cancel the hints that it fulfils."""

    def forget_waiting(self, request: Request) -> None:
        """Stop the prefetch of a request that finished before its turn."""

    def begin(self, request: Request) -> bool:
        """Start loading the blocks after the request's device prefix. Return False if there is nothing to wait for."""

    def poll(self) -> list[Request]:
        """Return the requests whose load ended. Their tables hold the blocks that arrived, which are published."""

    def abort(self, request: Request) -> None:
        """Cancel the load of a request. The blocks return to the pool once no copy can write to them."""

    def tokens_until_answer(self, request: Request) -> int | None:
        """Return how many tokens a request should compute before its lookup is answered; None means no limit."""

    def take_answered(self) -> list[Request]:
        """Start loads for running requests whose blocks are faster to load than to compute, and return them."""

    def touch(self, request: Request) -> None:
        """Mark the published blocks of `request`, which finishes, as recently used in every tier."""

    def promise(self, name: str, keys: Sequence[BlockKey], terms: PromiseTerms, patience: float) -> None:
        """Have a lower tier keep the blocks of `keys` that are there, or arrive within `patience` seconds.

        Terms of 0 seconds end its promises instead.
        """

    def take_promised(self, name: str) -> Promised | None:
        """Return, once, the result of the promise `name`; None while it is not known."""

    def offer(self, request: Request, indices: Iterable[int]) -> None:
        """Offer to the tiers the blocks of the request's table that have just become full."""

    def num_kept(self, request: Request) -> int:
        """Count the leading blocks that a preempted request can reuse later."""

    def would_lose(self, request: Request) -> bool:
        """Return whether admitting `request` now evicts blocks of its own tenant that could be stored moments later."""

    def miss_reason(self, request: Request) -> MissReason | None:
        """Return why reuse ended where it did at the request's admission; None if nothing was missing."""

    def compute_seconds(self, num_tokens: int) -> float | None:
        """Estimate the time to compute the first `num_tokens` of a prompt; None if unknown."""

    # Prefetch hints

    def add_hint(self, name: str, tenant: str, keys: Sequence[BlockKey], token_ids: Sequence[int]) -> bool:
        """Add the prefetch hint `name`. Return True if there is anything to load."""

    def cancel_hint(self, name: str) -> None:
        """Cancel the prefetch hint `name`. Do nothing if there is none."""

    def promote_hints(self) -> None:
        """Copy hinted blocks from host memory to the device. Call while there is no request."""

    # Steps

    def take_loads(self, seconds: float) -> tuple[TransferJob, ...]:
        """Take the loads of the next step: as many as should be copied within `seconds`."""

    def take_stores(
        self, last_step_tokens: int, *, at_rest: bool, others_wait: bool, prompts: bool, urgent: bool = False
    ) -> tuple[TransferJob, ...]:
        """Take the stores of the next step. Call before the step allocates blocks."""

    def on_computed(self, step: SchedulerOutput, seconds: float) -> None:
        """Record that a forward pass of `step` took `seconds`."""

    def complete(self, step: SchedulerOutput, results: tuple[TransferResult, ...]) -> None:
        """Take the results of copies that came with a step. Some may belong to copies of earlier steps."""

    def fail_step(self, step: SchedulerOutput) -> None:
        """Record that `step` raised. The results of its copies come with later steps."""

    def lose_step(self, step: SchedulerOutput) -> None:
        """Fail the copies of a step whose workers are gone."""

    def lose_device(self) -> None:
        """Cancel all loads, discarding their blocks, and fail late copies: the workers that made them are gone."""

    def erase(self, keys: Sequence[BlockKey]) -> None:
        """Erase the blocks of `keys` from the tiers below."""

    def to_repeat(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """Return those of `keys` that no request used since an erasure that could not be made."""

    def erased(self, keys: Sequence[BlockKey]) -> bool | None:
        """Return True if the last erasure of each block was made, and False if a lower tier could not make it.

        Return None while it is not known.
        """

    def leak_check(self) -> LeakCheck:
        """Check that each pin and each load has an owner, and that each block that waits to be stored will be."""

"""The connection of a scheduler whose only tier is the device."""

from collections.abc import Iterable, Sequence

from cache_tiers.leak_check import LeakCheck
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.transfer import TransferJob, TransferResult
from engine.api.outputs import MissReason
from engine.request.request import Request
from engine.request.scheduler_output import SchedulerOutput


class NoTiers:
    """Connection to no tier: nothing is ever loaded, stored or awaited."""

    tiers = None
    is_quiet = True
    is_idle = True
    has_late_copies = False
    num_prefetched = 0

    def next_poll_seconds(self) -> float | None:
        """Return None."""
        return None

    def on_arrival(self, request: Request) -> None:
        """Do nothing."""

    def forget_waiting(self, request: Request) -> None:
        """Do nothing."""

    def begin(self, request: Request) -> bool:  # noqa: ARG002
        """Return False."""
        return False

    def poll(self) -> list[Request]:
        """Return no request."""
        return []

    def abort(self, request: Request) -> None:
        """Raise AssertionError, since no request is ever loading."""
        raise AssertionError(f"{request.request_id} is loading from no tier")

    def tokens_until_answer(self, request: Request) -> int | None:  # noqa: ARG002
        """Return None."""
        return None

    def take_answered(self) -> list[Request]:
        """Return no request."""
        return []

    def touch(self, request: Request) -> None:
        """Do nothing."""

    def promise(self, name: str, keys: Sequence[BlockKey], terms: PromiseTerms, patience: float) -> None:
        """Do nothing."""

    def take_promised(self, name: str) -> Promised | None:  # noqa: ARG002
        """Return that no tier can keep blocks."""
        return Promised(0, "no_tier")

    def offer(self, request: Request, indices: Iterable[int]) -> None:
        """Do nothing."""

    def num_kept(self, request: Request) -> int:
        """Count the published blocks, which may still be on the device."""
        return request.num_published_blocks

    def would_lose(self, request: Request) -> bool:  # noqa: ARG002
        """Return False."""
        return False

    def miss_reason(self, request: Request) -> MissReason | None:  # noqa: ARG002
        """Return that there is no tier below the device."""
        return MissReason("evicted", "there is no tier below the device", ("device",))

    def compute_seconds(self, num_tokens: int) -> float | None:  # noqa: ARG002
        """Return None, because no time is measured."""
        return None

    def add_hint(
        self,
        name: str,  # noqa: ARG002
        tenant: str,  # noqa: ARG002
        keys: Sequence[BlockKey],  # noqa: ARG002
        token_ids: Sequence[int],  # noqa: ARG002
    ) -> bool:
        """Return False."""
        return False

    def cancel_hint(self, name: str) -> None:
        """Do nothing."""

    def promote_hints(self) -> None:
        """Do nothing."""

    def take_loads(self, seconds: float) -> tuple[TransferJob, ...]:  # noqa: ARG002
        """Return no job."""
        return ()

    def take_stores(
        self,
        last_step_tokens: int,  # noqa: ARG002
        *,
        at_rest: bool,  # noqa: ARG002
        others_wait: bool,  # noqa: ARG002
        prompts: bool,  # noqa: ARG002
        urgent: bool = False,  # noqa: ARG002
    ) -> tuple[TransferJob, ...]:
        """Return no job."""
        return ()

    def on_computed(self, step: SchedulerOutput, seconds: float) -> None:
        """Do nothing."""

    def complete(self, step: SchedulerOutput, results: tuple[TransferResult, ...]) -> None:
        """Do nothing."""

    def fail_step(self, step: SchedulerOutput) -> None:
        """Do nothing."""

    def lose_step(self, step: SchedulerOutput) -> None:
        """Do nothing."""

    def lose_device(self) -> None:
        """Do nothing."""

    def erase(self, keys: Sequence[BlockKey]) -> None:
        """Do nothing."""

    def to_repeat(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """Return all of them."""
        return list(keys)

    def erased(self, keys: Sequence[BlockKey]) -> bool | None:  # noqa: ARG002
        """Return True."""
        return True

    def leak_check(self) -> LeakCheck:
        """Check nothing."""
        return iter(())

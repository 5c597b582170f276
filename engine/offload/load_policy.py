"""Policy of loads: which blocks to load from the lower tiers, by estimated costs, and why blocks are not loaded."""

from collections.abc import Sequence

from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.block_key import BlockKey
from engine.api.outputs import MissReason
from engine.offload.load_choice import ExpectedLoad, LoadChoice, choose
from engine.offload.miss_reason import end_not_worth, end_without_look_up
from engine.offload.prefill_cost import PrefillCost


class LoadPolicy:
    """Comparison of the time to load blocks, as the tiers estimate it, with the time to compute them.

    block_size: tokens per block.
    only_loads: whether prompts are left to other engines. The time to compute blocks then counts as unknown, so that
        they are loaded.
    """

    def __init__(self, tiers: TierManager, prefill: PrefillCost, *, block_size: int, only_loads: bool = False) -> None:
        self._only_loads = only_loads
        self._tiers = tiers
        self._prefill = prefill
        self._block_size = block_size

    def compute_seconds(self, index: int, num_blocks: int) -> float | None:
        """Estimate the time to compute `num_blocks` blocks of a request from block `index` on; None if unknown."""
        if self._only_loads:
            return None
        size = self._block_size
        return self._prefill.seconds(index * size, (index + num_blocks) * size)

    def choose(self, index: int, keys: Sequence[BlockKey], *, known: bool) -> LoadChoice:
        """Choose how to obtain the blocks of `keys`, which begin at block `index` of a request.

        known: whether the lower tiers are known to have all of the blocks.
        """
        return choose(self._expected_load(keys, known=known), self.compute_seconds(index, len(keys)))

    def is_worth_loading(self, index: int, keys: Sequence[BlockKey]) -> bool:
        """Return whether blocks that the lower tiers have should be loaded rather than computed."""
        return self.choose(index, keys, known=True) is LoadChoice.LOAD

    def reason(self, choice: LoadChoice, index: int, keys: Sequence[BlockKey]) -> MissReason:
        """Explain why `choice`, which is not LOAD, ends the reuse of a request before block `index`."""
        gone_from = self._tiers.stores.places_of(keys[0])
        match choice:
            case LoadChoice.NOTHING:
                return end_without_look_up(self._tiers.store.stats().lower.values(), gone_from)
            case LoadChoice.ASK:
                detail = "the prefill began before the lower tiers had answered"
                return MissReason("not_worth_loading", detail, gone_from)
            case _:
                load = self._expected_load(keys, known=True)
                load_seconds = load.load_seconds if load is not None else None
                return end_not_worth(load_seconds, self.compute_seconds(index, len(keys)), gone_from)

    def _expected_load(self, keys: Sequence[BlockKey], *, known: bool) -> ExpectedLoad | None:
        speed = self._tiers.store.link_speed(keys)
        if speed is None:
            return None
        return ExpectedLoad(self._tiers.cost.load_seconds(speed, len(keys), known=known), speed.answer_seconds, known)

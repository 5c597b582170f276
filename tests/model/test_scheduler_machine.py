"""Every answer of random lives of a scheduler equals one computed alone, and nothing leaks."""

from math import inf

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.lives import run_lives
from tests.model.scheduler_life import VOCAB, WEIGHTS, SchedulerLife, no_mask
from tests.sizes import Size


class SchedulerAtRest(SchedulerLife):
    """Random life with idle phases, in which hinted prefixes are promoted to the device, and conversations branch."""

    pool_blocks = 48
    cpu_blocks = 48

    @rule(which=st.integers(0, 3), tenant=st.sampled_from(sorted(WEIGHTS)), cold=st.booleans(), steps=st.integers(0, 8))
    @precondition(lambda self: self.live or self.finished_prompts)
    def foresee_at_rest(self, which: int, tenant: str, cold: bool, steps: int) -> None:
        self.run_down()
        self.go(20)
        if not self.finished_prompts:
            return
        if cold:
            self.store.clear_cpu()
        self.pool.forget_free()
        self.foresee(which, tenant, "z")
        self.go(steps)
        self.schedule()

    @rule(
        prompt=st.lists(st.integers(0, 1), min_size=4, max_size=24),
        cut=st.integers(1, 4),
        others=st.integers(3, 10),
        answers=st.integers(1, 3),
        keep_kv=st.booleans(),
        behind=st.integers(0, 2),
        gone=st.booleans(),
    )
    def branch_at_rest(
        self, prompt: list[int], cut: int, others: int, answers: int, keep_kv: bool, behind: int, gone: bool
    ) -> None:
        """Have a conversation, then continue it in another way, in a step that the worker refuses if it copies a block.

        others: tokens of each of two prompts that take most of the step. behind: steps that begin before the failure is
        known. gone: whether the client of the first answer leaves before.
        """
        self.add(prompt, 2, False, "a", 0, inf, keep_kv=True)
        self.run_down()
        for priority in (0, -1):
            self.add([VOCAB - 1] * others, 1, False, "a", priority, inf, keep_kv=False)
        self.add_answers(answers - 1, [*prompt[:-cut], VOCAB - 1], 3, inf, keep_kv, make_mask=no_mask)
        self.refuse(any_step=False)
        for _ in range(min(behind, self.stages)):
            self.schedule()
        if gone:
            self.abort(2)


@pytest.mark.long
def test_every_answer_equals_one_computed_alone_without_leaks(size: Size) -> None:
    run_lives(SchedulerLife, lives=size.pick(small=30, full=1000), steps=100)


def test_promoted_prefix_holds_kv_that_request_would_compute(size: Size) -> None:
    run_lives(SchedulerAtRest, lives=size.pick(small=20, full=1000), steps=30)

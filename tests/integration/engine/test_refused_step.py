"""A step of the real kernels that is refused before it has moved anything."""

from pathlib import Path

import pytest
import torch

from engine.api.errors import EngineError
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency
from engine.llm import LLM
from engine.worker.batch.input_batch import ScheduledRequest
from engine.worker.cache_engine import StepMoves
from engine.worker.native.native_step import NativeRunner, Started
from tests.integration.engine_rig import BLOCK, converse, engine_config

PARAMS = SamplingParams(temperature=0.0, max_tokens=24, ignore_eos=True)


def answer(llm: LLM, request: GenerateRequest) -> tuple[str, list[str | None]]:
    """Return the text of the answer, and the finish reasons of all requests that end until then."""
    request_id, text, reasons = llm.engine.add_request(request).request_id, "", dict[str, str | None]()
    while request_id not in reasons:
        for output in llm.engine.step():
            text += output.text if output.request_id == request_id else ""
            if output.finished:
                reasons[output.request_id] = output.finish_reason
    return text, list(reasons.values())


def test_branch_in_a_refused_step_of_others_keeps_its_text(
    shallow_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, refused = NativeRunner.start, list[int]()

    def refuse_copies(
        runner: NativeRunner,
        scheduled: list[ScheduledRequest],
        wanted: list[int],
        moves: StepMoves,
        inputs: torch.Tensor | None,
    ) -> Started:
        if moves.copies and not refused:
            refused.append(len(scheduled))
            raise EngineError("out of memory")
        return start(runner, scheduled, wanted, moves, inputs)

    with LLM(engine_config(shallow_model, tmp_path / "state", blocks=64)) as llm:
        history = converse(llm, turns=1, user_tokens=BLOCK, answer_tokens=40)
        branch = [*history[: BLOCK + 30], 2222]
        alone, _ = answer(llm, GenerateRequest(prompt_token_ids=branch, params=PARAMS, keep_kv=False))
        monkeypatch.setattr(NativeRunner, "start", refuse_copies)
        for token, priority in ((3000, 0), (4000, -1)):
            llm.engine.add_request(
                GenerateRequest(prompt_token_ids=[token] * 1600, params=PARAMS, urgency=Urgency(priority))
            )
        while llm.engine.core.scheduler.num_running < 2:
            llm.engine.step()
        text, reasons = answer(llm, GenerateRequest(prompt_token_ids=branch, params=PARAMS))
    assert reasons == ["error", "error", "length"]
    assert text == alone

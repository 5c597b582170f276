"""One pass of a pipeline stage by torch."""

import time
from collections.abc import Callable, Mapping

import torch

from engine.attention.backend import AttentionBackend
from engine.worker.batch.forward_pass import NO_LOGPROBS, ForwardPass, step_logprobs
from engine.worker.batch.input_batch import InputBatch
from engine.worker.batch.stage_exchange import StageExchange
from engine.worker.torch.device import Device
from engine.worker.torch.model_runner import forward
from engine.worker.torch.sampling_head import SamplingHead
from models.interface.causal_lm import CausalLM
from models.interface.parallel import RankGroup


class StageRunner:
    """Model, attention backend and sampler of a worker that has some of the layers.

    A pass ends before the next one begins. While this stage waits, the others compute.
    """

    def __init__(
        self,
        model: CausalLM,
        attention: AttentionBackend,
        device: Device,
        ranks: RankGroup,
        exchange: StageExchange,
    ) -> None:
        """Create a runner. ranks: the processes of this stage. The first one of the last stage samples for all."""
        self._model = model
        self._attention = attention
        self._device = device
        self._exchange = exchange
        self._head = SamplingHead(model, ranks)

    @torch.inference_mode()
    def start(self, batch: InputBatch, num_scheduled_tokens: Mapping[str, int]) -> Callable[[], ForwardPass]:
        """Make a pass and return a function that returns it. See `ModelRunner.start`."""
        exchange = self._exchange
        exchange.begin(batch, num_scheduled_tokens)
        step = batch.build(num_scheduled_tokens)
        expected = batch.expect(step.scheduled)
        inputs = exchange.inputs(len(step.positions))
        started = time.perf_counter()
        try:
            hidden = forward(self._model, step.input_ids if inputs is None else inputs, step, self._attention)
            if not exchange.stage.is_last:
                self._device.synchronize()
                ended = time.perf_counter()
                exchange.pass_on(hidden, expected)
                return lambda: ForwardPass({}, started, ended)
            drawn, logits = self._head.sample(hidden, step)
            tokens: list[int] = drawn.tolist()
            embeddings = self._head.start_sums(hidden, step.scheduled, self._device)()
        except BaseException:
            exchange.fail(expected)
            raise
        sampled = exchange.end(tokens, expected)
        ended = time.perf_counter()
        logprobs = step_logprobs(step.scheduled, tokens, torch.cat(logits)) if logits else NO_LOGPROBS
        return lambda: ForwardPass(sampled, started, ended, logprobs, embeddings)

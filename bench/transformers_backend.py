"""`python -m bench.transformers_backend`: time of a step of the transformers backend against Ebb's own torch decoder.

All arms compute the same random Llama of 24 layers, through the worker, with attention and sampling. They take turns:
the decoder, and the backend with torch's matrices and with native ones. Prints a table and stores nothing. The ratio of
each load with torch's matrices, which the decoder has too, should be at most TARGET. OpenMP's waiting threads sleep, as
in `ebb serve`.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel

from bench.native_step import BLOCK, Arm, Load
from bench.stats import median
from engine.worker.host_resources import usable_cores
from models import registry
from models.interface.causal_lm import CausalLM
from models.interface.parallel import RankGroup
from models.interface.partition import Stage
from models.layers.kinds import LayerKinds
from models.transformers.model import load_network
from models.weights.folder import ModelFolder

TARGET: Final = 1.10
WAIT_POLICY: Final = "OMP_WAIT_POLICY"
LAYERS: Final = 24
SIZES: Final[Mapping[str, Any]] = {
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 32_000,
    "max_position_embeddings": 2048,
}
"""Sizes of the model apart from its layers, about 0.3 billion weights."""


def write_model(folder: Path, layers: int) -> None:
    """Write a random model that both arms can compute."""
    torch.manual_seed(1)
    config = LlamaConfig(**SIZES, num_hidden_layers=layers, tie_word_embeddings=False)
    network: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    network.save_pretrained(folder)


def load_with_transformers(
    path: Path,
    dtype: torch.dtype,
    device: torch.device,
    _layers: LayerKinds,
    _ranks: RankGroup,
    window: int | None,
    /,
    *,
    keep_packed: bool,  # noqa: ARG001
    stage: Stage | None,  # noqa: ARG001
) -> CausalLM:
    """Load the model as one that the shared decoder refuses. See `models.registry.load_model`."""
    return load_network(ModelFolder(path), dtype, device, window)


def loads(context: int) -> tuple[Load, ...]:
    """List the measured loads: one stream, eight streams, and a prompt."""
    decodes = (Load(f"decode {streams}", streams, context, 1) for streams in (1, 8))
    return (*decodes, Load(f"prompt {context}", 1, 0, context))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.transformers_backend", description=__doc__)
    parser.add_argument("--cache-dir", type=Path, default=Path("build/native"), help="folder of the compiled kernels")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--layers", type=int, default=LAYERS)
    arguments = parser.parse_args(argv)
    blocks = 8 * (-(-(arguments.context + 1) // BLOCK))
    with tempfile.TemporaryDirectory(prefix="ebb-bench-") as folder:
        write_model(Path(folder), arguments.layers)
        decoder, plain, native = (
            Arm(Path(folder), kernels, arguments.cache_dir, num_blocks=blocks, load_model=load_model)
            for kernels, load_model in (
                ("torch", registry.load_model),
                ("torch", load_with_transformers),
                ("auto", load_with_transformers),
            )
        )
    print(f"{usable_cores()} threads, {time.strftime('%Y-%m-%d')}, {arguments.layers} layers, ms a step, medians")
    for load in loads(arguments.context):
        rounds = [tuple(arm.step(load) for arm in (decoder, plain, native)) for _ in range(arguments.rounds + 1)][1:]
        base, *others = (median(times) for times in zip(*rounds, strict=True))
        print(f"{load.name:12} decoder {base:8.2f}")
        for index, (name, middle) in enumerate(zip(("torch", "native"), others, strict=True), 1):
            ratio = median([times[index] / times[0] for times in rounds])
            print(f"{load.name:12} backend {middle:8.2f}  {name:6} matrices, ratio {ratio:5.3f}")
    print(f"target with torch's matrices: {TARGET:.2f}")
    return 0


if __name__ == "__main__":
    # torch has loaded OpenMP, which read its environment then. So the program starts once more.
    if WAIT_POLICY not in os.environ:
        os.execve(sys.executable, sys.orig_argv, {**os.environ, WAIT_POLICY: "passive"})
    raise SystemExit(main())

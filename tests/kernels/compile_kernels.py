"""compile_kernels.py JSON: compile kernels for a GPU that need not be here; prints their shared memory.

JSON: the compute capability, shapes of the attention kernel, and vocabularies of the sampler's kernels.
"""

# mypy: disable-error-code="import-not-found,import-untyped"

import json
import sys
from collections.abc import Iterator, Mapping

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from engine.attention.tiles import decode_shape, padded, prompt_shape
from engine.attention.triton_kernels import _attend
from engine.sampling import triton_draws, triton_penalties
from engine.sampling.candidates import CANDIDATES

TYPES = {"tables": "*i32", "tiles": "*i32", "starts": "*i64", "sums": "*fp32", "logs": "*fp32", "scale": "fp32"}
UNALIGNED = ("scale", "num_tiles", "table_width", "width")
ALIGNED = [["tt.divisibility", 16]]
SAMPLER_TYPES = {
    "probs": "*fp32", "ordered": "*fp32", "names": "*i64", "top_k": "*i64", "top_p": "*fp64", "min_p": "*fp32",
    "u": "*fp64", "drawn": "*i64", "is_short": "*i1", "highest": "*fp32", "sums": "*i64", "logits": "*fp32",
    "ids": "*i64", "counts": "*i32", "ends": "*i64", "rows": "*i64", "lines": "*i64", "penalties": "*fp32",
    "chosen": "*i64",
}  # fmt: skip


def compiled(
    capability: int,
    kernel: triton.JITFunction,
    types: Mapping[str, str],
    constants: Mapping[str, object],
    options: Mapping[str, object],
) -> int:
    """Compile a program, and return its bytes of shared memory. `types`: of its arguments, i32 for those left out."""
    names = kernel.arg_names
    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in names}
    attributes = {(at,): ALIGNED for at, name in enumerate(names) if name not in constants and name not in UNALIGNED}
    source = ASTSource(kernel, signature, constexprs=constants, attrs=attributes)
    return int(triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options).metadata.shared)


def of_sampler(capability: int, vocab: int) -> Iterator[tuple[str, int]]:
    """Compile the kernels of the sampler, and yield their names and shared memory."""
    size, parts = min(CANDIDATES, vocab), triton.cdiv(vocab, triton_draws._PART)
    line = {"VOCAB": vocab, "IDS": triton_penalties._IDS}
    candidates = {"SIZE": size, "PADDED": triton.next_power_of_2(size), "BLOCK": triton_draws._WALKED}
    asked = [
        (triton_draws._draw_candidate, {"VOCAB": vocab} | candidates, {"num_warps": 8}),
        (triton_penalties._penalize, line, {"num_warps": 4, "enable_fp_fusion": False}),
        (triton_penalties._count_token, line, {"num_warps": 4}),
    ]
    for min_p in (False, True):
        part = {"VOCAB": vocab, "PART": triton_draws._PART, "MIN_P": min_p}
        padded_parts = {"PARTS": parts, "PADDED": triton.next_power_of_2(parts)}
        asked.append((triton_draws._sum_part, part, {"num_warps": 4}))
        asked.append((triton_draws._draw_in_part, part | padded_parts, {"num_warps": 8}))
    for at, (kernel, constants, options) in enumerate(asked):
        yield f"sampler {vocab} {at}", compiled(capability, kernel, SAMPLER_TYPES, constants, options)


def main(asked: str) -> None:
    capability, shapes, vocabularies = json.loads(asked)
    shared: dict[str, int] = {}
    for dtype, group, dim, block_size, rules in shapes:
        row_bytes = padded(dim) * (4 if dtype == "fp32" else 2)
        precision = "ieee" if dtype == "fp32" else "tf32"
        for kind, make in (("prompt", prompt_shape), ("decode", decode_shape)):
            shape = make(group, row_bytes, block_size)
            for split in (False, True):
                constants = {"GROUP": group, "BLOCK_SIZE": block_size, "K_DIM": dim, "V_DIM": dim, "ROWS": shape.rows}
                constants |= {"K_PADDED": padded(dim), "V_PADDED": padded(dim), "KEYS": shape.keys}
                constants |= {"WINDOW": 0, "CHUNK": 0, "SOFTCAP": 0.0, "SINKS": False} | rules
                constants |= {"SPLIT": split, "PRECISION": precision}
                name = f"{dtype} {group} {dim} {block_size} {rules} {kind} split={split}"
                pointers = TYPES | dict.fromkeys(("q", "keys", "values", "sinks", "out"), f"*{dtype}")
                options = {"num_warps": shape.warps, "num_stages": shape.stages}
                shared[name] = compiled(capability, _attend, pointers, constants, options)
    for vocab in vocabularies:
        shared |= of_sampler(capability, vocab)
    print(json.dumps(shared))


main(sys.argv[1])

"""compile_kernels.py JSON: compile the attention kernel for a GPU that need not be here; prints its shared memory."""

# mypy: disable-error-code="import-not-found,import-untyped"

import json
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from engine.attention.tiles import TileShape, decode_shape, padded, prompt_shape
from engine.attention.triton_kernels import _attend

TYPES = {"tables": "*i32", "tiles": "*i32", "starts": "*i64", "sums": "*fp32", "logs": "*fp32", "scale": "fp32"}
UNALIGNED = ("scale", "num_tiles", "table_width")
ALIGNED = [["tt.divisibility", 16]]


def compiled(capability: int, dtype: str, constants: dict[str, object], shape: TileShape) -> int:
    """Compile a program, and return its bytes of shared memory."""
    pointers = TYPES | dict.fromkeys(("q", "keys", "values", "sinks", "out"), f"*{dtype}")
    names = _attend.arg_names
    signature = {name: "constexpr" if name in constants else pointers.get(name, "i32") for name in names}
    attributes = {(at,): ALIGNED for at, name in enumerate(names) if name not in constants and name not in UNALIGNED}
    source = ASTSource(_attend, signature, constexprs=constants, attrs=attributes)
    options = {"num_warps": shape.warps, "num_stages": shape.stages}
    return int(triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options).metadata.shared)


def main(asked: str) -> None:
    capability, shapes = json.loads(asked)
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
                shared[name] = compiled(capability, dtype, constants, shape)
    print(json.dumps(shared))


main(sys.argv[1])

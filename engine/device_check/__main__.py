"""`python -m engine.device_check`: print how far a device's logits are from the expected ones. For `check.py`."""

import argparse
import json
import sys
from pathlib import Path

import torch

from engine.api.errors import EngineError
from engine.device_check.comparison import logits_distance
from engine.worker.torch.devices import open_device
from models.errors import ModelError


def main() -> int:
    """Compare, and print a JSON object. Return 1 with the reason as the last line of stderr if that is impossible."""
    parser = argparse.ArgumentParser(prog="python -m engine.device_check", description=__doc__)
    parser.add_argument("folder", type=Path)
    for name in ("device", "dtype", "attention"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--block-size", type=int, required=True)
    asked = parser.parse_args()
    try:
        distance = logits_distance(
            asked.folder,
            open_device(asked.device),
            getattr(torch, asked.dtype),
            attention=asked.attention,
            block_size=asked.block_size,
        )
    except (EngineError, ModelError, RuntimeError) as error:
        print(str(error).partition("\n")[0], file=sys.stderr)
        return 1
    print(json.dumps({"distance": distance}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

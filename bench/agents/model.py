"""The model of the conversations: long window, random weights, and answers that end by themselves.

An agent treats an answer that a limit cut as a failure: it asks again, or drops the answer. One in `MEAN_ANSWER` ids
therefore ends an answer. A random model draws nearly uniformly, so answers have about that many tokens.
"""

import json
from pathlib import Path
from typing import Final

from bench.long_window_model import write_long_window_model

MODEL_NAME: Final = "agents"
MEAN_ANSWER: Final = 128


def write_model(source: Path, root: Path) -> Path:
    """Write the model into a new folder in `root` and return that folder.

    source: the default model's folder, from which the tokenizer comes.
    """
    target = root / MODEL_NAME
    write_long_window_model(source, target)
    generation = json.loads((source / "generation_config.json").read_text(encoding="utf-8"))
    vocabulary = json.loads((source / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    generation["eos_token_id"] = [generation["eos_token_id"], *range(MEAN_ANSWER, vocabulary, MEAN_ANSWER)]
    (target / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
    return target

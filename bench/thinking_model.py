"""The default model made to think aloud, for want of a small one that does: another tokenizer and template.

The prompt begins the thought, as DeepSeek's templates do. Two of the model's tokens get the names of the marks: the one
for "Here", behind which it goes on as it would have, and the one for " The", with which some later sentence of most of
its answers begins. What comes before that sentence is the thought.
"""

import json
from pathlib import Path
from typing import Any, Final

MARKS: Final = {"Here": "<think>", "ĠThe": "</think>"}
"""By the tokens that they stand for."""
TEMPLATE_END: Final = "{{ '<|im_start|>assistant\n' }}"


def write_thinking_model(source: Path, target: Path) -> Path:
    """Make the folder `target` of the default model's folder `source`; returns it."""
    target.mkdir()
    for file in source.iterdir():
        if file.name not in ("tokenizer.json", "tokenizer_config.json"):
            (target / file.name).symlink_to(file)
    spec = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    _write(target / "tokenizer.json", with_thoughts(spec))
    config = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    template: str = config["chat_template"]
    assert TEMPLATE_END in template
    begun = TEMPLATE_END.replace("assistant\n", "assistant\n<think>")
    _write(target / "tokenizer_config.json", config | {"chat_template": template.replace(TEMPLATE_END, begun)})
    return target


def with_thoughts(spec: dict[str, Any]) -> dict[str, Any]:
    """The value of tokenizer.json, with <think> and </think>."""
    vocabulary: dict[str, int] = spec["model"]["vocab"]
    plain = {"special": True, "normalized": False, "single_word": False, "lstrip": False, "rstrip": False}
    marks = [{"id": vocabulary[token], "content": mark, **plain} for token, mark in MARKS.items()]
    model = {
        **spec["model"],
        "vocab": {MARKS.get(token, token): id_ for token, id_ in vocabulary.items()},
        # What somebody writes stays text, in smaller pieces.
        "merges": [pair for pair in spec["model"]["merges"] if not MARKS.keys() & {*pair, "".join(pair)}],
    }
    return {**spec, "model": model, "added_tokens": [*spec["added_tokens"], *marks]}


def _write(file: Path, value: dict[str, Any]) -> None:
    file.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")

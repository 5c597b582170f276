"""Reasoning variant of the default model, for lack of a small reasoning model: another tokenizer and template.

The prompt begins the reasoning, as DeepSeek's templates do. Two of the model's tokens are renamed to the marks. After
the token for "Here", the model continues as it would have without the change. The token for " The" begins some later
sentence of most of its answers, and the text before that sentence is the reasoning.
"""

import json
from pathlib import Path
from typing import Any, Final

MARKS: Final = {"Here": "<think>", "ĠThe": "</think>"}
"""Marks by the tokens that they replace."""
TEMPLATE_END: Final = "{{ '<|im_start|>assistant\n' }}"


def write_thinking_model(source: Path, target: Path) -> Path:
    """Create the model's folder `target` from the default model's folder `source`. Return `target`."""
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
    """Return the value of tokenizer.json with <think> and </think> added."""
    vocabulary: dict[str, int] = spec["model"]["vocab"]
    plain = {"special": True, "normalized": False, "single_word": False, "lstrip": False, "rstrip": False}
    marks = [{"id": vocabulary[token], "content": mark, **plain} for token, mark in MARKS.items()]
    model = {
        **spec["model"],
        "vocab": {MARKS.get(token, token): id_ for token, id_ in vocabulary.items()},
        # Marks in a user's text stay text, in smaller pieces.
        "merges": [pair for pair in spec["model"]["merges"] if not MARKS.keys() & {*pair, "".join(pair)}],
    }
    return {**spec, "model": model, "added_tokens": [*spec["added_tokens"], *marks]}


def _write(file: Path, value: dict[str, Any]) -> None:
    file.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")

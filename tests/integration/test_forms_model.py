"""Answers of the real model to schemas of many kinds: whole ones validate, others are beginnings of such."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from engine.grammar.form import AnswerForm
from engine.llm import LLM
from engine.outputs import FinishReason
from engine.sampling_params import SamplingParams
from models.pangu.chat_format import Message
from tests.integration.engine_rig import engine_config
from tests.integration.schema_zoo import schemas
from tests.sizes import Size
from tests.waiting import until

QUESTION = "Give me an example of this as JSON, a short one please."


@pytest.fixture
def llm(model_path: Path, tmp_path: Path) -> Any:
    with LLM(engine_config(model_path, tmp_path / "state", blocks=64, cpu_memory=0, redis_url="off")) as made:
        yield made

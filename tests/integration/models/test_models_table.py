"""The table of families in docs/reference/models.md, compared cell by cell with the code and with the tests."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from transformers import CONFIG_MAPPING, AutoConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from engine.cpu.weights import unsupported_reason
from models.chat.call_syntax.registry import recognized
from models.registry import ARCHITECTURES, read_config
from models.thinking import GEMMA_START, MARKERS
from models.transformers.tested import TESTED
from models.weights.block_types import BLOCK_TYPES
from tests.family_chats import CHATS, FamilyChat
from tests.family_models import FAMILIES, SHAPE
from tests.gguf_families import FAMILIES as GGUF_FAMILIES
from tests.gguf_families import WIDE_FAMILIES
from tests.integration.engine.worker.native import test_exact, test_gguf_blocks, test_logits, test_tiers
from tests.integration.models import test_families
from tests.integration.models.transformers import test_loading
from tests.style_rules import ROOT

PANGU = "PanguEmbedded"
NAMED_AS = {**MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, PANGU: "PanguEmbeddedForCausalLM"}
"""First name in `architectures` of config.json, by model type."""
GGUF_TYPES = {family.kind for family in GGUF_FAMILIES.values()}
BLOCK_FILES = {WIDE_FAMILIES[name].kind for name, _ in test_gguf_blocks.FILES}
"""Types of models that are computed in the blocks of their files."""
NATIVE_TESTS = "tests/integration/engine/worker/native"
PAGE = (ROOT / "docs/reference/models.md").read_text()


def read_table() -> Iterator[dict[str, str]]:
    lines = iter(PAGE.splitlines())
    columns: list[str] = next(cells(line) for line in lines if line.startswith("| family |"))
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        yield dict(zip(columns, cells(line), strict=True))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


TABLE = list(read_table())
each_row = pytest.mark.parametrize("row", TABLE, ids=[row["family"].partition(" `")[0] for row in TABLE])


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def types_of(row: dict[str, str]) -> set[str]:
    """Return the model types of a row. "The list below" stands for the tested types that no row names."""
    others = (
        TESTED - {name for each in TABLE for name in codes(each["family"])} if "list below" in row["family"] else ()
    )
    return {*codes(row["family"]), *others}


def parameters_of(test: Callable[..., None], name: str) -> list[Any]:
    """Return the values over which `test` is run under the parameter `name`."""
    for mark in test.pytestmark:  # type: ignore[attr-defined]
        names = [mark.args[0]] if mark.args and isinstance(mark.args[0], str) else list(*mark.args[:1])
        if name in names:
            return [_value(each, names.index(name), len(names)) for each in mark.args[1]]
    raise LookupError(name)


def _value(parameters: Any, at: int, count: int) -> Any:
    if isinstance(parameters, pytest.ParameterSet):
        return parameters.values[at]
    return parameters if count == 1 else parameters[at]


def family_types(test: Callable[..., None]) -> set[str]:
    return {FAMILIES[name][0] for name in parameters_of(test, "name")}


def tiny_types(weights: str) -> set[str]:
    """Return the types of the tiny models whose exactness is tested with a format of weights."""
    test = test_exact.test_logits_of_a_tiny_model_are_batch_invariant
    shapes = [shape for shape, format_ in parameters_of(test, "tiny") if format_ == weights]
    return {PANGU if "Pangu" in shape.get("architecture", "") else "llama" for shape in shapes}


def exact_types() -> set[str]:
    """Return the types that are exact in any batch, and on the way through the tiers."""
    batches = family_types(test_exact.test_logits_of_every_family_are_batch_invariant)
    long_prompts = family_types(test_exact.test_long_prompts_of_families_are_batch_invariant)
    tiers = family_types(test_tiers.test_logits_of_a_family_are_exact_in_every_way)
    return (batches & long_prompts & tiers) | tiny_types("bfloat16")


def refused_types() -> set[str]:
    refused = parameters_of(test_loading.test_network_that_cannot_be_served_is_refused, "changes")
    return {changes["model_type"] for changes in refused if "quantization_config" not in changes}


def has_native_step(model_type: str) -> bool:
    """Return whether the decoder reads every test model of a type, and the kernels compute each of them."""
    if NAMED_AS.get(model_type) not in ARCHITECTURES:
        return False
    shapes = [SHAPE | changes for kind, changes in FAMILIES.values() if kind == model_type] or [SHAPE]
    raws = [shape if model_type == PANGU else AutoConfig.for_model(model_type, **shape).to_dict() for shape in shapes]
    return not any(unsupported_reason(read_config({**raw, "architectures": [NAMED_AS[model_type]]})) for raw in raws)


def test_table_has_one_row_for_each_architecture() -> None:
    named = [name for row in TABLE for name in codes(row["family"])]
    assert len(named) == len(set(named))
    assert set().union(*map(types_of, TABLE)) >= TESTED
    native = {NAMED_AS[name] for row in TABLE if row["native"] == "yes" for name in types_of(row)}
    assert native == {name for name in ARCHITECTURES if name.endswith("ForCausalLM")}


@each_row
def test_native_step_is_that_of_the_code(row: dict[str, str]) -> None:
    assert {has_native_step(name) for name in types_of(row)} == {row["native"] == "yes"}
    assert row["native"] in ("yes", "no")


@each_row
def test_backend_computes_or_refuses_the_types(row: dict[str, str]) -> None:
    known = {"yes": TESTED, "refused": refused_types(), "no": types_of(row) - set(CONFIG_MAPPING)}
    assert types_of(row) <= known[row["transformers backend"]]


@each_row
def test_formats_are_those_that_tests_run(row: dict[str, str]) -> None:
    types = types_of(row)
    if row["transformers backend"] == "refused":
        assert row["formats"] == ""
    elif row["native"] == "no":
        assert row["formats"] == "float32, bf16", "the sweep computes in both"
    else:
        quantized = family_types(test_exact.test_logits_of_quantized_families_are_batch_invariant)
        assert types <= quantized | (tiny_types("int8") & tiny_types("int4"))
        assert types <= exact_types()
        expected = ["bf16", "int8", "int4"] + ["GGUF"] * (types <= GGUF_TYPES)
        assert row["formats"].split(", ") == expected
        assert types <= GGUF_TYPES or not types & GGUF_TYPES, "a row is read from GGUF as a whole"
        assert types & GGUF_TYPES == types & BLOCK_FILES


@each_row
def test_tools_and_thinking_are_found_in_the_templates(row: dict[str, str]) -> None:
    cell = row["tools, thinking"]
    if row["transformers backend"] == "refused":
        assert cell == ""
        return
    chats = [CHATS.get(name, FamilyChat()) for name in types_of(row)]
    names = {recognized(template, dict.fromkeys(chat.tokens, 1)) for chat in chats for template in chat.templates}
    marks = {start for chat in chats for start, end in MARKERS if {start, end} <= {*chat.tokens}}
    assert ("channels" in cell) == bool("harmony" in names or GEMMA_START in marks)
    assert set(codes(cell)) == (names | marks) - {None, GEMMA_START}
    assert ("by Ebb" in cell.replace("tools by Ebb", "")) == (None in names)


@each_row
def test_exact_families_are_those_of_the_exactness_tests(row: dict[str, str]) -> None:
    assert row["exact"] in ("yes", "no", "")
    assert (row["exact"] == "") == (row["transformers backend"] == "refused")
    assert (row["exact"] == "yes") == (types_of(row) <= exact_types())
    assert (row["exact"] == "yes") == (row["native"] == "yes")


@each_row
def test_named_tests_are_run_over_the_types(row: dict[str, str]) -> None:
    tested, types = codes(row["tested by"]), types_of(row)
    assert tested
    assert all((ROOT / path).exists() for path in tested)
    native = family_types(test_logits.test_logits_of_families_are_closer_than_torch_bfloat16) | {PANGU}
    assert (NATIVE_TESTS in tested) == (types <= native)
    assert ("tests/integration/models/test_families.py" in tested) == (
        types <= family_types(test_families.test_logits_match_transformers)
    )
    assert ("tests/sweep" in tested) == (types <= TESTED)


def test_block_types_of_gguf_files_are_listed() -> None:
    sentence = re.search(r"blocks of the types ([^.]*?), which", PAGE.replace("\n ", ""))
    assert sentence is not None
    assert re.findall(r"\w*Q\w+", sentence[1]) == list(BLOCK_TYPES)

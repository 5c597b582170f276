"""Every architecture that docs/models.md lists as tested."""

import pytest

from models.transformers.tested import TESTED
from tests.tiny_architectures import tiny_config, tiny_network
from tests.transformers_agreement import assert_equals_transformers_alone


@pytest.mark.parametrize("model_type", sorted(TESTED))
def test_logits_equal_those_of_transformers_alone(model_type: str) -> None:
    assert_equals_transformers_alone(tiny_network(tiny_config(model_type)))

"""Formulas of shared chats as MathML that browsers draw."""

import pytest

from app.conversations.shared_math import mathml


@pytest.mark.parametrize(
    ("space", "width"),
    [
        (r"\,", "0.167em"),
        (r"\thinspace ", "0.167em"),
        (r"\thickspace ", "0.278em"),
        (r"\quad ", "1em"),
        (r"\!", "-0.167em"),
        (r"\negmedspace ", "-0.222em"),
    ],
)
def test_every_space_has_a_width_that_browsers_know(space: str, width: str) -> None:
    assert f'<mi>a</mi><mspace width="{width}"></mspace><mi>b</mi>' in (mathml(f"a{space}b", display=False) or "")

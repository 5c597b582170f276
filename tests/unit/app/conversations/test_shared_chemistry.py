r"""Chemistry on shared pages: formulas of `\ce{…}` that become TeX, and others that stay as they are."""

import pytest

from app.conversations.shared_chemistry import with_chemistry
from app.conversations.shared_math import mathml


@pytest.mark.parametrize(
    ("formula", "tex"),
    [
        ("2H2 + O2 -> 2H2O", r"2\,\text{H}_{2}+\text{O}_{2}\rightarrow 2\,\text{H}_{2}\text{O}"),
        ("SO4^2-", r"\text{S}\text{O}_{4}^{2-}"),
        ("NH4+", r"\text{N}\text{H}_{4}^{+}"),
        (
            "Fe^{3+} + 3OH- -> Fe(OH)3 v",
            r"\text{Fe}^{3+}+3\,\text{O}\text{H}^{-}\rightarrow \text{Fe}(\text{O}\text{H})_{3}\downarrow ",
        ),
        (
            "CaCO3 ->[heat] CO2 ^",
            r"\text{Ca}\text{C}\text{O}_{3}\overset{\text{heat}}{\rightarrow}\text{C}\text{O}_{2}\uparrow ",
        ),
        ("CuSO4*5H2O", r"\text{Cu}\text{S}\text{O}_{4}\cdot 5\,\text{H}_{2}\text{O}"),
        ("NaCl(aq) <=> Na", r"\text{Na}\text{Cl}(\text{aq})\rightleftharpoons \text{Na}"),
    ],
)
def test_formula_is_written_with_ordinary_commands(formula: str, tex: str) -> None:
    assert with_chemistry(f"x = \\ce{{{formula}}}") == f"x = {{{tex}}}"
    shown = mathml(f"\\ce{{{formula}}}", display=False)
    assert shown is not None
    assert "\\ce" not in shown


@pytest.mark.parametrize("tex", [r"\ce{$x$}", r"\ce{{a}", r"\ce{H2" + r"\ce{" * 900, r"\frac{1}{2}"])
def test_what_cannot_be_read_stays(tex: str) -> None:
    assert with_chemistry(tex) == tex

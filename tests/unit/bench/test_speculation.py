from app.load.answer import Answer, TokenUsage
from bench.speculation import ARMS, Load, Measured, Row, copied_share, loads, table


def test_copied_share_is_part_of_answer_found_in_prompt() -> None:
    prompt = "Repeat this: one two three four five six"
    assert copied_share(prompt, "one two three four five six") == 1
    assert copied_share(prompt, "one two three four and then some more") == 1 / 5
    assert copied_share(prompt, "too short") == 0


def measured(seconds: float, text: str = "a b") -> Measured:
    return Measured((Answer(text, "stop", 0.0, seconds, (), TokenUsage(5, 100, None, None)),), seconds)


def row(least: float, *rounds: tuple[float, float], text: str = "a b") -> Row:
    load = Load("copy", 1, least, loads(8, 8)[0].requests[:1])
    names = [arm.name for arm in ARMS]
    half = [dict(zip(names, (measured(one, text), measured(two)), strict=True)) for one, two in rounds]
    other = [dict(zip(names, (measured(2 * one, text), measured(two)), strict=True)) for one, two in rounds]
    return Row.of(load, [half, other])


def test_row_averages_medians_of_halves_and_requires_same_text() -> None:
    found = row(1.5, (1.0, 2.0), (2.0, 4.4), (1.0, 9.0))
    assert round(found.ratio**2, 9) == round(2.2 * 1.1, 9)
    assert found.met
    assert "| met | 100% |" in table([found])
    assert not row(2.5, (1.0, 2.0), (2.0, 4.4), (1.0, 9.0)).met
    assert "| missed | 0% |" in table([row(1.8, (1.0, 2.0), text="other")])

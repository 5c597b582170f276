"""The replays of the benchmark of phrases: their requests, and the figures of their rounds."""

from bench.phrase_replay import FORMS, ReplayRow, _row, replays, table


def test_half_of_one_replay_are_forms_and_no_request_comes_twice() -> None:
    mixed, plain = replays(200, 100)
    texts = [[messages[0]["content"] for messages, _ in replay.requests] for replay in (mixed, plain)]
    assert [len(set(each)) for each in texts] == [200, 200]
    openings = tuple(form.split("{")[0] for form in FORMS)
    assert [sum(text.startswith(openings) for text in each) for each in texts] == [100, 0]
    assert [how.temperature for _, how in mixed.requests[:4]] == [0.0, 0.8, 0.0, 0.8]


def row(together: float, text: str = "a") -> ReplayRow:
    (replay, _) = replays(2, 8)
    rounds = [{"apart": (10.0, ["a", "b"]), "together": (speed, [text, "b"])} for speed in (together, 2 * together)]
    return _row(replay, rounds)


def test_replay_needs_its_ratio_and_the_same_texts() -> None:
    found = row(12.0)
    assert (round(found.ratio, 9), found.lowest, found.highest, found.met) == (1.8, 1.2, 2.4, True)
    assert "| met | 100% |" in table([found])
    assert not row(9.0).met
    assert "| missed | 50% |" in table([row(12.0, text="other")])

from bench.warm import ARMS, Arm, Turn, rows_of, table, targets_of


def turn(arm: Arm, ttft_ms: float, *, device: int = 0, cpu: int = 0, redis: int = 0) -> Turn:
    return Turn(arm, ttft_ms, 100, device, cpu, redis, 100 - device - cpu - redis)


def turns(warmed_ms: float) -> list[Turn]:
    return [
        turn("device", 10.0, device=90),
        turn("CPU memory", 20.0, cpu=90),
        turn("Redis", 50.0, redis=90),
        turn("Redis, warmed", warmed_ms, device=90),
    ]


def test_warmed_chat_is_compared_with_chat_on_device() -> None:
    assert [target.met for target in targets_of(rows_of(turns(10.9)))] == [True, True, True]
    assert [target.met for target in targets_of(rows_of(turns(11.1)))] == [False, True, True]
    assert [target.met for target in targets_of(rows_of(turns(50.1)))] == [False, False, True]


def test_turn_with_history_in_other_tier_misses_target() -> None:
    late = turn("Redis, warmed", 10.0, device=60, cpu=30)
    rows = rows_of([*turns(10.0), late])
    assert [row.as_meant for row in rows] == [1, 1, 1, 0.5]
    assert not targets_of(rows)[-1].met
    computed = turn("Redis", 60.0)
    assert computed.is_as_meant, "the engine may find computing cheaper"


def test_table_has_row_for_each_arm() -> None:
    rows = rows_of(turns(20.0))
    lines = table(rows, targets_of(rows)).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:6]] == list(ARMS)

"""Answers of an earlier process that the engine is given: known to drafts, and forgotten with their blocks."""

from pathlib import Path

from engine.api.stored_tokens import AnsweredText, Trail
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import build_real_engine

TEXT = AnsweredText(range(100, 300), [(10, 60), (90, 200)])


async def test_recalled_answers_are_drafted_until_they_are_erased(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off").with_fields(prompt_lookup=True)
    engine = await build_real_engine(config)
    await engine.start()
    try:
        await engine.prefixes.recall(TEXT, tenant="alice")
        phrases = engine._engine.core.scheduler._phrases
        assert phrases is not None
        assert phrases.of("bob") is None
        known = phrases.of("alice")
        assert known is not None
        found = known.find(range(230, 238))
        assert found is not None
        assert known.after(found.place, 3) == (238, 239, 240)
        assert known.find(range(165, 173)) is None, "a question"
        assert await engine.erase(await engine.keys_of_trails([Trail(TEXT.token_ids, ends=(59, 199))], tenant="alice"))
        assert phrases.of("alice") is None
    finally:
        await engine.stop(0)

"""Check of a draft model before any weights are read."""

from engine.api.errors import EngineError
from engine.config import EngineConfig
from models.tokenizers.vocabulary import have_same_vocabulary


def check_draft_model(config: EngineConfig) -> None:
    """Raise EngineError if the draft model cannot serve the model. Errors of the tokenizers propagate."""
    folder = config.speculation.draft_model
    if folder is None:
        return
    if not config.speculation.prompt_lookup:
        raise EngineError("--draft-model drafts nothing with --no-speculation. Omit one of the two.")
    if config.parallel.num_processes > 1:
        raise EngineError(
            "--draft-model is not possible with --tensor-parallel-size or --pipeline-parallel-size: the draft model "
            "and the model are in one process. Omit --draft-model, or compute the model in one process."
        )
    if not have_same_vocabulary(folder, config.model.path):
        raise EngineError(
            f"--draft-model {folder.name} has another vocabulary than {config.model.name}, so its guesses would be "
            "other words. Choose a smaller model of the same family."
        )

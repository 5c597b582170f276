"""Check of the draft model."""

from app.config.settings import Settings
from app.doctor.finding import Finding
from models.download.resolve import check_name, find_model
from models.errors import ModelError
from models.tokenizers.vocabulary import have_same_vocabulary


def check_draft_model(settings: Settings) -> Finding:
    """Check whether the draft model is on this machine, and has the vocabulary of the model."""
    name = settings.draft_model
    if not name:
        return Finding("ok", "drafts", "from texts; --draft-model adds those of a model")
    draft, model = find_model(name, settings.cache_dir), find_model(settings.model, settings.cache_dir)
    try:
        check_name(name)
        if draft is None:
            return Finding("warn", "drafts", f"{name} is not on this machine yet", f"run `ebb pull {name}`")
        if model is not None and not have_same_vocabulary(draft, model):
            advice = "choose a smaller model of the same family, or omit --draft-model"
            return Finding("fail", "drafts", f"{name} has another vocabulary than {settings.model}", advice)
    except ModelError as error:
        return Finding("fail", "drafts", str(error), "choose another --draft-model, or omit the option")
    return Finding("ok", "drafts", f"from texts, and by {name} in {draft}")

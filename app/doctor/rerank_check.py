"""The finding of `ebb doctor` on embeddings and on the ranking of documents."""

from app.config.settings import Settings
from app.doctor.finding import Finding
from models.download.resolve import find_model
from models.errors import ModelError
from models.retrieval.folder import read_retrieval
from models.tokenizers.text_tokenizer import load_tokenizer
from models.weights.folder import ModelFolder


def check_rerank(settings: Settings) -> Finding:
    """Check how the model ranks documents, and to which sizes its embeddings may be shortened."""
    path = find_model(settings.model, settings.cache_dir)
    if path is None:
        return Finding("ok", "rerank", "depends on the model, which is not ready yet")
    try:
        uses = read_retrieval(ModelFolder(path), load_tokenizer(path), settings.rerank_words)
    except ModelError as error:
        if settings.rerank_words:
            return Finding("fail", "rerank", str(error), "choose other --rerank-words, or omit the option")
        return Finding("warn", "rerank", str(error), "choose another --model, or run `ebb pull` again")
    if uses.refusal:
        return Finding("warn", "rerank", f"no: {uses.refusal}", "choose another --model for rerank requests")
    way = "no: the model's folder names neither a head for scores nor a pooling"
    if uses.head is not None:
        way = "by the model's judgement of each document"
    elif uses.has_embeddings:
        way = "by the cosine of embeddings"
    sizes = ", ".join(map(str, uses.dimensions))
    return Finding("ok", "rerank", way + (f"; embeddings may have {sizes} values" if sizes else ""))

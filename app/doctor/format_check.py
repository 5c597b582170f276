"""The finding of `ebb doctor` on the formats of tool calls and reasoning."""

from app.config.settings import Settings
from app.doctor.finding import Finding
from models.chat.call_syntax.registry import AUTO
from models.chat.format import ChatFormat, Message
from models.download.resolve import find_model
from models.encoder.config import is_encoder
from models.errors import ModelError
from models.tokenizers.text_tokenizer import load_tokenizer
from models.weights.folder import ModelFolder


def check_formats(settings: Settings) -> Finding:
    """Check which formats of tool calls and reasoning the chat template shows, and that it writes a question."""
    folder = find_model(settings.model, settings.cache_dir)
    if folder is None:
        return Finding("ok", "formats", "depend on the model, which is not ready yet")
    if is_encoder(ModelFolder(folder).config()):
        return Finding("ok", "formats", "none: the model is an encoder, which embeds and ranks texts")
    name = None if settings.tool_format == AUTO else settings.tool_format
    try:
        chat = ChatFormat.load(folder, load_tokenizer(folder), name)
        chat.render([Message("user", "Hello")])
    except ModelError as error:
        return Finding("warn", "formats", str(error), "choose another --model, or run `ebb pull` again")
    modes = "none" if chat.thinking is None else ", ".join(chat.thinking.modes)
    parts = chat.tools.template
    written = [word for word, by_template in (("tools", parts.tools), ("calls", parts.calls)) if not by_template]
    by_ebb = f"; Ebb writes the {' and '.join(written)} into the prompt" if written else ""
    text = f"tool calls: {chat.tools.name}{by_ebb}; reasoning: {modes}"
    if not chat.tools.is_foreign:
        return Finding("ok", "formats", text)
    advice = "if it is one of docs/reference/models.md, name it with --tool-format"
    return Finding("warn", "formats", f"the chat template writes tools in an unknown format; {text}", advice)

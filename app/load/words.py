"""Plain English words for made-up prompts: with its leading space, each is one token of most vocabularies."""

import random

_WORD_LIST = """
river lake stone light water morning evening winter summer garden window table letter paper story music color
mountain valley forest island harbor market street bridge tower castle village city country road journey train
ship boat sailor captain farmer teacher doctor student child mother father sister brother friend stranger king
queen soldier artist writer reader book page word sentence question answer reason idea dream memory moment hour
minute day week month year season weather rain snow wind storm cloud sun moon star sky earth sea ocean wave
shore sand rock hill field grass tree leaf root branch flower seed fruit bread milk honey salt sugar coffee tea
wine glass cup plate knife spoon fire smoke lamp candle mirror door wall floor roof room house home kitchen
corner chair bed clock key lock box bag coat hat shoe ring coin gold silver iron wood wool silk cotton thread
needle wheel engine machine tool hammer nail rope chain net horse dog cat bird fish bear wolf fox deer sheep
goat cow duck bee spider snake frog walks runs wakes speaks listens waits works plays sings writes reads learns
teaches builds breaks opens closes carries brings takes gives finds loses keeps sells buys counts measures draws
paints remembers quiet loud bright dark warm cold young old small large early late near far slow quick simple
strange gentle heavy empty full round flat deep high open certain common
"""
WORDS = tuple(_WORD_LIST.split())


def plain_words(count: int, seed: str) -> list[str]:
    """Choose words without capitals or full stops: after other text, each is one token of the default model."""
    return random.Random(seed).choices(WORDS, k=count)

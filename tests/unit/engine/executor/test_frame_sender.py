"""Frames to processes that read, that have stopped reading, and that are gone."""

from multiprocessing import Pipe

from engine.executor.frame_sender import FrameSender

LARGER_THAN_A_PIPE = b"x" * (8 << 20)


def test_frames_arrive_in_order_at_every_pipe() -> None:
    (mine, theirs), (my_other, their_other) = Pipe(), Pipe()
    sender = FrameSender([mine, my_other])
    for number in range(5):
        sender.send(bytes([number]))
    for pipe in (theirs, their_other):
        assert [pipe.recv_bytes() for _ in range(5)] == [bytes([number]) for number in range(5)]
    sender.close()


def test_reader_that_stopped_does_not_block_send() -> None:
    mine, theirs = Pipe()
    sender = FrameSender([mine])
    for _ in range(3):
        sender.send(LARGER_THAN_A_PIPE)
    # The process ends. Only now can the thread end too.
    theirs.close()
    sender.close()
    mine.close()

"""Handlers of signals that other code replaces for a moment."""

import ctypes
import signal
from threading import Thread

from engine.fleet.placement.deferred_signals import kept_handlers


def test_handler_is_back_although_a_library_replaced_it() -> None:
    caught: list[int] = []
    former = signal.signal(signal.SIGUSR1, lambda number, _: caught.append(number))

    def replace() -> None:
        with kept_handlers(signal.SIGUSR1):
            ctypes.CDLL(None).signal(int(signal.SIGUSR1), ctypes.c_void_p(int(signal.SIG_IGN)))
            signal.raise_signal(signal.SIGUSR1)

    thread = Thread(target=replace)
    thread.start()
    thread.join()
    assert caught == []
    signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, former)
    assert caught == [signal.SIGUSR1]

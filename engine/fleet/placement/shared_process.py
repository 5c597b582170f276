"""Process of a replica that several gateways share: `python -P -m engine.fleet.placement.shared_process HOST`.

A ReplicaOrder is on the standard input. The process listens on the address HOST, and writes its SharedPlace to the
standard output. No gateway owns it, so it outlives the one that started it.
"""

import os
import signal
import sys
from functools import partial
from typing import Final

from engine.fleet.placement.liveness_lock import LivenessLock
from engine.fleet.placement.order import ReplicaOrder, decode_order
from engine.fleet.placement.process import run_replica
from engine.fleet.placement.shared_place import SharedPlace, encode_place
from engine.fleet.wire.listener import DoorListener
from engine.fleet.wire.tls import Identity

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(host: str, order: ReplicaOrder) -> None:
    """Run a replica until no gateway needs it."""
    life_lock = LivenessLock.make()
    if life_lock is not None:
        life_lock.hold()
    for number in STOP_SIGNALS:
        # Gateways decide when this process ends.
        signal.signal(number, signal.SIG_IGN)
    identity = Identity.new()
    listener = DoorListener(host)
    _announce(SharedPlace.own(listener.door(identity.certificate), life_lock))
    run_replica(order, partial(listener.admit_all, identity.accepting_all()), is_shared=True)


def _announce(place: SharedPlace) -> None:
    """Write the place to the standard output, and close it. Later output to it is dropped."""
    os.write(sys.stdout.fileno(), encode_place(place))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    main(sys.argv[1], decode_order(sys.stdin.buffer.read()))

"""The part of a machine that a replica or a stage on it takes, next to those of gateways that know nothing of it."""

import socket


class MachineShare:
    """One of several equal parts of a machine, held by one process at a time.

    The name of an abstract socket belongs to its process alone, so no part stays taken after a death.

    number: of the part, from 0.
    """

    def __init__(self, node: str, count: int) -> None:
        """Take a part that no other process has. If all are taken, by one that is ending, part 0 is used twice.

        node: name of the machine among those that may run on the same host.
        """
        self.number = 0
        for number in range(count):
            holder = socket.socket(socket.AF_UNIX)
            try:
                holder.bind(f"\0ebb-share-{node}-{number}")
            except OSError:
                holder.close()
                continue
            self._holder = holder
            self.number = number
            return

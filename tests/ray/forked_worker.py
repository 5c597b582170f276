"""Program that the machines of the tests' cluster run in place of Ray's worker: has `forks` fork one instead.

Nothing else is imported, since this runs once for every worker. The process stays for as long as the worker does.
"""

import json
import os
import socket
import sys

ADDRESS = "FORKS_OF_TESTS"
"""Variable with the path of the server's socket."""


def main() -> None:
    """Ask for a worker with the arguments, the environment and the files of this process."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(os.environ[ADDRESS])
        request = json.dumps([sys.argv[1:], dict(os.environ)]).encode()
        socket.send_fds(server, [request], [0, 1, 2])
        # The worker holds the other end.
        server.recv(1)


if __name__ == "__main__":
    main()

"""Frames over a socket, whatever the pieces in which they arrive, and peers that prove nothing."""

import asyncio

import pytest

from engine.fleet.wire.connection import LENGTH_BYTES, MAX_FRAME, MAX_UNPROVEN, FrameConnection
from engine.fleet.wire.handshake import HandshakeError, check, gateway_proof, new_nonce, new_token, replica_proof


class Transport(asyncio.Transport):
    """The calls of a connection."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def abort(self) -> None:
        self.is_aborted = True


def opened(frames: list[bytes]) -> tuple[FrameConnection, Transport]:
    connection, transport = FrameConnection(frames.append, lambda: None), Transport()
    connection.connection_made(transport)
    return connection, transport


@pytest.mark.parametrize("piece", [1, 3, 4, 7, 1000])
def test_frames_are_whole_whatever_the_pieces(piece: int) -> None:
    sent = [b"", b"a", b"bc" * 100, b"d" * 255]
    sender, wire = opened([])
    for frame in sent:
        sender.send(frame)
    received: list[bytes] = []
    connection, _ = opened(received)
    for start in range(0, len(wire.written), piece):
        connection.data_received(wire.written[start : start + piece])
    assert received == sent


@pytest.mark.parametrize("is_proven", [False, True])
def test_longer_frames_than_allowed_close_the_connection(is_proven: bool) -> None:
    received: list[bytes] = []
    connection, transport = opened(received)
    if is_proven:
        connection.max_frame = MAX_FRAME
    most = MAX_FRAME if is_proven else MAX_UNPROVEN
    connection.data_received((most + 1).to_bytes(LENGTH_BYTES, "little"))
    assert (transport.is_aborted, received) == (True, [])
    connection.data_received(b"\x01\x00\x00\x00a")
    assert received == []


def test_frame_that_cannot_be_processed_is_the_last_one() -> None:
    seen: list[bytes] = []

    def refuse(frame: bytes) -> None:
        seen.append(frame)
        raise ValueError("no")

    connection, transport = FrameConnection(refuse, lambda: None), Transport()
    connection.connection_made(transport)
    connection.data_received(b"\x01\x00\x00\x00a\x01\x00\x00\x00b")
    assert (transport.is_aborted, seen) == (True, [b"a"])


def test_proof_is_of_one_token_epoch_role_and_exchange() -> None:
    token, replica, gateway = new_token(), new_nonce(), new_nonce()
    proof = gateway_proof(token, 3, replica, gateway)
    check(proof, gateway_proof(token, 3, replica, gateway))
    for other in (
        gateway_proof(new_token(), 3, replica, gateway),
        gateway_proof(token, 4, replica, gateway),
        gateway_proof(token, 3, new_nonce(), gateway),
        gateway_proof(token, 3, gateway, replica),
        replica_proof(token, 3, replica, gateway),
        b"",
    ):
        with pytest.raises(HandshakeError):
            check(other, proof)

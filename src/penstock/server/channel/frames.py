"""What crosses the socket: a request, its reply, or a notice that nobody asked for.

A frame is two lengths of four bytes, a message as MessagePack, and a payload: rows as an Arrow stream, or
nothing. Rows of results never cross it; only pushed rows do, in the other direction.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

import msgspec

#: The most bytes of a message and of a payload: whatever is larger is a defect, or an attack.
MOST_MESSAGE, MOST_PAYLOAD = 64 << 20, 256 << 20
_LENGTHS = struct.Struct(">II")
#: Bytes before the message.
PREFIX = _LENGTHS.size


class Request(msgspec.Struct, frozen=True, tag=True):
    """Something to do, and the number under which the reply comes."""

    number: int
    method: str
    arguments: dict[str, Any]


class Problem(msgspec.Struct, frozen=True):
    """Why something was not done: the class of the error, its words, and its place in a text."""

    kind: str
    text: str
    what: str = ""
    line: int | None = None
    column: int | None = None


class Reply(msgspec.Struct, frozen=True, tag=True):
    """What came of a request."""

    number: int
    result: Any = None
    problem: Problem | None = None


class Notice(msgspec.Struct, frozen=True, tag=True):
    """Something that happened in the engine."""

    what: str
    fields: dict[str, Any]


Message: TypeAlias = Request | Reply | Notice

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)


class FrameError(Exception):
    """Bytes that are no frame: the two ends are of different versions, or one has a defect."""


class UnsendableError(Exception):
    """A message that is no frame: it is too large, or has values that cannot cross."""


def encode(message: Message, payload: bytes | memoryview = b"") -> list[bytes | memoryview]:
    """A frame, in parts to be sent one after the other."""
    try:
        body = _encoder.encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise UnsendableError(str(error)) from None
    if len(body) > MOST_MESSAGE or len(payload) > MOST_PAYLOAD:
        raise UnsendableError(
            f"{max(len(body), len(payload)):,} bytes are too many for one message; ask for less at once"
        )
    return [_LENGTHS.pack(len(body), len(payload)), body, payload]


def lengths(prefix: bytes) -> tuple[int, int]:
    """How many bytes of message and of payload follow a prefix."""
    message, payload = _LENGTHS.unpack(prefix)
    if message > MOST_MESSAGE or payload > MOST_PAYLOAD:
        raise FrameError(f"a frame of {message} and {payload} bytes; at most {MOST_MESSAGE}, {MOST_PAYLOAD}")
    return message, payload


def decode(body: bytes) -> Message:
    """The message of a frame."""
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, ValueError) as error:
        raise FrameError(f"a frame that cannot be read: {error}") from None

"""The messages that a client sends, recorded by a relay between client and server.

In: the folder of a server's unix socket. Out: each session's messages after its start-up. Must never:
record a password, or change what it relays.

Unlike the server's log, this shows Describe, Sync, Flush, Close and Terminate.
"""
import contextlib
import pathlib
import socket
import struct
import threading

PROTOCOL_3 = 3
PASSWORD = ord("p")


class Relay:
    """A unix socket that forwards all data to the server. Use it in a `with` block."""

    def __init__(self, folder, port, server_folder):
        name = f".s.PGSQL.{port}"
        self.path = pathlib.Path(folder) / name
        self.server_path = str(pathlib.Path(server_folder) / name)
        # For each session, its start-up parameters and its messages.
        self.sessions = []
        self.threads = []

    def __enter__(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(100)
        self.accepting = threading.Thread(target=self._accept, daemon=True)
        self.accepting.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.accepting.join()
        for thread in self.threads:
            thread.join(60)
        self.path.unlink()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.server_path)
            session = Session()
            self.sessions.append(session)
            for source, sink, observe in ((client, server, session.take), (server, client, lambda data: None)):
                thread = threading.Thread(target=pump, args=(source, sink, observe), daemon=True)
                thread.start()
                self.threads.append(thread)


def pump(source, sink, observe):
    """Forwards bytes and the end of the stream."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            observe(data)
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
    # A client that disconnects before reading everything must not block the server.
    with contextlib.suppress(OSError):
        source.shutdown(socket.SHUT_RD)


def format_message(kind, body):
    """A message as a line of text."""
    if kind == "B":
        return format_bind(body)
    return f"{kind} {body.decode('utf-8', 'backslashreplace')!r}"


def format_bind(body):
    """A Bind message; listed and omitted text formats look alike, because they mean the same."""
    portal, statement, rest = body.split(b"\0", 2)

    def take(layout):
        nonlocal rest
        size = struct.calcsize(layout)
        found, rest = struct.unpack(layout, rest[:size]), rest[size:]
        return found

    def formats():
        codes = take(f"!{take('!H')[0]}H")
        return codes if any(codes) else "text"

    parameter_formats, values = formats(), []
    for _ in range(take("!H")[0]):
        length = take("!i")[0]
        values.append(None if length < 0 else take(f"{length}s")[0])
    return f"B {portal!r} {statement!r} parameters {parameter_formats} {values} results {formats()} {rest!r}"


class Session:
    """The data that one client sent."""

    def __init__(self):
        self.parameters = {}
        self.messages = []
        self.rest = b""

    def take(self, data):
        """Splits bytes into messages."""
        self.rest += data
        while True:
            head = 0 if not self.parameters else 1
            if len(self.rest) < head + 4:
                return
            length = struct.unpack_from("!I", self.rest, head)[0] + head
            if len(self.rest) < length:
                return
            message, self.rest = self.rest[:length], self.rest[length:]
            if head:
                if message[0] != PASSWORD:
                    self.messages.append(format_message(chr(message[0]), message[5:]))
            elif struct.unpack_from("!H", message, 4)[0] == PROTOCOL_3:
                words = message[8:].split(b"\0")
                pairs = zip(words[::2], words[1::2])
                self.parameters = {a.decode(): b.decode() for a, b in pairs if a} or {"": ""}


def test():
    """Checks that messages are split alike, however the bytes arrive."""
    start = struct.pack("!II", 8 + 17, 196608) + b"user\0u\0database\0\0"[:17]
    stream = start + b"Q\0\0\0\x0eselect 1;\0" + b"S\0\0\0\x04" + b"X\0\0\0\x04"
    whole, pieces = Session(), Session()
    whole.take(stream)
    for position in range(len(stream)):
        pieces.take(stream[position : position + 1])
    listed, left_out = b"p\0s\0\0\0\0\1\0\0\0\x027x\0\1\0\0", b"p\0s\0\0\1\0\0\0\1\0\0\0\x027x\0\0"
    binary = left_out[:-2] + b"\0\1\0\1"
    assert format_message("B", listed) == format_message("B", left_out) == "B b'p' b's' parameters text [b'7x'] results text b''"
    assert format_message("B", binary) != format_message("B", listed)
    assert whole.messages == pieces.messages == ["Q 'select 1;\\x00'", "S ''", "X ''"], whole.messages

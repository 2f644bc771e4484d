"""The messages that a client sends, as a relay between it and the server sees them.

In: the folder of a server's unix socket. Out: each session's messages after its start-up. Must never:
keep a password, or change what it relays.

The server's log does not tell Describe, Sync, Flush, Close and Terminate; this does.
"""
import contextlib
import pathlib
import socket
import struct
import threading

PROTOCOL_3 = 3
PASSWORD = ord("p")


class Relay:
    """A unix socket that passes everything on. Use it in a `with` block."""

    def __init__(self, folder, port, server_folder):
        name = f".s.PGSQL.{port}"
        self.path = pathlib.Path(folder) / name
        self.server_path = str(pathlib.Path(server_folder) / name)
        # Of each session: its start-up parameters, and its messages.
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
            for source, sink, seen in ((client, server, session.take), (server, client, lambda data: None)):
                thread = threading.Thread(target=pump, args=(source, sink, seen), daemon=True)
                thread.start()
                self.threads.append(thread)


def pump(source, sink, seen):
    """Passes bytes on to the end, which it passes on too."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            seen(data)
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
    # A client that is gone without having read everything must not keep the server waiting.
    with contextlib.suppress(OSError):
        source.shutdown(socket.SHUT_RD)


class Session:
    """What one client sent."""

    def __init__(self):
        self.parameters = {}
        self.messages = []
        self.rest = b""

    def take(self, data):
        """Cuts bytes into messages."""
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
                    self.messages.append(f"{chr(message[0])} {message[5:].decode('utf-8', 'backslashreplace')!r}")
            elif struct.unpack_from("!H", message, 4)[0] == PROTOCOL_3:
                words = message[8:].split(b"\0")
                pairs = zip(words[::2], words[1::2])
                self.parameters = {a.decode(): b.decode() for a, b in pairs if a} or {"": ""}


def test():
    """Messages are cut alike, however the bytes arrive."""
    start = struct.pack("!II", 8 + 17, 196608) + b"user\0u\0database\0\0"[:17]
    stream = start + b"Q\0\0\0\x0eselect 1;\0" + b"S\0\0\0\x04" + b"X\0\0\0\x04"
    whole, pieces = Session(), Session()
    whole.take(stream)
    for place in range(len(stream)):
        pieces.take(stream[place : place + 1])
    assert whole.messages == pieces.messages == ["Q 'select 1;\\x00'", "S ''", "X ''"], whole.messages

"""A server on loopback that sends whatever bytes a test wants, to see what becomes of a server's faults."""

import json
import socketserver
import threading
from collections.abc import Callable

GOOD = {
    "type": "choice",
    "choice": "supports",
    "confidence": 0.85,
    "probabilities": {"supports": 0.9, "contradicts": 0.07, "says_nothing": 0.03},
}


def envelope(answer=None, **changes) -> dict:
    """A whole answer to our question, ``changes`` made at its top level."""
    usage = {"input_tokens": 400, "output_tokens": 40}
    return {"model": "jev-1.12", "answers": {"relation": GOOD if answer is None else answer}, "usage": usage} | changes


def http(body: bytes | str | dict, status: int = 200, *headers: str, length: int | None = None) -> bytes:
    """The bytes of an HTTP response; ``length`` may lie about the body's."""
    body = json.dumps(body) if isinstance(body, dict) else body
    raw = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} reply", "Content-Type: application/json", "Connection: close", *headers]
    lines.append(f"Content-Length: {len(raw) if length is None else length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + raw


class RawServer:
    """A context manager. ``reply(n)`` gives the pieces of bytes that the n-th request is sent, from 0; it may sleep
    between them. ``received`` are the requests as they came in, head and body."""

    def __init__(self, reply: Callable[[int], list[bytes] | bytes]):
        self.received: list[bytes] = []
        lock = threading.Lock()
        received = self.received

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = self.rfile.readline()
                    if not line:
                        return
                    head += line
                length = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if b"content-length" in line]
                body = self.rfile.read(int(length[0])) if length else b""
                with lock:
                    number = len(received)
                    received.append(head + body)
                pieces = reply(number)
                try:
                    for piece in [pieces] if isinstance(pieces, bytes) else pieces:
                        self.wfile.write(piece)
                        self.wfile.flush()
                except OSError:
                    pass  # the client has had enough

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> "RawServer":
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()

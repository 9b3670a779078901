"""A local System One server for benchmarks and tests: a fixed delay, a limit, a fault every so often, and it counts.

It answers each Choice question with its first option, of which it is 0.9 sure. `GET /counts` tells what has arrived.
"""

import argparse
import asyncio
import collections
import hashlib
import json
import subprocess
import sys
import time
import urllib.request


class Counting:
    """What arrived: requests, refusals, bytes, and how often each distinct question was answered."""

    def __init__(self, delay: float, limit: int, refuse_every: int):
        self.delay, self.limit, self.refuse_every = delay, limit, refuse_every
        self.requests = self.refused = self.bytes = 0
        self.answered: collections.Counter = collections.Counter()
        self.last_second: collections.deque = collections.deque()

    def refusal(self) -> int:
        """The status to refuse a request with, or 0: over the limit in the second before it, or its turn to fail."""
        now = time.monotonic()
        while self.last_second and self.last_second[0] <= now - 1:
            self.last_second.popleft()
        if self.limit and len(self.last_second) >= self.limit:
            return 429
        self.last_second.append(now)
        if self.refuse_every and self.requests % self.refuse_every == 0:
            return 429 if self.requests // self.refuse_every % 2 else 500
        return 0

    async def reply(self, method: str, body: bytes) -> tuple[int, dict]:
        if method == "GET":
            once = sum(count == 1 for count in self.answered.values())
            return 200, {
                "requests": self.requests,
                "refused": self.refused,
                "bytes": self.bytes,
                "questions": len(self.answered),
                "answered_once": once,
                "answers": self.answered.total(),
            }
        self.requests += 1
        self.bytes += len(body)
        status = self.refusal()
        if status:
            self.refused += 1
            return status, {"detail": {"error_type": "rate_limit_error", "message": "slow down"}}
        await asyncio.sleep(self.delay)
        asked = json.loads(body)
        answers = {}
        for name, question in asked["questions"].items():
            options = list(question["criteria"])
            rest = 0.1 / (len(options) - 1)
            chance = 1 / len(options)
            answers[name] = {
                "type": "choice",
                "choice": options[0],
                "probabilities": {option: 0.9 if option == options[0] else rest for option in options},
                "confidence": (0.9 - chance) / (1 - chance),
            }
            key = json.dumps([asked["state"], question["instructions"]]).encode()
            self.answered[hashlib.sha256(key).hexdigest()] += 1
        tokens = {"input_tokens": len(body) // 4, "output_tokens": 40 * len(answers)}
        return 200, {"model": asked["model"], "answers": answers, "usage": tokens}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = 0
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                body = await reader.readexactly(length)
                status, payload = await self.reply(head.split(b" ", 1)[0].decode(), body)
                raw = json.dumps(payload).encode()
                retry = "Retry-After: 0.2\r\n" if status == 429 else ""
                lines = f"Content-Type: application/json\r\n{retry}Content-Length: {len(raw)}\r\n\r\n"
                writer.write(f"HTTP/1.1 {status} reply\r\n{lines}".encode() + raw)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def main(delay: float, limit: int, refuse_every: int) -> None:
    counting = Counting(delay, limit, refuse_every)
    server = await asyncio.start_server(counting.serve, "127.0.0.1", 0, limit=1 << 24)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


class SlowServer:
    """The server as a process of its own; a context manager."""

    def __init__(self, delay: float = 0.1, limit: int = 0, refuse_every: int = 0):
        self.command = [sys.executable, __file__, str(delay), str(limit), str(refuse_every)]

    def __enter__(self) -> "SlowServer":
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_) -> None:
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def counts(self) -> dict:
        with urllib.request.urlopen(f"{self.url}/counts") as reply:
            return json.load(reply)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("delay", type=float, help="seconds an answer takes")
    parser.add_argument("limit", type=int, help="requests answered in any one second; 0: no limit")
    parser.add_argument(
        "refuse_every", type=int, help="every so many requests one fails, with 429 and 500 in turn; 0: none"
    )
    args = parser.parse_args()
    asyncio.run(main(args.delay, args.limit, args.refuse_every))

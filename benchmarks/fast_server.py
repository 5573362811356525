"""An OpenAI-compatible server that costs next to nothing, so that the client is what is measured.

One process, one loop, no framework. A prompt that ends in `[[want:X]]` is answered with X after `--latency-ms`.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
BODY = (
    b'{"id":"x","object":"chat.completion","created":1,"model":"fast","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"%b"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":102,"completion_tokens":4,"total_tokens":106}}'
)


class Connection(asyncio.Protocol):
    """Reads requests off one connection and answers each after the latency."""

    def __init__(self, latency_s: float) -> None:
        self.latency_s = latency_s
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            at = head.find(b"content-length:") + 15
            stop = head.find(b"\r\n", at)
            length = int(head[at : stop if stop >= 0 else None])
            if len(self.buffer) < end + 4 + length:
                return
            body, self.buffer = self.buffer[end + 4 : end + 4 + length], self.buffer[end + 4 + length :]
            want = body.rpartition(b"[[want:")[2].partition(b"]]")[0]
            reply = BODY % want
            answer = HEAD % (len(reply), reply)
            loop = asyncio.get_running_loop()
            if self.latency_s:
                loop.call_later(self.latency_s, self.answer, answer)
            else:
                self.answer(answer)

    def answer(self, answer: bytes) -> None:
        """Send it, unless the client has gone."""
        if not self.transport.is_closing():
            self.transport.write(answer)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    options = parser.parse_args()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(options.latency_ms / 1000), "127.0.0.1", 0, backlog=2048)
    options.port_file.write_text(str(server.sockets[0].getsockname()[1]))  # once, before any request
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())

"""`python misbehaving.py MODE PORT FILE`: an A2A server that is wrong in ways that are no defect of memory.

It answers a turn with a bare message that says all it was ever told, which it keeps in FILE.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MODE, PORT, FILE = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.answer(b"<html>no card</html>" if MODE == "no-card" else b'{"name": "misbehaving"}')

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if MODE == "speaks-old-only":
            self.reply(call, error={"code": -32601, "message": "\x1b[31mMethod not found"})
            return
        if MODE == "unavailable":
            self.send_error(503)
            return
        if MODE == "silent":
            threading.Event().wait()
        if MODE == "slow":
            time.sleep(0.3)
        told = call["params"]["message"]["parts"][0]["text"]
        if MODE == "dies" and "my name is" in told:
            os._exit(7)
        with FILE.open("a") as file:
            file.write(told + "\n")
        self.reply(call, result={"message": {"role": "ROLE_AGENT", "parts": [{"text": FILE.read_text()}]}})

    def reply(self, call: dict[str, Any], **outcome: Any) -> None:
        self.answer(json.dumps({"jsonrpc": "2.0", "id": call["id"], **outcome}).encode())

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if MODE == "stays-down" and FILE.exists():
    sys.exit("the lock of the last process is still there")
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()

"""Clients that hang up in the middle of an answer: nothing of it looks like a defect of ours.

With a second request waiting behind the first, the server reads nothing from the connection, and learns of its end
only by writing to it.
"""

import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from tests.gateway.process import PATIENCE, running

TIMES = 60
SESSIONS = 60


def test_a_client_that_hangs_up_is_no_failure(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        where = urlsplit(gateway.url)
        with httpx2.Client(base_url=gateway.url, trust_env=False, timeout=PATIENCE) as client:
            for number in range(SESSIONS):
                assert client.post(f"/api/actions/s{number}", json={"type": "n"}).status_code == 201
            body = json.dumps({"sessions": [f"s{number}" for number in range(SESSIONS)]}).encode()
            head = f"POST /api/verify HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
            for _ in range(TIMES):
                with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as raw:
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    raw.sendall((head.encode() + body) * 2)
                    raw.recv(1)
            assert client.get("/readyz").status_code == 200
        code, err = gateway.stop()
        assert (code, "Traceback" in err) == (0, False), err[-3_000:]

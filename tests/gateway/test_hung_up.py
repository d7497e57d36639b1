"""Clients that hang up in the middle of an answer: nothing of it looks like a defect of ours.

With a second request waiting behind the first, the server reads nothing from the connection, and learns of its end
only by writing to it.
"""

import socket
from pathlib import Path
from urllib.parse import urlsplit

from tests.gateway.process import PATIENCE, running
from tests.support.web import web_client

TIMES = 90
SESSIONS = 60


def test_a_client_that_hangs_up_is_no_failure(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        where = urlsplit(gateway.url)
        with web_client(base_url=gateway.url) as client:
            for number in range(SESSIONS):
                assert client.post(f"/api/actions/s{number}/batch", json=[{"type": "n"}] * 50).status_code == 201
            for number in range(TIMES):
                ask = ("POST /api/verify", "GET /api/feed?session=s1&after=0", "GET /api/export")[number % 3]
                request = f"{ask} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Length: 0\r\n\r\n".encode()
                with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as raw:
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    raw.sendall(request * 2)
                    raw.recv(1)
            assert client.get("/readyz").status_code == 200
        code, err = gateway.stop()
        assert (code, "Traceback" in err, "ERROR" in err) == (0, False, False), err[-3_000:]

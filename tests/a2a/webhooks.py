"""A real web server that is posted to, and keeps what came."""

import asyncio
import datetime
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

SECONDS = 20.0


class Posted(NamedTuple):
    """One request."""

    target: str
    headers: dict[str, str]
    body: Any


@dataclass(slots=True)
class Hook:
    """Where it listens, what came, and the head of its next answers; without one it takes everything."""

    port: int = 0
    posted: list[Posted] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    hold: asyncio.Event | None = None
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_for(self, enough: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS), self._came:
            await self._came.wait_for(enough)

    async def came(self, count: int) -> list[Posted]:
        """What came, once it is so much."""
        await self.wait_for(lambda: len(self.posted) >= count)
        return self.posted

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request of a connection."""
        try:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            self.posted.append(Posted(first.split(" ")[1], headers, body))
            async with self._came:
                self._came.notify_all()
            if self.hold is not None:
                await self.hold.wait()
            answer = self.answers.pop(0) if self.answers else "204 No Content"
            writer.write(f"HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def listening(tls: ssl.SSLContext | None = None) -> AsyncIterator[Hook]:
    """A hook on a free port."""
    hook = Hook()
    server = await asyncio.start_server(hook.serve, "127.0.0.1", 0, ssl=tls)
    hook.port = server.sockets[0].getsockname()[1]
    async with server:
        yield hook


def certificate_for(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """TLS for a server of this name, and for clients that trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    try:
        known: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        known = x509.DNSName(name)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([known]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = (pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(key.private_bytes(*plain))
    (folder / "cert.pem").write_bytes(made.public_bytes(pem))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return server, ssl.create_default_context(cafile=str(folder / "cert.pem"))

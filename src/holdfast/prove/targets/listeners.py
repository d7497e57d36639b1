"""Who listens on a port: the process that we started and its children, or somebody else.

On Linux the kernel tells which socket listens, and every process which sockets it has. Where it does not tell, also
because a process is not ours to look at, nobody is called a stranger.
"""

import socket
import struct
from contextlib import suppress
from pathlib import Path

from holdfast.prove.leash import descendants

PROC = Path("/proc")
LISTENING = "0A"


def stranger_on(host: str, port: int, ours: int) -> str | None:
    """The process that takes connections to the address and is neither ours nor a descendant of it, by its name."""
    family = [ours, *descendants(ours)]
    try:
        held = {inode for pid in family for inode in _sockets(pid)}
        foreign = _listeners(host, port) - held
    except OSError:
        return None
    return _name_of_holder(foreign) if foreign else None


def _listeners(host: str, port: int) -> set[str]:
    """The sockets that get connections to the address: those of the address itself, else those of all addresses."""
    found: dict[str, set[str]] = {}
    for table in ("tcp", "tcp6"):
        path = PROC / "net" / table
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            _, local, _, state, *rest = line.split()
            address, _, number = local.partition(":")
            if state == LISTENING and int(number, 16) == port:
                found.setdefault(address, set()).add(rest[5])
    packed = socket.inet_aton(host)
    exact = f"{struct.unpack('=I', packed)[0]:08X}"
    mapped = f"{0:016X}{struct.unpack('=I', bytes((0, 0, 255, 255)))[0]:08X}{exact}"
    own = found.get(exact, set()) | found.get(mapped, set())
    # Where somebody listens on all addresses of IPv4, a socket for all of IPv6 gets IPv6 only.
    return own or found.get("0" * 8, set()) or found.get("0" * 32, set())


def _sockets(pid: int) -> set[str]:
    """The inodes of a process's sockets; none if it has ended."""
    found = set()
    try:
        for file in (PROC / str(pid) / "fd").iterdir():
            with suppress(FileNotFoundError):
                shown = str(file.readlink())
                if shown.startswith("socket:["):
                    found.add(shown[8:-1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def _name_of_holder(inodes: set[str]) -> str:
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                if _sockets(int(entry.name)) & inodes:
                    return f"process {entry.name} ({(entry / 'comm').read_text().strip()})"
            except OSError:
                continue
    return "another process"

"""Which names and addresses always mean this machine."""

import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit


def address_in(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that is written here, if it is one; an IPv4 address in IPv6 clothes is that address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Whether a name or address always means this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = address_in(host)
    return address is not None and address.is_loopback


def is_here(url: str) -> bool:
    """Whether a URL names this machine, so that no proxy belongs between us and it."""
    return is_loopback(urlsplit(url).hostname or "")

"""Where news may be posted: a corpus of URLs that lead where no client may lead us."""

import asyncio
import ipaddress
import socket
from collections import Counter

import pytest

from holdfast.a2a.push.lookup_slots import Slots
from holdfast.a2a.push.url_guard import AT_ONCE, MOST_OF_A_TENANT, NoAddress, RefusedUrl, UrlGuard, is_public, look_up
from holdfast.core.errors import InvalidInput

NAMES = {
    "example.com": ["93.184.216.34"],
    "xn--bcher-kva.example": ["2606:2800:220:1::1", "93.184.216.34"],
    "127.0.0.1.nip.test": ["127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "metadata.azure.test": ["168.63.129.16"],
    "half.test": ["93.184.216.34", "10.0.0.1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "linklocal.test": ["fe80::1%eth0"],
    "nat64.test": ["64:ff9b::7f00:1"],
    "nowhere.test": [],
    "nonsense.test": ["not an address"],
    "intranet.test": ["10.1.2.3"],
}


async def resolve(host: str, port: int) -> list[str]:
    """The names above and this machine's own; numbers in any form as the system reads them, which asks nobody."""
    if host in NAMES:
        return NAMES[host]
    if host.startswith("localhost"):
        return await look_up("localhost", port)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return [str(entry[4][0]) for entry in found]


INSIDE = [
    # this machine, in every spelling
    *("http://127.0.0.1/", "http://127.0.0.1:8080/x", "http://127.1/", "http://127.0.1/", "http://127.255.255.254/"),
    *("http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://0x7F.0x0.0x0.0x1/", "http://017700000001/"),
    *("http://0177.0.0.1/", "http://0177.0.0.0x1/", "http://00000177.1/", "http://127.0.0.1./"),
    *("http://0.0.0.0/", "http://0/", "http://0x0/", "http://00/", "http://0.1.2.3/"),
    *("http://localhost/", "http://LOCALHOST:80/", "http://localhost./", "http://localhost.localdomain/"),
    *("http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::1]:8080/"),
    *("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/", "http://[::7f00:1]/"),
    *("http://[::ffff:93.184.216.34]/", "http://[0:0:0:0:0:ffff:10.0.0.1]/"),
    # private, shared, link-local and special networks
    *("http://10.0.0.1/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/", "http://0xa.1/"),
    *("http://100.64.0.1/", "http://169.254.0.1/", "http://192.0.0.1/", "http://192.0.2.1/", "http://198.18.0.1/"),
    *("http://198.51.100.1/", "http://203.0.113.1/", "http://192.88.99.1/", "http://3232235777/"),
    *("http://224.0.0.1/", "http://239.255.255.250/", "http://240.0.0.1/", "http://255.255.255.255/"),
    *("http://[fe80::1]/", "http://[fc00::1]/", "http://[fd12:3456::1]/", "http://[fec0::1]/", "http://[ff02::1]/"),
    *("http://[ff0e::1]/", "http://[2001:db8::1]/", "http://[100::1]/", "http://[2001::1]/", "http://[3fff::1]/"),
    *("http://[2002:7f00:1::]/", "http://[2002:5db8:d822::]/", "http://[2001:0:5db8:d822::1]/"),
    *("http://[64:ff9b::7f00:1]/", "http://[64:ff9b::10.0.0.1]/", "http://[64:ff9b:1::1]/", "http://[5f00::1]/"),
    # metadata
    *(
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/",
        "http://0xA9FEA9FE/",
        "http://0251.0376.0251.0376/",
    ),
    *(
        "http://[fd00:ec2::254]/",
        "http://[::ffff:169.254.169.254]/",
        "http://168.63.129.16/",
        "http://100.100.100.200/",
    ),
    *("http://192.0.0.192/", "http://metadata.google.internal/", "http://metadata.azure.test/"),
    # names that lead there
    *("http://127.0.0.1.nip.test/", "https://half.test/", "http://mapped.test/", "http://linklocal.test/"),
    *("http://nat64.test/", "http://intranet.test/", "http://METADATA.google.INTERNAL./"),
]
NO_URL = [
    # no address at all
    *(
        "http://nowhere.test/",
        "http://nonsense.test/",
        "http://unknown.test/",
        "http://0x7f.1.test/",
        "http://127.0.0.1.1/",
    ),
    # URLs that readers disagree on
    *("http://example.com@127.0.0.1/", "http://127.0.0.1@example.com/", "http://user:word@example.com/"),
    *(
        "http://@example.com/",
        "http://example.com\\@127.0.0.1/",
        "http:\\\\127.0.0.1/",
        "http://127.0.0.1\\.example.com/",
    ),
    *("http://example.com:80@127.0.0.1/", "http://exam\tple.com/", "http://example.com\n"),
    *(" http://example.com/", "http://example.com/ x", "http://example.com/\r\nHost: x", "http://example.com/\0"),
    *(
        "http://ⓔxample.com/",
        "http://①②⑦.⓪.⓪.①/",
        "http://127。0。0。1/",
        "http://example.com/ü",
        "http://\u202eexample.com/",
    ),
    *("http://%31%32%37.0.0.1/", "http://127.0.0.1%2f.example.com/", "http://[::1%25lo]/", "http://[fe80::1%25eth0]/"),
    *("http://[::1", "http://::1/", "http://[example.com]/", "http://[v1.x]/", "http://[127.0.0.1]/", "http://[]/"),
    *("http://", "http:///x", "http:/example.com", "http:example.com", "//example.com/", "example.com", "", "/"),
    *("http://example.com:0/", "http://example.com:65536/", "http://example.com:-1/", "http://example.com:x/"),
    *("http://example.com:80:80/", "http://.", "http://..", "http://a..b/", "http://-/", "http://*/", "http://a,b/"),
    *("https://" + "a" * 3000, "http://" + "a." * 200 + "test/"),
    # other schemes
    *("ftp://example.com/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "javascript:alert(1)", "data:,x"),
    *("ws://example.com/", "unix:///run/x.sock", "dict://127.0.0.1/", "ldap://127.0.0.1/", "jar:http://example.com/!x"),
]


async def refusal(url: str) -> RefusedUrl:
    with pytest.raises(RefusedUrl) as caught:
        await UrlGuard(resolve=resolve).check(url, "t")
    return caught.value


@pytest.mark.parametrize("url", INSIDE)
async def test_a_url_that_leads_inside_is_refused(url: str) -> None:
    assert "leads to an address that is not public" in (await refusal(url)).message


@pytest.mark.parametrize("url", NO_URL)
async def test_what_can_be_read_in_two_ways_is_refused(url: str) -> None:
    refused = await refusal(url)
    assert "not public" not in refused.message
    assert refused.hint


@pytest.mark.parametrize(
    ("url", "host", "at"),
    [
        ("http://example.com", "example.com", "http://93.184.216.34:80/"),
        ("HTTPS://Example.COM:8443/Hook?a=b#c", "example.com:8443", "https://93.184.216.34:8443/Hook?a=b"),
        ("http://example.com#@127.0.0.1/@", "example.com", "http://93.184.216.34:80/"),
        ("https://example.com./x", "example.com", "https://93.184.216.34:443/x"),
        (
            "https://xn--bcher-kva.example/%2e%2e/x",
            "xn--bcher-kva.example",
            "https://[2606:2800:220:1::1]:443/%2e%2e/x",
        ),
        ("https://8.8.8.8/", "8.8.8.8", "https://8.8.8.8:443/"),
        ("http://134744072/", "134744072", "http://8.8.8.8:80/"),
        ("https://[2606:2800:220:1::1]/x", "[2606:2800:220:1::1]", "https://[2606:2800:220:1::1]:443/x"),
        ("http://[64:ff9b::808:808]/", "[64:ff9b::808:808]", "http://[64:ff9b::808:808]:80/"),
    ],
)
async def test_a_public_url_is_posted_to_the_address_that_was_checked(url: str, host: str, at: str) -> None:
    target = await UrlGuard(resolve=resolve).check(url, "t")
    assert (target.host_header, target.url_at(target.addresses[0])) == (host, at)


async def test_an_operator_can_name_hosts() -> None:
    guard = UrlGuard(["intranet.test", "127.0.0.1:8080", "[::1]:9", "Half.Test."], resolve=resolve)
    for url in ("http://intranet.test:1234/", "http://INTRANET.test./", "http://127.0.0.1:8080/", "http://[::1]:9/"):
        await guard.check(url, "t")
    await guard.check("http://half.test/", "t")
    for url in (
        "http://127.0.0.1/",
        "http://127.0.0.1:8081/",
        "http://127.1:8080/",
        "http://[::1]/",
        "http://10.1.2.3/",
    ):
        with pytest.raises(RefusedUrl):
            await guard.check(url, "t")
    with pytest.raises(RefusedUrl):
        await guard.check("http://user@intranet.test/", "t")


@pytest.mark.parametrize("entry", ["", "http://x", "x/y", "x:y", "x:99999", "::1", "a b", "*", "x@y", "[::1", "x:"])
def test_what_is_no_host_cannot_be_named(entry: str) -> None:
    with pytest.raises(InvalidInput):
        UrlGuard([entry])


async def test_a_name_that_is_never_answered_is_refused_and_holds_up_a_few_only() -> None:
    asked: list[str] = []
    answer = asyncio.Event()

    async def slow(host: str, _port: int) -> list[str]:
        asked.append(host)
        await answer.wait()
        return ["93.184.216.34"]

    guard = UrlGuard(resolve=slow, resolve_seconds=0.01)
    refusals = await asyncio.gather(
        *(guard.check(f"http://n{n}.test/", "t") for n in range(99)), return_exceptions=True
    )
    assert [type(refusal) for refusal in refusals] == [NoAddress] * 99
    assert len(asked) == MOST_OF_A_TENANT
    answer.set()
    while guard._lookups:
        await asyncio.sleep(0)
    assert (await guard.check("http://example.com/", "t")).addresses == ("93.184.216.34",)


async def test_names_that_hang_do_not_keep_others_from_being_looked_up() -> None:
    asked: list[str] = []

    async def hangs(host: str, _port: int) -> list[str]:
        asked.append(host)
        if host.startswith("hang"):
            await asyncio.Event().wait()
        return ["93.184.216.34"]

    guard = UrlGuard(resolve=hangs, resolve_seconds=0.05)
    for _ in range(4):
        for name in ("hang1.test", "hang2.test"):
            with pytest.raises(NoAddress):
                await guard.check(f"http://{name}/", "t")
    assert (await guard.check("http://other.test/", "t")).addresses == ("93.184.216.34",)
    assert asked == ["hang1.test", "hang2.test", "other.test"], "a name that hangs takes one thread, however often"
    for lookup in guard._lookups.values():
        lookup.work.cancel()


async def test_hostile_tenants_hold_their_shares_and_nobody_elses() -> None:
    """However many they are, and whatever names they ask for: also those that another asks for."""
    asked: Counter[str] = Counter()
    answer = asyncio.Event()

    async def hangs(host: str, _port: int) -> list[str]:
        asked[host.partition(".")[0]] += 1
        if not host.startswith("friendly"):
            await answer.wait()
        return ["93.184.216.34"]

    guard = UrlGuard(resolve=hangs, resolve_seconds=0.5)
    names = [f"hostile{tenant}" for tenant in range(AT_ONCE)]
    checks = [guard.check(f"http://{name}.n{n}.test/", name) for n in range(MOST_OF_A_TENANT + 1) for name in names]
    checks += [guard.check(f"http://friendly.n{n}.test/", name) for n in range(3) for name in names]
    hanging = [asyncio.create_task(check) for check in checks]
    for _ in range(3):
        await asyncio.sleep(0)
    assert asked.total() >= AT_ONCE
    for n in range(9):
        assert (await guard.check(f"http://friendly.n{n % 3}.test/", "friendly")).addresses == ("93.184.216.34",)
    assert asked.total() < AT_ONCE + len(names) + 9
    for check in hanging:
        check.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)
    answer.set()
    while guard._lookups:
        await asyncio.sleep(0)


async def test_tenants_take_turns() -> None:
    slots, order = Slots(3, 3), []

    async def use(tenant: str) -> None:
        async with slots.of(tenant):
            order.append(tenant)
            await asyncio.sleep(0)

    async with slots.of("a"), slots.of("b"):
        await asyncio.gather(*(use(tenant) for tenant in "aaabb"))
    assert order == ["a", "a", "b", "a", "b"]
    assert not slots._taken and not slots._waiting


@pytest.mark.parametrize("its_turn", [False, True], ids=["while it waits", "in the moment of its turn"])
async def test_whoever_gives_up_leaves_its_slot_to_others(its_turn: bool) -> None:
    slots = Slots(1, 1)

    async def use() -> None:
        async with slots.of("a"):
            raise AssertionError("it was cancelled")

    async with slots.of("a"):
        other = asyncio.create_task(use())
        await asyncio.sleep(0)
        if not its_turn:
            other.cancel()
            await asyncio.gather(other, return_exceptions=True)
            assert not slots._waiting
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    assert other.cancelled()
    async with asyncio.timeout(10), slots.of("a"):
        pass
    assert not slots._taken and not slots._waiting


async def test_the_ports_of_one_name_are_looked_up_once() -> None:
    asked: list[str] = []

    async def hangs(host: str, _port: int) -> list[str]:
        asked.append(host)
        await asyncio.Event().wait()
        return []

    guard = UrlGuard(resolve=hangs, resolve_seconds=0.05)
    checks = (guard.check(f"http://hangs.test:{port}/", "t") for port in range(1, 100))
    refusals = await asyncio.gather(*checks, return_exceptions=True)
    assert [type(refusal) for refusal in refusals] == [NoAddress] * 99
    assert asked == ["hangs.test"]
    for lookup in guard._lookups.values():
        lookup.work.cancel()


async def test_names_that_nobody_waits_for_any_more_are_not_looked_up_later() -> None:
    asked: list[str] = []
    answer = asyncio.Event()

    async def slow(host: str, _port: int) -> list[str]:
        asked.append(host)
        await answer.wait()
        return ["93.184.216.34"]

    guard = UrlGuard(resolve=slow, resolve_seconds=0.05)
    await asyncio.gather(*(guard.check(f"http://n{n}.test/", "t") for n in range(3 * AT_ONCE)), return_exceptions=True)
    await asyncio.sleep(0)
    assert len(guard._lookups) == MOST_OF_A_TENANT, "only those that have a thread"
    answer.set()
    assert (await guard.check("http://other.test/", "t")).addresses == ("93.184.216.34",)
    assert len(asked) == MOST_OF_A_TENANT + 1


def test_public_is_what_everybody_can_reach() -> None:
    for text in ("1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::1"):
        assert is_public(ipaddress.ip_address(text)), text

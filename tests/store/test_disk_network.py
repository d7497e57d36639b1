"""A SQLite store is not opened on a network file system."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.disks import sqlite_store
from tests.support.material import numbered, values

from holdfast.core import SystemClock
from holdfast.core.errors import EngineRefused
from holdfast.store import open_store
from holdfast.store.sqlite import SqliteEngine, mounts
from holdfast.store.sqlite.mounts import file_system, is_network

MOUNTINFO = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw
24 22 0:25 / /run rw,nosuid,nodev shared:11 - tmpfs tmpfs rw,size=402000k,mode=755
31 22 0:45 / /mnt/team\\040files rw,relatime shared:60 - nfs4 server:/export/team rw,vers=4.2,addr=10.0.0.9
32 22 8:17 / /mnt/team\\040files/fast rw,relatime - xfs /dev/sdb1 rw
33 22 0:45 /holdfast /var/lib/holdfast rw,relatime shared:60 - nfs4 server:/export/team rw,vers=4.2,addr=10.0.0.9
34 22 0:50 / /home/ada/far rw,nosuid,nodev,relatime shared:70 - fuse.sshfs ada@far:/ rw,user_id=1000,group_id=1000
35 22 8:33 / /media/stick rw,relatime - fuseblk /dev/sdc1 rw,user_id=0,group_id=0
36 22 0:52 / /srv rw,relatime - ext4 /dev/vdb rw
37 36 0:53 / /srv rw,relatime - cifs //nas/srv rw,vers=3.1.1
38 22 0:60 / /merged rw,relatime master:3 propagate_from:2 - overlay overlay rw,lowerdir=/a - b,upperdir=/c
39 22 0:61 / /odd\\134name rw,relatime - ceph mon:/ rw
"""

FOUND = [
    ("/", "ext4"),
    ("/home/ada", "ext4"),
    ("/home/ada/far", "fuse.sshfs"),
    ("/home/ada/far/deep/er", "fuse.sshfs"),
    ("/home/ada/farther", "ext4"),  # a longer name is not a folder below
    ("/mnt/team files", "nfs4"),
    ("/mnt/team files/fast/store", "xfs"),  # a local disk mounted below a network one
    ("/var/lib/holdfast", "nfs4"),  # a bind mount of a folder of it
    ("/var/lib/holdfast-2", "ext4"),
    ("/run/x", "tmpfs"),
    ("/media/stick", "fuseblk"),
    ("/srv/data", "cifs"),  # mounted over another: the later one is what is seen
    ("/merged/data", "overlay"),
    ("/odd\\name", "ceph"),
]


@pytest.mark.parametrize(("folder", "kind"), FOUND)
def test_the_file_system_of_a_folder(folder: str, kind: str) -> None:
    assert file_system(MOUNTINFO, folder) == kind


def test_what_cannot_be_known_is_not_guessed() -> None:
    assert file_system("", "/anything") is None
    assert file_system("nonsense\n\n1 2 3\n", "/anything") is None


REFUSED = (
    "nfs nfs4 cifs smb3 smbfs 9p afs ceph glusterfs lustre gpfs beegfs fuse.sshfs fuse.glusterfs fuse.s3fs"
    " fuse.gcsfuse fuse.rclone fuse.JuiceFS"
)
ALLOWED = "ext4 xfs btrfs zfs tmpfs overlay f2fs apfs fuseblk fuse fuse.mergerfs fuse.gocryptfs virtiofs"


def test_network_file_systems_are_known_by_their_names() -> None:
    assert [kind for kind in REFUSED.split() if not is_network(kind)] == []
    assert [kind for kind in ALLOWED.split() if is_network(kind)] == []


@pytest.mark.parametrize("read_only", [False, True], ids=["writing", "reading"])
async def test_a_store_there_is_not_opened(tmp_path: Path, read_only: bool) -> None:
    """The kernel's table says that the folder is a mounted share; a link to it changes nothing."""
    share, link, table = tmp_path / "share", tmp_path / "link", tmp_path / "mountinfo"
    share.mkdir()
    link.symlink_to(share)
    table.write_text(f"{MOUNTINFO}90 22 0:99 / {share} rw - nfs4 server:/x rw\n")
    async with await open_store(f"sqlite:///{share}/holdfast.db") as store:
        await store.append("s", numbered(1))
    before = sorted(share.iterdir())
    for folder in (share, link, share / "new" / "folder"):
        with pytest.raises(EngineRefused) as refusal:
            SqliteEngine(folder / "holdfast.db", SystemClock(), read_only=read_only, mountinfo=table)
        assert refusal.value.details == {"file_system": "nfs4"}
        assert "PostgreSQL" in (refusal.value.hint or "")
    assert sorted(share.iterdir()) == before, "a refused store was touched"
    async with sqlite_store(share / "holdfast.db", mountinfo=tmp_path / "no such platform") as store:
        assert await values(store, "s") == [{"n": 1}]


SHARE = """
# An empty folder over FUSE that calls itself whatever it is told to; it ends, and so does the mount, with the process.
import ctypes, os, struct, sys

folder, kind = sys.argv[1:]
device = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
if libc.mount(b"ada@far:/", folder.encode(), kind.encode(), 0, options.encode()):
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
print("mounted", flush=True)
attributes = struct.pack("<QII6Q10I", 1, 0, 0, 1, *(0,) * 5, *(0,) * 3, 0o40755, 2, 0, 0, 0, 4096, 0)
started = struct.pack("<4IHHIIHHI7I", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, 0, *(0,) * 7)
while True:
    asked = os.read(device, 1 << 20)
    _, operation, unique = struct.unpack_from("<IIQ", asked)
    if operation in (2, 42):  # forget: nobody waits
        continue
    body = {26: started, 3: attributes}.get(operation)
    error = 0 if body else -2 if operation == 1 else -38
    os.write(device, struct.pack("<IiQ", 16 + len(body or b""), error, unique) + (body or b""))
"""


@pytest.mark.parametrize(("kind", "refused"), [("fuse.sshfs", True), ("fuse.mergerfs", False)])
async def test_a_real_mount_is_recognised(tmp_path: Path, kind: str, refused: bool) -> None:
    folder = tmp_path / "far"
    folder.mkdir()
    server = subprocess.Popen([sys.executable, "-c", SHARE, folder, kind], stdout=subprocess.PIPE, text=True)
    with server:
        assert server.stdout is not None
        try:
            if server.stdout.readline() != "mounted\n":
                pytest.skip("NOT RUN: the real mount needs root and /dev/fuse")
            assert file_system(mounts.MOUNTINFO.read_text(), str(folder)) == kind
            if refused:
                with pytest.raises(EngineRefused, match=kind):
                    await open_store(f"sqlite:///{folder}/holdfast.db")
            else:
                mounts.check_file_system(folder / "holdfast.db")
        finally:
            subprocess.run(["umount", "-l", folder], check=False, capture_output=True)
            server.kill()

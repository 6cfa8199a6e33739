"""The type of a file system, and the SQLite journal mode that is safe on it."""

from __future__ import annotations

from pathlib import Path

# SQLite's write-ahead log needs shared memory maps, which are not coherent between the clients of these file systems.
_NETWORK_FILE_SYSTEMS = ("nfs", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb", "fuse", "9p", "afs", "panfs", "pvfs")

# There all files seem to belong to one account, and to be open to all.
_WITHOUT_MODES = ("9p", "cifs", "drvfs", "exfat", "fuseblk", "msdos", "ntfs", "smb", "vfat")


def without_modes(path: Path) -> bool:
    """Return whether the modes of files there say nothing about who can write to them."""
    return file_system_of(path).startswith(_WITHOUT_MODES)


def journal_mode(directory: Path) -> str:
    """Return the SQLite journal mode for a database in `directory`: WAL, or TRUNCATE on a network file system."""
    return "TRUNCATE" if file_system_of(directory).startswith(_NETWORK_FILE_SYSTEMS) else "WAL"


def file_system_of(path: Path) -> str:
    """Return the type of the file system that holds `path`, such as `ext4`; empty if it is unknown."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    target = str(path.resolve())
    best, found = "", ""
    for line in mounts:
        fields, _, source = line.partition(" - ")
        mount = fields.split(" ")[4].replace("\\040", " ")
        inside = mount in ("/", target) or target.startswith(mount + "/")
        if inside and len(mount) >= len(best):
            best, found = mount, source.split(" ")[0]
    return found

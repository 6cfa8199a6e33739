"""File systems: of which type one is, and how SQLite keeps a database safe on it."""

from __future__ import annotations

from pathlib import Path

# Shared memory maps, which SQLite's write-ahead log needs, are not coherent between machines.
_NETWORK_FILE_SYSTEMS = ("nfs", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb", "fuse", "9p", "afs", "panfs", "pvfs")


def journal_mode(directory: Path) -> str:
    """How SQLite keeps a database in `directory` safe: by a write-ahead log where that works."""
    return "TRUNCATE" if file_system_of(directory).startswith(_NETWORK_FILE_SYSTEMS) else "WAL"


def file_system_of(path: Path) -> str:
    """The type of the file system that holds `path`, such as `ext4`; empty if it cannot be told."""
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

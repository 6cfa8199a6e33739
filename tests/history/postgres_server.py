"""A PostgreSQL server of the tests' own: in a directory of its own, by a user who is not root, gone with the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PATIENCE_S = 120
USER = "headway"
_HBA = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"


def programs() -> Path | None:
    """Where PostgreSQL's server programs are: Debian keeps them out of the way."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    usual = shutil.which("initdb")
    return found[-1].parent if found else Path(usual).parent if usual else None


class PostgresServer:
    """May be stopped, killed, frozen and started again."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self.directory = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short
        self._before = ["setpriv", "--pdeathsig=KILL"]
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            nobody = pwd.getpwnam("nobody")
            shutil.chown(self.directory, "nobody")
            self._before += [f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
        self.port = _free_port()
        data = self.directory / "data"
        self._run("initdb", "-D", str(data), "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
        (data / "pg_hba.conf").write_text(_HBA)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """By the unix socket, without a password."""
        return f"postgresql://{USER}@/postgres?host={self.directory}&port={self.port}"

    def url_by_tcp(self, user: str, password: str = "") -> str:
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/postgres"

    def sql(self, *statements: str) -> list[tuple]:
        """The answer to the last of them, if it has one."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        settings = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": self.directory}
        settings |= {"fsync": "off", "shared_buffers": "16MB", "max_connections": 30}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._before, self._binaries / "postgres", "-D", self.directory / "data", *words],
                stdout=log,
                stderr=log,
                cwd=self.directory,
            )
        deadline = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert self._process.poll() is None, (self.directory / "log").read_text()
            assert time.monotonic() < deadline, "the server does not come up"
            time.sleep(0.05)

    def _answers(self) -> bool:
        import psycopg

        try:
            return bool(self.sql("SELECT 1"))
        except psycopg.OperationalError:
            return False

    def kill(self) -> None:
        """At once, as by a power failure: all connections break."""
        self._stop(signal.SIGQUIT)

    def stop(self) -> None:
        self._stop(signal.SIGINT)

    def _stop(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(PATIENCE_S)

    def freeze(self) -> None:
        """It takes connections (the kernel does) and says nothing more."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def remove(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.directory)

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [*self._before, self._binaries / program, *words],
            capture_output=True,
            text=True,
            cwd=self.directory,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def _free_port() -> int:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return int(line.getsockname()[1])

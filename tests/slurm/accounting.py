"""Accounting for a test's Slurm: slurmdbd with a private MariaDB that listens on one socket in the Slurm's folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.slurm.configuration import Ports, our_name, slurmdbd_conf
from tests.slurm.processes import start_daemon, wait_until

Client = Callable[..., "subprocess.CompletedProcess[str]"]


def start_database(root: Path) -> subprocess.Popen[bytes]:
    """Start an empty MariaDB. As root, run it as the user mysql: MariaDB refuses to run as root."""
    user = "mysql" if os.geteuid() == 0 else our_name()
    directory = root / "database"
    directory.mkdir()
    if os.geteuid() == 0:
        shutil.chown(directory, user)
    plain = ["--no-defaults", f"--user={user}", f"--datadir={directory}/data"]
    with (root / "log/mariadb-install.log").open("wb") as log:
        install = ["mariadb-install-db", *plain, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run(install, stdout=log, stderr=log, check=True, timeout=300)
    listen = [f"--socket={directory}/socket", "--skip-networking", f"--pid-file={directory}/pid", "--skip-grant-tables"]
    small = ["--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M", "--innodb-lock-wait-timeout=900"]
    hasty = ["--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync"]
    database = start_daemon(["mariadbd", *plain, *listen, *small, *hasty], root / "log/mariadbd.log")
    ping = ["mariadb-admin", "--no-defaults", f"--socket={directory}/socket", "ping"]
    wait_until(
        lambda: subprocess.run(ping, capture_output=True, check=False, timeout=60).returncode == 0, "MariaDB to answer"
    )
    return database


def start_slurmdbd(root: Path, ports: Ports, run: Client) -> subprocess.Popen[bytes]:
    conf = root / "etc/slurmdbd.conf"
    conf.touch(mode=0o600)  # slurmdbd refuses a file that other users can read
    conf.write_text(slurmdbd_conf(root, ports))
    environment = {"SLURM_CONF": f"{root}/etc/slurm.conf", "MYSQL_UNIX_PORT": f"{root}/database/socket"}
    daemon = start_daemon(["slurmdbd", "-D"], root / "log/slurmdbd.out", environment)
    wait_until(lambda: run("sacctmgr", "-n", "list", "cluster", check=False).returncode == 0, "slurmdbd to answer")
    return daemon


def register(run: Client) -> None:
    """Add the cluster, one account, and the current user to slurmdbd."""
    run("sacctmgr", "-i", "add", "cluster", "lab")
    run("sacctmgr", "-i", "add", "account", "lab", "description=lab", "organization=lab")
    run("sacctmgr", "-i", "add", "user", our_name(), "account=lab", "defaultaccount=lab", check=False)
    run("sacctmgr", "-i", "modify", "user", our_name(), "set", "defaultaccount=lab", check=False)


def limit_user(run: Client, running: int | None, submitted: int | None) -> None:
    """Limit how many jobs the current user may have running and submitted at once; None means no limit."""
    said = {"MaxJobs": running, "MaxSubmitJobs": submitted}
    limits = [f"{name}={-1 if value is None else value}" for name, value in said.items()]
    run("sacctmgr", "-i", "modify", "user", our_name(), "account=lab", "set", *limits, check=False)

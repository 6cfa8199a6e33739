"""A cluster for Headway: every job is a process on this machine, and at most four run at a time."""

import os
import signal
import socket
import subprocess
import time

from headway.plugins import Cluster, JobNews, JobPhase, QueueRead, Resources

MOST_JOBS = 4


class ProcessCluster(Cluster):
    """Jobs of one core each; the file `pid` in a job's folder says which process it is."""

    name = "processes"
    queues = True  # a run may hold several jobs

    def __init__(self, jobs, options, node_command):
        self.jobs, self.node_command = jobs, node_command  # `options` are the site options of the run
        self.children = {}

    def limits(self):
        return Resources(cores=1, memory_bytes=10**9, disk_bytes=10**10, nodes=1, walltime_s=3600)

    def most_jobs(self):
        return MOST_JOBS

    def submit(self, request, tag, after=None):
        if self.find([tag]):
            return  # a manager that died may not know that it has submitted this job
        before = self.pid(after) if after else 0
        wait = f"while kill -0 {before} 2>/dev/null; do sleep 1; done; " if before else ""
        folder = self.jobs.folder / tag
        folder.mkdir(parents=True, exist_ok=True)
        command = ["sh", "-c", f'{wait}exec "$@"', "sh", *self.node_command(tag)]
        with (folder / "log").open("ab") as log:
            self.children[tag] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        (folder / "pid").write_text(str(self.children[tag].pid))

    def find(self, tags):
        return {tag for tag in tags if self.pid(tag) and self.is_alive(tag)}

    def poll(self, tags):
        gone = {tag: JobPhase.ENDED if self.pid(tag) else JobPhase.UNKNOWN for tag in tags}
        return gone | dict.fromkeys(self.find(tags), JobPhase.RUNNING)

    def news(self, tags):
        return {tag: JobNews(phase, nodes=(socket.gethostname(),)) for tag, phase in self.poll(tags).items()}

    def snapshot(self):
        free = MOST_JOBS - len(self.find(path.name for path in self.jobs.folder.iterdir()))
        return QueueRead(time.time(), [time.time()], [float(free)])

    def cancel(self, tags):
        for tag in self.find(tags):
            deadline = time.monotonic() + self.jobs.grace_s + 10
            while self.is_alive(tag):
                os.killpg(self.pid(tag), signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL)
                time.sleep(0.1)

    def pid(self, tag):
        path = self.jobs.folder / tag / "pid"
        return int(path.read_text()) if path.exists() else 0

    def is_alive(self, tag):
        child = self.children.get(tag)
        return child.poll() is None if child else os.path.exists(f"/proc/{self.pid(tag)}")

"""`ProcessTrees`: runs commands, measures them with all processes that they start, and enforces their limits."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import time
from contextlib import AsyncExitStack

from headway.model.errors import SiteError
from headway.model.outcome import Ending
from headway.workers.trees.container_group import ContainerGroup
from headway.workers.trees.end_note import read_end
from headway.workers.trees.group import Group, Groups, PolledGroup
from headway.workers.trees.launcher import Launcher
from headway.workers.trees.meter import Meter
from headway.workers.trees.methods import set_up
from headway.workers.trees.orphans import set_subreaper
from headway.workers.trees.processes import children_lookup, marker_of, read_process
from headway.workers.trees.slow_measurements import directory_bytes
from headway.workers.trees.strays import kill_attempt, kill_forked, wake, witnesses
from headway.workers.trees.tree import CommandEnd, CommandSpec, Rounds, Tree

_SETTLE_WITHIN_S = 10.0  # for witnesses to end whose commands were killed
_START_TRIES = 20  # one spawner may be killed after the other, while they start

_log = logging.getLogger(__name__)


class ProcessTrees:
    """Runs commands for one node supervisor, inside its event loop. There can be only one in a process.

    While it is open, this process is a child subreaper: orphans of the commands become its children, and it reaps them.
    Children that other code of this process starts are left alone as long as they stay in its session.
    """

    def __init__(self, *, method: str = "auto", marker: str = "") -> None:
        """The process that starts the commands has the `marker` in its environment."""
        self._marker = marker or f"commands of process {os.getpid()}"
        self.method = method  # after start() the one in use
        self.reason = ""  # why it was chosen
        self._groups: Groups
        self._rounds: Rounds
        self._launcher: Launcher
        self._relaunching = asyncio.Lock()
        self._to_undo = AsyncExitStack()
        self._open = False

    async def start(self) -> None:
        """Set up the method of measuring and start the spawner."""
        async with AsyncExitStack() as to_undo:
            self._groups, self.reason = set_up(self.method)
            self.method = self._groups.method
            to_undo.callback(self._groups.close)
            to_undo.callback(set_subreaper, set_subreaper(True))
            self._rounds = Rounds(self._marker)
            await self._start_spawner()
            to_undo.push_async_callback(lambda: self._launcher.close())  # noqa: PLW0108 - it may be replaced
            to_undo.push_async_callback(self._rounds.close)
            self._to_undo = to_undo.pop_all()
        self._open = True

    async def run(self, spec: CommandSpec) -> CommandEnd:
        """Run a command and return when all its processes have ended. If the caller is cancelled, it is stopped."""
        if self._open and self._launcher.lost:
            async with self._relaunching:
                if self._launcher.lost:
                    await self._start_spawner()
        if not self._open:
            raise RuntimeError("not started, or closed")
        if spec.key in self._rounds.trees:
            raise ValueError(f"{spec.key} is running already")
        group = self._make_group(spec)
        meter = Meter(group.method, floor_bytes=self._launcher.floor_bytes, most_cores=os.cpu_count() or math.inf)
        tree = Tree(spec, group, meter, self._rounds)
        self._rounds.trees[spec.key] = tree
        self._launcher.launch(tree)
        self._rounds.wake()
        try:
            await asyncio.shield(tree.done)
        except asyncio.CancelledError:
            self.kill(spec.key)
            raise
        disk_bytes = None
        if spec.measured_directory is not None:
            disk_bytes = await asyncio.to_thread(directory_bytes, spec.measured_directory)
        return tree.end(disk_bytes)

    @property
    def lost_gpus(self) -> str:
        """A sentence about the GPUs that have stopped to answer; empty while all do."""
        return "; ".join(self._rounds.gpus.lost.values())

    def kill(self, key: str) -> None:
        """Stop a command. It ends as cancelled, unless it has just ended or was being stopped for another cause."""
        tree = self._rounds.trees.get(key)
        if tree is not None:
            tree.stop(Ending.CANCELLED, time.monotonic())

    def notify(self, key: str, number: int) -> bool:
        """Send a signal to the processes of a command that have a handler for it; False if there are none."""
        tree = self._rounds.trees.get(key)
        return tree is not None and tree.group.notify(number, children_lookup())

    def send(self, key: str, number: int) -> bool:
        """Send a signal to all processes of a command; False if there are none (yet)."""
        tree = self._rounds.trees.get(key)
        return tree is not None and tree.group.send(number, children_lookup())

    async def close(self) -> None:
        """Kill the commands that still run, end the spawner and undo the setting up."""
        self._open = False
        await self._to_undo.aclose()

    def _make_group(self, spec: CommandSpec) -> Group:
        if spec.elsewhere:
            return ContainerGroup(spec.key)
        try:
            return self._groups.make(spec.key, spec.limits.memory_bytes)
        except OSError as error:  # such as a limit on the number of cgroups
            _log.warning("%s: no cgroup, measured by polling instead: %s", spec.key, error)
            return PolledGroup(spec.key)

    async def _start_spawner(self) -> None:
        for left in reversed(range(_START_TRIES)):
            launcher = Launcher(self._marker, self._spawner_lost, self._unwitnessed)
            self._rounds.spawner_pid = launcher.spawn()  # at once, so that it is not taken for an orphan
            try:
                await launcher.connect()
            except SiteError:
                if not left:
                    raise
            else:
                self._launcher = launcher
                return

    def _spawner_lost(self) -> None:
        """Let running commands go on, since they are now our children; find the ends of others, or lose them."""
        kill_forked(self._marker)
        trees = list(self._rounds.trees.values())
        unknown = [tree for tree in trees if not (_is_our_child(tree.witness) or _is_our_child(tree.leader))]
        known = {tree.witness for tree in trees}
        killed = {tree.spec.key: kill_attempt(tree.spec.key, self._marker) for tree in unknown}
        give_up_s = time.monotonic() + _SETTLE_WITHIN_S
        # Witnesses of commands whose start was not told: these may just be starting.
        while (left := witnesses(self._marker) - known) and time.monotonic() < give_up_s:
            wake(left)
            for tree in unknown:
                killed[tree.spec.key] |= kill_attempt(tree.spec.key, self._marker)
        for tree in unknown:
            _settle(tree, killed[tree.spec.key])

    def _unwitnessed(self, tree: Tree) -> None:
        """Let a command whose witness was killed go on as our child; if it is not known, find its end, or lose it."""
        if tree.leader is None and (child := _child_of(tree.spec.key)):
            tree.started(child, time.monotonic(), None)
        elif tree.leader is None:
            _settle(tree, kill_attempt(tree.spec.key, self._marker))
        else:
            tree.witness_ended()


def _settle(tree: Tree, killed: set[int]) -> None:
    """Tell a tree how its command ended, by the note that its witness left, if it was not these kills."""
    end = read_end(tree.spec.end_file)
    if end is None or (killed and end.status == signal.SIGKILL):
        tree.lost()
    else:
        tree.ended_unseen(end)


def _child_of(key: str) -> int | None:
    """Return the first process of an attempt if it is a child of this one, since its witness was killed."""
    myself = read_process(os.getpid())
    children = children_lookup()(myself._replace(threads=1)) if myself is not None else []
    found = [process for pid in children if (process := read_process(pid)) is not None and process.session == pid]
    return next((process.pid for process in found if marker_of(process.pid) == key), None)


def _is_our_child(pid: int | None) -> bool:
    """Whether a process is a child of this one: a witness whose spawner has died, or a command whose witness has."""
    process = None if pid is None else read_process(pid)
    return process is not None and process.parent == os.getpid()

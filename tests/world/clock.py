"""`World`: virtual time, and processes that share it. Each process has an event loop of its own and can be killed."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest import mock

from greenlet import getcurrent, greenlet

import headway.drivers.background

Result = TypeVar("Result")
_Waiting = tuple[greenlet, Callable[[], object], "Process | None", "Process | None"]

BEGIN = 1_800_000_000.0  # when a world begins, in seconds since the epoch
MOST_STEPS = 400_000
UNHANDLED = "an error that nobody handled"  # how a story begins to say that no law was broken
_NEVER = float("inf")
_THREAD_S = 0.2  # the longest that a thread takes for its work, in virtual time


class Killed(SystemExit):
    """Ends a process at once, wherever it is. asyncio passes a SystemExit on."""


class StuckError(AssertionError):
    """Nothing will ever happen any more, or things happen for ever."""


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop by the world's clock. It waits for nothing: the world calls it when something is due."""

    # What the base class has and does not tell of.
    _ready: deque[Any]
    _scheduled: list[Any]  # a heap
    _timer_cancelled_count: int

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process
        self._selector = self  # of which only `select` is used
        self._clock_resolution = 1e-6  # what a float of today's date can tell apart
        self.signal_handlers: dict[int, Callable[[], object]] = {}
        self.set_exception_handler(self._complain)

    def select(self, timeout: float | None) -> list[Any]:
        return []

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def _check_closed(self) -> None:
        """Let what is left of a killed process be cleaned away in peace: nothing that it does has an effect."""

    def time(self) -> float:
        return self._process.world.now

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: Any) -> None:
        self.signal_handlers[sig] = lambda: callback(*args)

    def remove_signal_handler(self, sig: int) -> bool:
        return self.signal_handlers.pop(sig, None) is not None

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Do a thread's work after a moment, all at once, unless it waits for something (`World.wait_until`)."""
        future = self.create_future()

        def work() -> None:
            if future.cancelled():
                return
            try:
                result = func(*args)
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self.call_later(self._process.world.moment_s(_THREAD_S), lambda: greenlet(work).switch())
        return future

    def _complain(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if self._process.alive and error is not None:
            self._process.world.troubles.append(f"{UNHANDLED} in {self._process.name}: {error!r}")

    def next_at(self) -> float:
        """When it has something to do: at once, or when its next timer is due."""
        if self._ready:
            return 0.0
        timers = self._scheduled
        while timers and timers[0]._cancelled:
            self._drop_first_timer()
        return timers[0]._when if timers else _NEVER

    def run_due(self) -> None:
        """Do what is due, as `BaseEventLoop._run_once` does, without what only real time needs."""
        ready, timers = self._ready, self._scheduled
        until = self._process.world.now + self._clock_resolution
        while timers and timers[0]._when < until:
            ready.append(self._drop_first_timer())
        for _ in range(len(ready)):  # what these add has to wait
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    def _drop_first_timer(self) -> asyncio.TimerHandle:
        handle = heapq.heappop(self._scheduled)
        handle._scheduled = False
        if handle._cancelled:
            self._timer_cancelled_count -= 1
        return handle


class Process:
    """A process of the world."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.is_there = True
        self.is_dying = False  # code of it that still runs has no effect
        self.loop = VirtualLoop(self)
        self._mourners: list[Callable[[], object]] = []
        world.processes.append(self)

    @property
    def alive(self) -> bool:
        return self.is_there and not self.is_dying

    def at_end(self, act: Callable[[], object]) -> None:
        """Do something when this process has ended, in whatever way."""
        self._mourners.append(act)

    def start(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        return self.loop.create_task(work)

    def run_once(self) -> None:
        self.world.current = self
        asyncio._set_running_loop(self.loop)
        try:
            self.loop.run_due()
        except Killed:
            self.end()
        finally:
            asyncio._set_running_loop(None)
            self.world.current = None

    def end(self) -> None:
        """Let it be gone from one moment to the next: none of its code goes on."""
        if self.is_there:
            self.is_there = False
            self.world.processes.remove(self)
            self.world.dead += asyncio.all_tasks(self.loop)
            self.loop.close()
            for act in self._mourners:
                act()


class World:
    """Time passes when nobody has anything to do. Who of those who have is next, the seed decides."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = BEGIN
        self.wall_ahead_s = 0.0  # how wrong the clock on the wall is
        self.processes: list[Process] = []
        self.current: Process | None = None  # whose loop runs
        self.session: Process | None = None  # of the user's command that runs outside of its loop
        self._waiting: list[_Waiting] = []
        self.dead: list[object] = []  # tasks of killed processes, which would tidy up if they were not kept
        self.troubles: list[str] = []  # errors that nobody handled, and laws that were broken
        self.told: list[str] = []  # what happened, for people
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count()
        self._steps = 0
        self.most_steps = MOST_STEPS

    def require(self, law: object, otherwise: str) -> None:
        """End the story if a law is broken, whoever may handle errors here."""
        if not law:
            self.troubles.append(otherwise)

    def judge(self) -> None:
        """Raise an error if a law was broken, or an error was not handled."""
        assert not self.troubles, self.troubles[0]

    def tell(self, what: str) -> None:
        self.told.append(f"{self.now - BEGIN:10.3f} {what}")

    def moment_s(self, longest_s: float) -> float:
        return self.random.uniform(0.0, longest_s)

    def after(self, wait_s: float, act: Callable[[], object]) -> None:
        """Let something happen later."""
        heapq.heappush(self._events, (self.now + wait_s, next(self._numbers), act))

    def step(self) -> None:
        self._steps += 1
        self.judge()
        if self._steps > self.most_steps:
            raise StuckError(f"the run does not end: {self.most_steps} steps")
        if self._go_on():
            return
        if self._events and self._events[0][0] <= self.now:
            heapq.heappop(self._events)[2]()
            return
        due = []
        next_at = self._events[0][0] if self._events else _NEVER
        for process in self.processes:
            at = process.loop.next_at()
            if at <= self.now:
                due.append(process)
            elif at < next_at:
                next_at = at
        if due:
            self.random.choice(due).run_once()
        elif next_at == _NEVER:
            raise StuckError("nothing will ever happen any more")
        else:
            self.now = next_at

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Let a call that blocks wait while all others go on: of a thread, or of one of several users."""
        self._waiting.append((getcurrent(), condition, self.current, self.session))
        self.session = None
        getcurrent().parent.switch()

    def _go_on(self) -> bool:
        """Let the first call go on whose wait is over; return whether there was one."""
        for waiting in self._waiting:
            call, condition, current, session = waiting
            if condition():
                self._waiting.remove(waiting)
                self.current, self.session = current, session
                try:
                    call.switch()
                except Killed:
                    if current is not None:
                        current.end()
                finally:
                    self.current = self.session = None
                return True
        return False

    def pass_by(self, wait_s: float) -> None:
        """Let time pass, in which no manager is at work."""
        over: list[bool] = []
        self.after(wait_s, lambda: over.append(True))
        while not over:
            self.step()

    def run(self, process: Process, work: Coroutine[Any, Any, Result]) -> Result:
        """Let a process do its work to the end; `Killed` if it is killed."""
        task = process.start(work)
        while not task.done():
            if not process.is_there:
                raise Killed
            self.step()
        return task.result()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let this world's clock and threads be those of all code."""
        world = self

        class Thread:
            def __init__(self, target: Callable[[], object], daemon: bool = False) -> None:
                self._target = target

            def start(self) -> None:
                asyncio.get_running_loop().call_later(world.moment_s(_THREAD_S), self._target)

        def sleep(seconds: float) -> None:
            self.now += seconds  # a thread that sleeps stops all: as if the machine were slow

        with ExitStack() as stack:
            for name, function in {
                "time": lambda: self.now + self.wall_ahead_s,
                "monotonic": lambda: self.now,
                "sleep": sleep,
            }.items():
                stack.enter_context(mock.patch.object(time, name, function))
            threads = SimpleNamespace(Thread=Thread, Semaphore=threading.Semaphore)
            stack.enter_context(mock.patch.object(headway.drivers.background, "threading", threads))
            yield

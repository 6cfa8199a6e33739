"""The dashboard's addresses and what each answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from headway.api.cancel import cancel
from headway.api.detach import detach
from headway.api.history import show_history
from headway.api.report import graph_of
from headway.api.settings import settings_for
from headway.dashboard import pages
from headway.dashboard.guard import METRICS, Guard, Keys
from headway.dashboard.live import Live, LiveRun
from headway.dashboard.queue import QueueHere
from headway.dashboard.shelf import Shelf
from headway.dashboard.task_texts import explanation, log_tail
from headway.journal.folder import RunFolder
from headway.model.errors import BusyError, HeadwayError, InputError
from headway.report.metrics import CONTENT_TYPE, metrics_text
from headway.report.words import harmless

Answer = TypeVar("Answer")
_MOST_CALLS = 8  # that read journals or ask Slurm, at the same time


class Dashboard:
    """Answers requests about the runs of a shelf."""

    def __init__(self, shelf: Shelf, keys: Keys) -> None:
        self.shelf = shelf
        self.keys = keys
        self.live = Live(shelf)
        self._queue = QueueHere(shelf.folder)
        self._calls = asyncio.Semaphore(_MOST_CALLS)

    def app(self, beside: Callable[[Dashboard], Awaitable[None]] | None = None) -> Guard:
        """The whole application; `beside` goes on as long as it is served."""

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            task = asyncio.ensure_future(beside(self)) if beside else None
            yield
            if task is not None:
                task.cancel()
            await self.live.close()

        routes = [
            Route("/", self.list_page),
            Route("/events", self.list_events),
            Route("/history", self.history_page),
            Route("/history.json", self.history),
            Route("/queue", self.queue_page),
            Route("/queue/wait", self.wait),
            Route(METRICS, self.metrics),
            Route("/static/{name}", self.static),
            Route("/runs/{run}", self.run_page),
            Route("/runs/{run}/events", self.run_events),
            Route("/runs/{run}/graph", self.graph),
            Route("/runs/{run}/tasks/{task:int}/why", self.why),
            Route("/runs/{run}/tasks/{task:int}/log", self.log),
            Route("/runs/{run}/cancel", self.cancel, methods=["POST"]),
            Route("/runs/{run}/resume", self.resume, methods=["POST"]),
        ]
        handlers: Any = {HeadwayError: _complain, Exception: _surprise}
        return Guard(Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers), self.keys)

    # --- pages ---

    async def list_page(self, request: Request) -> Response:
        if self.shelf.after is not None:  # a single run: that of `headway run --serve`
            await self.live.look()
            if rows := self.shelf.rows():
                return RedirectResponse(f"/runs/{next(iter(rows))}", 303)
        return HTMLResponse(pages.list_page(harmless(str(self.shelf.folder)), self._csrf(request)))

    async def run_page(self, request: Request) -> Response:
        folder = await self._folder(request)
        row = self.shelf.rows().get(request.path_params["run"])
        title = f"{row.name or 'run'}, run {folder.run}" if row else f"run {folder.run}"
        return HTMLResponse(pages.run_page(title, self._csrf(request)))

    async def history_page(self, request: Request) -> Response:
        return HTMLResponse(pages.history_page(self._csrf(request)))

    async def queue_page(self, request: Request) -> Response:
        return HTMLResponse(pages.queue_page(self._csrf(request)))

    async def static(self, request: Request) -> Response:
        found = pages.static_file(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        return Response(found[0], media_type=found[1])

    # --- what pages fetch ---

    async def list_events(self, request: Request) -> Response:
        return _stream(self.live.list_events())

    async def run_events(self, request: Request) -> Response:
        live = await self._live(request)
        return _stream(live.stream.events(live.whole))

    async def graph(self, request: Request) -> Response:
        live = await self._live(request)
        data = live.data
        if data is None:
            raise InputError(live.trouble or "there is no graph yet")
        return Response(await self._call(lambda: graph_of(live.folder, data)), media_type="image/svg+xml")

    async def why(self, request: Request) -> Response:
        folder, task = await self._task(request)
        width = _number(request, "width", 100)
        return _json({"text": await self._call(lambda: explanation(folder, task, width))})

    async def log(self, request: Request) -> Response:
        folder, task = await self._task(request)
        asked = request.query_params
        stream, after = asked.get("stream", "stdout"), _number(request, "after", 0)
        attempt = _number(request, "attempt", 0) or None
        return _json(await self._call(lambda: log_tail(folder, task, attempt, stream, after)))

    async def history(self, request: Request) -> Response:
        place = self.shelf.folder
        return _json(await self._call(lambda: show_history(history=settings_for(place).history).document()))

    async def wait(self, request: Request) -> Response:
        nodes, cores, minutes = (_number(request, name, 1) for name in ("nodes", "cores", "minutes"))
        if min(nodes, cores, minutes) < 1:
            raise InputError("nodes, cores and minutes are numbers from 1 on")
        return _json(await self._queue.wait(nodes, cores, minutes))

    async def metrics(self, request: Request) -> Response:
        return Response(await self.metrics_now(), headers={"content-type": CONTENT_TYPE})

    async def metrics_now(self) -> str:
        """The metrics of all runs, as text."""
        await self.live.look()
        return metrics_text(self.shelf.metrics())

    # --- what changes a run ---

    async def cancel(self, request: Request) -> Response:
        folder = await self._folder(request)
        done = await self._call(lambda: cancel(folder.run, folder.directory, wait=False))
        return _json(done.document())

    async def resume(self, request: Request) -> Response:
        folder = await self._folder(request)
        done = await self._call(lambda: detach(None, folder.directory, run=folder.run))
        said = f"run {folder.run} goes on in the background, as process {done.manager_pid}"
        return _json({"run": folder.run, "message": said if done.exit_code is None else f"run {folder.run} has ended"})

    # --- help ---

    def _csrf(self, request: Request) -> str:
        """What a page sends with a POST; nothing for those who may only look."""
        return self.keys.csrf if request.state.owner else ""

    async def _folder(self, request: Request) -> RunFolder:
        folder = await self.live.folder(request.path_params["run"])
        if folder is None:
            raise HTTPException(404)
        return folder

    async def _live(self, request: Request) -> LiveRun:
        live = await self.live.run(request.path_params["run"])
        if live is None:
            raise HTTPException(404)
        return live

    async def _task(self, request: Request) -> tuple[RunFolder, str]:
        """The run and the task, whose number is that of the page's table: names of tasks are not in addresses."""
        live = await self._live(request)
        name = await self.live.in_thread(lambda: live.collector.name_of(request.path_params["task"]))
        if name is None:
            raise HTTPException(404)
        return live.folder, name

    async def _call(self, function: Callable[[], Answer]) -> Answer:
        """Call something that takes long in a thread, while others are served."""
        async with self._calls:
            return await asyncio.to_thread(function)


def _number(request: Request, name: str, otherwise: int) -> int:
    text = request.query_params.get(name, str(otherwise))
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise InputError(f"{name} is a whole number, and this is {text[:40]!r}")
    return int(text)


def _json(answer: Any) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")


def _stream(events: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(events, media_type="text/event-stream")


async def _complain(_: Request, error: HeadwayError) -> Response:
    code = {InputError: HTTPStatus.BAD_REQUEST, BusyError: HTTPStatus.CONFLICT}.get(type(error))
    text = msgspec.json.encode({"error": harmless(str(error))})
    return Response(text, code or HTTPStatus.SERVICE_UNAVAILABLE, media_type="application/json")


async def _surprise(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"A bug in Headway ({type(error).__name__}); please report it.\n", 500)

"""The dispatcher of a cluster: nudges as Celery tasks, one queue per lane, on any broker Celery supports.

Celery's own log message for a lost broker has several lines, is repeated with every try, and comes from
every worker process; it is reduced to one line.

A task is one slice: it is taken out of its queue, kept until the slice is over, and acknowledged only then.
The tasks of a worker that died are returned by the broker; the rows show much sooner that its visits are
free again.

Celery does not support asyncio. Its worker runs in a thread of its own with a pool of threads, each of
which hands its nudge to the event loop and waits for the end of the slice.
"""

import asyncio
import logging
import threading
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import UUID

from celery import Celery
from celery.exceptions import Reject
from celery.worker import state
from kombu import Queue
from kombu.asynchronous import set_event_loop

from gossamer.dispatch.local import Inbox
from gossamer.dispatch.seam import Nudge
from gossamer.logging import get_logger

_CONSUMER = "celery.worker.consumer.consumer"
_CONNECTION = "celery.worker.consumer.connection"
_REQUEST = "celery.worker.request"
_MARKS = ("consumer: Cannot connect", "consumer: Connection to broker lost")
_NOT_TOLD = ("Couldn't ack", "Couldn't reject")

_FILTERED = (_CONSUMER, _CONNECTION, _REQUEST)

log = get_logger(__name__)


class OneLine(logging.Filter):
    """A filter for the loggers of the consumer, which report each failed connection and the one that succeeds."""

    def __init__(self) -> None:
        super().__init__()
        self._said = threading.Event()

    def install(self) -> None:
        logging.getLogger(_CONNECTION).setLevel(logging.INFO)  # where it says that it is connected
        for name in _FILTERED:
            logging.getLogger(name).addFilter(self)

    def remove(self) -> None:
        for name in _FILTERED:
            logging.getLogger(name).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if text.startswith("Connected to "):
            self._over()
            return False
        if text.startswith(_NOT_TOLD):
            # With a traceback of its own, although the row has long said what became of the visit.
            log.warning("broker.not_acknowledged", why=_cause(record, text))
            return False
        if not text.startswith(_MARKS):
            return True
        self.say(_cause(record, text))
        return False

    def say(self, cause: str) -> None:
        if not self._said.is_set():
            self._said.set()
            why = "no work can be taken: it is tried again and again, and nothing is lost"
            log.warning("broker.away", why=f"{why} ({cause})")

    def _over(self) -> None:
        if self._said.is_set():
            self._said.clear()
            log.info("broker.back")


def _cause(record: logging.LogRecord, text: str) -> str:
    """Return the driver's error message, without the URL, which may contain a password."""
    given = record.args if isinstance(record.args, tuple) else ()
    cause = next((one for one in given if isinstance(one, BaseException)), None)
    return (str(cause) if cause else text).splitlines()[0].strip(" .")


TASK = "gossamer.slice"
VISIBILITY = 300  # seconds after which a broker gives a task to another worker; always longer than a slice
_CONNECT = 5.0  # seconds
_STARTS = 30.0
_GATHER = 0.03


def make_app(broker: str, prefix: str, lanes: Collection[str]) -> Celery:
    """Make a Celery app without results and remote control; tasks are acknowledged when they are done."""
    app = Celery("gossamer", broker=broker, set_as_current=False, fixups=[])
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        # Else each thread of a pool makes its own keeper of results, and reads the names of all packages for it: 10 ms.
        result_backend_thread_safe=True,
        task_serializer="json",
        accept_content=["json"],
        task_queues=[Queue(_queue(prefix, lane)) for lane in sorted(lanes)],
        task_create_missing_queues=True,
        task_publish_retry=True,
        task_publish_retry_policy={"max_retries": 2, "interval_start": 0.1, "interval_step": 0.2, "interval_max": 0.5},
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=_CONNECT,
        broker_transport_options=_transport(broker, prefix),
    )
    return app


def _transport(broker: str, prefix: str) -> dict[str, Any]:
    options: dict[str, Any] = {"visibility_timeout": VISIBILITY}
    if broker.startswith(("redis", "sentinel")):
        # Found again within seconds, not after kombu's own hundred; and separate from other users of the server.
        options |= {"unacked_restore_interval": 2, "unacked_restore_throttle": 1, "global_keyprefix": f"{prefix}:"}
        options |= {"socket_timeout": 30, "socket_connect_timeout": _CONNECT, "socket_keepalive": True}
    if broker.startswith("sqs"):
        # A look at a queue waits at the server, where a message is seen at once. What is handed back waits as long.
        options |= {"wait_time_seconds": 5, "polling_interval": 0.2}
    return options


def _queue(prefix: str, lane: str) -> str:
    return f"{prefix}.{lane}"


class CeleryDispatcher:
    """A dispatcher for one event loop. It only sends, until `listen` is called."""

    def __init__(self, broker: str, prefix: str, lanes: Collection[str]) -> None:
        self._prefix = prefix
        self._lanes = tuple(lanes)
        self._app = make_app(broker, prefix, lanes)
        self._loop = asyncio.get_running_loop()
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="nudges")
        self._away = False
        # Celery hands over those of one round one by one; claimed together they cost little more than one alone.
        self._inbox = Inbox(_GATHER)
        self._open: dict[Nudge, list[Future[bool]]] = {}  # tasks that wait for the end of their slice
        self._outbox: list[tuple[Nudge, asyncio.Future[bool]]] = []  # waiting for the thread that sends
        self._worker: Any = None
        self._results: Any = None
        self._listening: threading.Thread | None = None
        self._ready = threading.Event()
        self._outage = OneLine()

    async def listen(self, most: int) -> None:
        """Take tasks from now on, at most so many at a time."""
        self._app.task(
            name=TASK, shared=False, lazy=False, acks_late=True, reject_on_worker_lost=True, ignore_result=True
        )(self._slice)
        self._app.set_default()  # the pool's threads look for the task there
        self._results = self._app.backend  # made now, and not by all threads whose first tasks end together
        state.should_stop = None
        set_event_loop(None)  # one that another worker of this process has closed no longer hears of answers from SQS
        self._worker = self._app.WorkController(
            pool="threads",
            concurrency=most,
            queues=[_queue(self._prefix, lane) for lane in self._lanes],
            without_mingle=True,
            without_gossip=True,
            without_heartbeat=True,
            ready_callback=lambda _: self._ready.set(),
        )
        self._outage.install()
        self._listening = threading.Thread(target=self._worker.start, name="celery", daemon=True)
        self._listening.start()
        if not await asyncio.to_thread(self._ready.wait, _STARTS):
            self._outage.say("no connection yet")

    def want(self, wanted: bool) -> None:
        """Take tasks from now on if `wanted`, otherwise pause; those that have arrived are received anyway."""
        consumer = self._worker.consumer if self._worker else None
        if consumer is None:
            return
        change = consumer.add_task_queue if wanted else consumer.cancel_task_queue
        for lane in self._lanes:
            consumer.call_soon(change, _queue(self._prefix, lane))

    # Sending

    async def send(self, nudge: Nudge) -> bool:
        if self._inbox.closed:
            return False
        sent: asyncio.Future[bool] = self._loop.create_future()
        self._outbox.append((nudge, sent))
        if len(self._outbox) == 1:  # those that are sent together go in one hop to the thread
            self._loop.call_soon(self._post)
        return await sent

    def _post(self) -> None:
        nudges, senders = [nudge for nudge, _ in self._outbox], [sent for _, sent in self._outbox]
        self._outbox.clear()
        if self._inbox.closed:
            _tell(senders, [False] * len(senders))
            return
        going = self._loop.run_in_executor(self._sender, self._send_all, nudges)
        going.add_done_callback(lambda done: _tell(senders, done.result()))

    def _send_all(self, nudges: list[Nudge]) -> list[bool]:
        sent = 0
        while sent < len(nudges) and self._send(nudges[sent]):
            sent += 1
        # While the broker is away each try takes seconds: the others need none to be known as lost.
        return [number < sent for number in range(len(nudges))]

    def _send(self, nudge: Nudge) -> bool:
        try:
            queue = _queue(self._prefix, nudge.lane)
            self._app.send_task(TASK, args=[nudge.visit.hex, nudge.lane], queue=queue, ignore_result=True)
        except Exception as error:  # noqa: BLE001 - whatever it is, the row knows of the visit
            if not self._away:
                log.error("broker.away", why=str(error) or type(error).__name__)
            self._away = True
            return False
        if self._away:
            log.info("broker.back")
        self._away = False
        return True

    # Receiving

    def _slice(self, visit: str, lane: str) -> None:
        """Run the task, in a thread of Celery's pool."""
        over: Future[bool] = Future()
        try:
            self._loop.call_soon_threadsafe(self._arrive, Nudge(UUID(visit), lane), over)
        except RuntimeError:
            raise Reject(requeue=True) from None  # the loop is closed: another worker takes it
        if not over.result():
            raise Reject(requeue=True)

    def _arrive(self, nudge: Nudge, over: "Future[bool]") -> None:
        if self._inbox.closed:
            over.set_result(False)
            return
        tasks = self._open.setdefault(nudge, [])
        tasks.append(over)
        if len(tasks) == 1:  # else it is in hand already: a second nudge adds nothing to the first
            self._inbox.put(nudge)

    async def receive(self, most: int) -> list[Nudge]:
        return await self._inbox.take(most)

    def done(self, nudge: Nudge) -> None:
        if nudge not in self._inbox:
            self._end(nudge, acknowledge=True)

    def _end(self, nudge: Nudge, *, acknowledge: bool) -> None:
        for over in self._open.pop(nudge, ()):
            over.set_result(acknowledge)

    async def close(self) -> None:
        """Return unreceived nudges to their queue; received ones that are not done count as done."""
        if self._inbox.closed:
            return
        waiting = {nudge for nudge in self._open if nudge in self._inbox}
        self._inbox.close()
        state.should_stop = 0  # before the tasks end: their threads would take the next ones
        for nudge in list(self._open):
            self._end(nudge, acknowledge=nudge not in waiting)
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        if self._listening:
            self._listening.join(_CONNECT * 2)
        self._outage.remove()
        self._sender.shutdown()
        self._app.close()


def _tell(senders: "list[asyncio.Future[bool]]", ends: list[bool]) -> None:
    for sender, end in zip(senders, ends, strict=True):
        if not sender.done():  # else it was cancelled
            sender.set_result(end)

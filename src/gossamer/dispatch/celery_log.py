"""What Celery writes about a broker that is away, as one line of ours per outage; of a lost answer, as one line.

Its own is several lines long, comes again with every try, and one working process is as loud as the other.
"""

import logging
import threading

from gossamer.telemetry import get_logger

_CONSUMER = "celery.worker.consumer.consumer"
_CONNECTION = "celery.worker.consumer.connection"
_REQUEST = "celery.worker.request"
_MARKS = ("consumer: Cannot connect", "consumer: Connection to broker lost")
_NOT_TOLD = ("Couldn't ack", "Couldn't reject")

_FILTERED = (_CONSUMER, _CONNECTION, _REQUEST)

log = get_logger(__name__)


class OneLine(logging.Filter):
    """For the loggers of the consumer: it hears of every try that failed, and of the one that did not."""

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
    """What the driver says, without the address, which may hold a password."""
    given = record.args if isinstance(record.args, tuple) else ()
    cause = next((one for one in given if isinstance(one, BaseException)), None)
    return (str(cause) if cause else text).splitlines()[0].strip(" .")

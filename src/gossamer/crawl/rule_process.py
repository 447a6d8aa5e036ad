"""`python -m gossamer.crawl.rule_process`: extracts fields from pages by slow rules, one page at a time.

It reads a frame from its standard input, answers with one, and ends at the end of the input. Its
parent may terminate it at any moment. If the parent is gone, the process ends on its own: an alarm
stops it when a page has used up its time, whatever code is running.

    out  one byte, once it is ready
    in   length, then a pickled `Task`
    out  length, then JSON: {"fields": {...}} or {"stopped": "why"}

While it works, the number of the running rule is kept in shared memory (`--place`), so that it is
known even after the process was terminated.
"""

import argparse
import mmap
import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import orjson

from gossamer.analyze.rules import Rule, Rules, RuleStopped, extract
from gossamer.model.document import Response
from gossamer.model.trouble import Trouble
from gossamer.parse import bare_document, parse_document

LENGTH = struct.Struct("!Q")
PLACE = struct.Struct("!H")
PLACE_BYTES = 64
NONE = 0xFFFF  # in place of a rule's number: no rule has begun
READY = b"!"
MEMORY = 1 << 30  # bytes of address space beyond those at the start


class Task(NamedTuple):
    """One page. `rules` are pickled, once for a whole job."""

    rules: bytes
    seconds: float  # of CPU time
    response: Response


def numbered(rules: Rules) -> tuple[Rule, ...]:
    """Return all rules, nested ones included, in the order of their numbers."""
    return tuple(one for rule in rules.values() for one in (rule, *numbered(rule.fields)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gossamer.crawl.rule_process")
    parser.add_argument("--place", type=int, required=True, help="a file of 64 bytes for the number of the rule")
    parser.add_argument("--nice", type=int, default=0, help="its nice value")
    chosen = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent process
    with suppress(OSError):
        os.nice(chosen.nice)
    _limit_memory()
    place = mmap.mmap(chosen.place, PLACE_BYTES)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sink.write(READY)
    sink.flush()
    while head := source.read(LENGTH.size):
        body = source.read(LENGTH.unpack(head)[0])
        answer = orjson.dumps(_answer(pickle.loads(body), place))  # noqa: S301 - from the process that started this one
        sink.write(LENGTH.pack(len(answer)) + answer)
        sink.flush()


def _answer(task: Task, place: mmap.mmap) -> Mapping[str, object]:
    rules, numbers = _read(task.rules)

    def watch(rule: Rule) -> None:
        PLACE.pack_into(place, 0, numbers[rule.path])

    signal.setitimer(signal.ITIMER_PROF, task.seconds)
    try:
        read = parse_document(task.response)
        doc = bare_document(task.response) if isinstance(read, Trouble) else read
        return {"fields": extract(rules, doc, watch)}
    except RuleStopped as stopped:
        return {"stopped": str(stopped)}
    except MemoryError:
        running = next((path for path, number in numbers.items() if number == PLACE.unpack_from(place)[0]), None)
        what = "reading the page" if running is None else f'rule "{running}"'
        return {"stopped": f"{what}: more than {MEMORY >> 30} GB of memory"}
    except Exception as error:  # noqa: BLE001 - becomes the page's trouble, with its name in the log
        return {"failed": type(error).__name__}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@lru_cache(maxsize=4)
def _read(pickled: bytes) -> tuple[Rules, Mapping[str, int]]:
    rules: Rules = pickle.loads(pickled)  # noqa: S301 - the same
    return rules, {rule.path: number for number, rule in enumerate(numbered(rules))}


def _limit_memory() -> None:
    with suppress(OSError, ValueError):
        has = 0
        with suppress(OSError):
            has = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + MEMORY, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()

"""Command line of the emulated providers: print each address and key, serve until stopped."""

import argparse
import asyncio
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import uvloop

from gossamer_sandbox.providers.running import EMULATORS, emulate

_STOP = (signal.SIGINT, signal.SIGTERM)


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    uvloop.run(_serve(options))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gossamer_sandbox.providers", description="Serve emulated providers on loopback."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EMULATORS)}; all when none is given")
    parser.add_argument(
        "--connect-to", default="", help="where the hosts are that may be visited, such as *.test=127.0.0.1:8901"
    )
    parser.add_argument(
        "--port", type=int, default=0, help="of the first one; the others take the next. 0 takes free ones"
    )
    parser.add_argument("--key", default="secret-key-of-a-test", help="the key that is accepted")
    parser.add_argument("--credits", type=int, default=1_000_000, help="of the plan")
    parser.add_argument("--at-once", type=int, default=5, help="calls that may run beside each other")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds every call takes at least")
    parser.add_argument("--bills", type=Path, help="folder for the bills, NAME.jsonl each")
    return parser


async def _serve(options: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _STOP:
        loop.add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        for at, name in enumerate(options.names or EMULATORS):
            running = await stack.enter_async_context(
                emulate(
                    name,
                    options.connect_to,
                    port=options.port + at if options.port else 0,
                    bill=options.bills / f"{name}.jsonl" if options.bills else None,
                    key=options.key,
                    credits=options.credits,
                    at_once=options.at_once,
                    delay=options.delay,
                )
            )
            _say(f"{name} {running.url}")
        _say("ready")
        await stopped.wait()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

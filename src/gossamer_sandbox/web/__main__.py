"""Command line of the sample web: write the truth and the lists, print the address, serve until stopped."""

import argparse
import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

import uvloop

from gossamer_sandbox.web.patience import Patience
from gossamer_sandbox.web.reach import Caps
from gossamer_sandbox.web.server import LOOPBACK, listening_socket, serve
from gossamer_sandbox.web.web import SampleWeb

_STOP = (signal.SIGINT, signal.SIGTERM)


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    web = SampleWeb(
        sites=options.sites,
        seed=options.seed,
        nasty=options.nasty,
        size_min=options.size_min,
        size_max=options.size_max,
        retry_after_max=options.retry_after_max,
        slow_seconds=options.slow_seconds,
    )
    # Bound first: a port that is taken should be said before the truth is worked out.
    sockets = _sockets(options.host, options.port, 1 if options.guarded else options.processes)
    _write_lists(web, options)
    for sock in sockets:
        sock.listen(4_096)  # from here on a client may connect, whether or not a process has come to accept yet
    back = listening_socket(host=options.host) if options.guarded else None
    if back:
        back.listen(4_096)
    behind = f" back={back.getsockname()[1]}" if back else ""
    _say(f"ready port={sockets[0].getsockname()[1]}{behind}")
    return _serve_all(web, options.log, sockets, options.guarded, back)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gossamer_sandbox.web", description="Serve a sample web.")
    parser.add_argument("--sites", type=int, default=200)
    parser.add_argument(
        "--host", default=LOOPBACK, help="address to listen at; 0.0.0.0 lets other machines ask, at every address"
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--truth", type=Path, help="write what there is to find to this file (JSON)")
    parser.add_argument("--log", type=Path, help="write every request to this file (JSON lines)")
    parser.add_argument("--domains", type=Path, help="write the sites to this file, one per line")
    parser.add_argument("--keywords", type=Path, help="write the keywords to this file, one per line")
    parser.add_argument("--pages-per-site", type=int, default=500, help="cap of the walk the truth is worked out for")
    parser.add_argument("--depth", type=int, default=50, help="levels below the homepage, for the truth")
    parser.add_argument("--top-pages", type=int, default=50, help="pages read of a site larger than that cap")
    parser.add_argument("--include", action="append", default=[], help="pattern of the pages to read; may be repeated")
    parser.add_argument("--exclude", action="append", default=[], help="pattern of pages to leave out; may be repeated")
    parser.add_argument("--no-sitemaps", action="store_true", help="the truth is that of a reader who asks for none")
    parser.add_argument("--nasty", type=float, default=0.25, help="share of sites with something wrong")
    parser.add_argument("--size-min", type=int, default=4, help="pages of the smallest site")
    parser.add_argument("--size-max", type=int, default=24, help="pages of the largest site")
    parser.add_argument(
        "--retry-after-max", type=float, default=2, help="longest wait a page asks for before it answers"
    )
    parser.add_argument("--slow-seconds", type=float, default=1.0, help="how long slow pages take")
    parser.add_argument(
        "--guarded", type=float, default=0.0, help="share of pages that are shown only at a second port, called back"
    )
    parser.add_argument("--processes", type=int, default=1, help="only one of them with --guarded")
    return parser


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _write_lists(web: SampleWeb, options: argparse.Namespace) -> None:
    if options.domains:
        options.domains.write_text("".join(f"{domain}\n" for domain in web.domains()), encoding="utf-8")
    if options.keywords:
        options.keywords.write_text("".join(f"{keyword}\n" for keyword in web.keywords), encoding="utf-8")
    if options.truth:
        web.write_truth(options.truth, _caps(options))
    if options.log:
        options.log.write_bytes(b"")


def _caps(options: argparse.Namespace) -> Caps:
    return Caps(
        options.pages_per_site,
        options.depth,
        options.top_pages,
        tuple(options.include),
        tuple(options.exclude),
        sitemaps=not options.no_sitemaps,
    )


def _sockets(host: str, port: int, processes: int) -> list[socket.socket]:
    """One socket per process. Only Linux deals connections out over sockets of one port; elsewhere one is shared."""
    if processes == 1 or sys.platform != "linux":
        return [listening_socket(port, host=host)] * processes
    first = listening_socket(port, host=host, shared=True)
    return [first, *(listening_socket(first.getsockname()[1], host=host, shared=True) for _ in range(processes - 1))]


def _serve_all(
    web: SampleWeb, log: Path | None, sockets: list[socket.socket], guarded: float, back: socket.socket | None
) -> int:
    """This process serves the first socket, children the others. They share the memory of whom they have refused."""
    patience = Patience()
    children = []
    for sock in sockets[1:]:
        child = os.fork()  # no thread and no event loop has been started yet
        if child == 0:
            uvloop.run(_serve_until_stopped(web, log, sock, patience))
            os._exit(0)
        children.append(child)
    try:
        uvloop.run(_serve_until_stopped(web, log, sockets[0], patience, guarded, back))
    finally:
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
        for child in children:
            os.waitpid(child, 0)
    return 0


async def _serve_until_stopped(
    web: SampleWeb,
    log: Path | None,
    sock: socket.socket,
    patience: Patience,
    guarded: float = 0.0,
    back: socket.socket | None = None,
) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _STOP:
        loop.add_signal_handler(number, stopped.set)
    async with serve(web, log=log, sock=sock, patience=patience, guarded=guarded, back=back):
        await stopped.wait()


if __name__ == "__main__":
    sys.exit(main())

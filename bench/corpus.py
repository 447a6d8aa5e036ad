"""Real pages to crawl: the HTML of Debian's documentation packages, dealt into sets that are sites of their own.

A page is served as it was written, but for links that lead out of its set: these go to another host, as they would if
the sets were sites of different people. So every link on a site leads to a page of it, and whoever follows all links
has read as many pages as everybody else. The homepage is ours: a list of the set's pages.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, KeysView, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urljoin

from bench.figure import BenchFailed

NAMES = "abcdefgh"  # a set answers under so many names, each a registrable domain of its own
ELSEWHERE = "https://elsewhere.example/"

_SET_SIZE = 270  # pages at most
_STUB = 2_000  # bytes; what is smaller only sends its reader on
EMPTY_WITHOUT_SCRIPTS = "search.html"
_HREF = re.compile(rb"""(?<=\shref=)(["'])([^"'<>]*)\1""", re.IGNORECASE)
_LEADS_OFF = re.compile(r"(?:[a-z][a-z0-9+.-]*:|//|#|$)", re.IGNORECASE)

_ROBOTS = "User-agent: *\nDisallow:\n"


@dataclass(frozen=True, slots=True)
class _Package:
    name: str
    short: str
    folder: Path


PACKAGES = (
    _Package("python3.11-doc", "python", Path("/usr/share/doc/python3.11/html")),
    _Package("postgresql-doc-15", "postgres", Path("/usr/share/doc/postgresql-doc-15/html")),
    _Package("python-django-doc", "django", Path("/usr/share/doc/python-django-doc/html")),
    _Package("sqlite3-doc", "sqlite", Path("/usr/share/doc/sqlite3")),
)


@dataclass(frozen=True, slots=True)
class PageSet:
    """A folder of pages that link to each other. `paths` is where they are on each of its hosts, the homepage first."""

    name: str
    folder: Path
    paths: tuple[str, ...]

    def host(self, letter: str) -> str:
        return f"{self.name}-{letter}.test"


@dataclass(frozen=True, slots=True)
class Corpus:
    folder: Path
    sets: tuple[PageSet, ...]

    def first(self, sets: int) -> "Corpus":
        return Corpus(self.folder, self.sets[:sets])

    def hosts(self, names: int = len(NAMES)) -> list[str]:
        """Every set under its first so many names."""
        return [one.host(letter) for letter in NAMES[:names] for one in self.sets]

    def urls(self, names: int = len(NAMES)) -> list[list[str]]:
        """The pages of each of these hosts."""
        return [
            [f"http://{one.host(letter)}{path}" for path in one.paths] for letter in NAMES[:names] for one in self.sets
        ]

    def pages(self, names: int = len(NAMES)) -> int:
        return sum(len(one.paths) for one in self.sets) * names


def build_corpus(folder: Path) -> Corpus:
    """Installs what is missing and lays the sets out below the folder, each with its homepage and robots.txt."""
    # The folder alone proves nothing: another package of the same project may keep its changelog there.
    install([package.name for package in PACKAGES if not _pages(package)])
    sets = []
    for package in PACKAGES:
        pages = _pages(package)
        if not pages:
            raise BenchFailed(f"{package.name} has no pages at {package.folder}")
        for number, share in enumerate(_dealt(pages), start=1):
            sets.append(_lay_out(f"{package.short}-{number}", share, package.folder, folder))
    return Corpus(folder, tuple(sets))


def _pages(package: _Package) -> list[Path]:
    return sorted(path for path in package.folder.rglob("*.html") if _is_read(path))


def install(missing: Sequence[str]) -> None:
    """Debian packages, by apt-get; BenchFailed says what to do where that cannot be."""
    if not missing:
        return
    wanted = " ".join(missing)
    if shutil.which("apt-get") is None:
        raise BenchFailed(f"missing here: {wanted} (packages of Debian, which the benchmark installs by apt-get)")
    become_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if become_root and shutil.which("sudo") is None:
        raise BenchFailed(f"missing here: {wanted}. As root: apt-get install -y --no-install-recommends {wanted}")
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    for command in ([*quiet, "update"], [*quiet, "install", "-y", "--no-install-recommends", *missing]):
        ran = subprocess.run([*become_root, *command], capture_output=True, text=True, check=False)
        if ran.returncode:
            raise BenchFailed(f"apt-get could not install {wanted}: {ran.stderr.strip()[-300:]}")


def _is_read(path: Path) -> bool:
    return path.stat().st_size >= _STUB and path.name != EMPTY_WITHOUT_SCRIPTS


def _dealt(pages: list[Path]) -> Iterator[list[Path]]:
    """Neighbours stay together, so that most links stay within a set; the sets are about equally large."""
    count = -(-len(pages) // _SET_SIZE)
    for number in range(count):
        yield pages[len(pages) * number // count : len(pages) * (number + 1) // count]


def _lay_out(name: str, pages: list[Path], source: Path, folder: Path) -> PageSet:
    root = folder / name
    inside = {f"/{PurePosixPath('doc', page.relative_to(source).as_posix())}": page for page in pages}
    for path, page in inside.items():
        target = root / path[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_kept_inside(page.read_bytes(), path, inside.keys()))
    listed = "".join(f'<li><a href="{escape(path)}">{escape(path)}</a>\n' for path in inside)
    heading = f"<!DOCTYPE html>\n<title>{name}</title>\n<h1>{name}</h1>\n<p>Every page there is here.\n"
    (root / "index.html").write_text(f"{heading}<ul>\n{listed}</ul>\n", encoding="utf-8")
    (root / "robots.txt").write_text(_ROBOTS, encoding="utf-8")
    return PageSet(name, root, ("/", *inside))


def _kept_inside(body: bytes, path: str, inside: KeysView[str]) -> bytes:
    def led(match: "re.Match[bytes]") -> bytes:
        href = match[2].decode("utf-8", "replace").strip()
        if _LEADS_OFF.match(href) or unquote(urljoin(path, href).partition("#")[0]) in inside:
            return match[0]
        return match[1] + ELSEWHERE.encode() + match[2].lstrip(b"./ ") + match[1]

    return _HREF.sub(led, body)

"""Files of single pages, in a folder and in object storage: found by job and page, removed by age or with their job."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from gossamer.blobs.folder import FolderBlobs
from gossamer.blobs.objects import ObjectBlobs, StorageAccess, open_objects
from gossamer.blobs.page_files import PageFiles
from gossamer.clock import SystemClock
from gossamer.model.record import PageFile

FIRST, SECOND = b"\x01" * 12, b"\x02" * 12


@pytest.fixture(params=["folder", "objects"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> FolderBlobs | ObjectBlobs:
    if request.param == "folder":
        return FolderBlobs(tmp_path / "files", b"s" * 64, SystemClock())
    server: str = request.getfixturevalue("storage_server")
    return open_objects(StorageAccess("s3://tests/page-files", server, "us-east-1", "key", "secret"))


async def test_files_are_found_by_their_page_and_forgotten_with_their_job(blobs: FolderBlobs | ObjectBlobs) -> None:
    files, job, other = PageFiles(blobs), uuid4(), uuid4()
    await files.keep(job, FIRST, (PageFile("html", b"<p>one"), PageFile("raw", b"\xff")))
    await files.keep(job, SECOND, (PageFile("html", b"<p>two"),))
    await files.keep(other, FIRST, (PageFile("html", b"<p>other"),))
    assert await files.read(job, FIRST, "html") == b"<p>one"
    assert await files.read(job, FIRST, "raw") == b"\xff"
    assert await files.read(job, SECOND, "raw") is None

    assert await files.forget(job, FIRST) == 2
    assert await files.read(job, FIRST, "html") is None
    assert await files.read(job, SECOND, "html") == b"<p>two"
    assert await files.forget(job) == 1
    assert await files.forget(job) == 0
    assert await files.read(other, FIRST, "html") == b"<p>other"


async def test_only_what_is_old_and_a_page_file_is_swept(blobs: FolderBlobs | ObjectBlobs) -> None:
    files, job = PageFiles(blobs), uuid4()
    await files.keep(job, FIRST, (PageFile("html", b"<p>one"),))
    await blobs.put("exports/1.csv", [b"a"])
    assert await files.sweep() == 0
    assert await blobs.remove_old(timedelta(seconds=-5), "pages") >= 1
    assert await files.read(job, FIRST, "html") is None
    assert b"".join([chunk async for chunk in blobs.open("exports/1.csv")]) == b"a"

"""Name endings of files that are no pages. What has another ending, or none, is asked for.

Some endings are also words: `/wiki/Node.js` is a page, `/tag/package.json` another. Scripts and data are seldom linked
to, and when they come they are known by their type.
"""

BINARY = frozenset({
    "7z", "aac", "apk", "atom", "avi", "avif", "bin", "bmp", "bz2", "cab", "css", "csv", "dat", "deb", "dmg", "doc",
    "docm", "docx", "dwg", "eot", "eps", "epub", "exe", "flac", "flv", "gif", "gz", "heic", "ico", "ics", "img",
    "indd", "iso", "jar", "jpe", "jpeg", "jpg", "key", "m4a", "m4v", "mid", "mjs", "mkv", "mobi",
    "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "odp", "ods", "odt", "ogg", "ogv", "opus", "otf", "pdf", "pkg", "png",
    "pps", "ppsx", "ppt", "pptx", "ps", "psd", "rar", "rpm", "rss", "rtf", "svg", "svgz", "swf", "tar", "tgz", "tif",
    "tiff", "torrent", "ttf", "vcf", "wasm", "wav", "webm", "webmanifest", "webp", "wma", "wmv", "woff", "woff2",
    "xls", "xlsm", "xlsx", "xml", "xz", "zip", "zst",
})  # fmt: skip


def is_binary(url: str) -> bool:
    """Whether a normalised address ends like a file that is no page."""
    _, dot, extension = url.partition("?")[0].rpartition(".")
    return bool(dot) and extension.lower() in BINARY

"""Files by key: exports and whatever else is too large for a row."""

from gossamer.blobs.seam import BadBlobKey, Blob, Blobs, BlobsAway, NoSuchBlob

__all__ = ["BadBlobKey", "Blob", "Blobs", "BlobsAway", "NoSuchBlob"]

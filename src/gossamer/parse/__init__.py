"""From bytes that arrived to a page that can be read. Pure and synchronous: this is where most CPU time goes."""

from gossamer.parse.document import bare_document, json_document, parse_document

__all__ = ["bare_document", "json_document", "parse_document"]

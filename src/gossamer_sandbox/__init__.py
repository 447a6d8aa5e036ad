"""A small web to crawl, emulators of outside providers, and the demo. Shipped with gossamer, never imported by it."""

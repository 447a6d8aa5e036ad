"""The checks of `gossamer doctor`. They change nothing and leave nothing behind."""

"""Visits web sites politely and cheaply and turns them into tables people can use."""

__version__ = "0.1.0"

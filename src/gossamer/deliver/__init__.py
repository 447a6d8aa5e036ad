"""Telling people outside: alerts through channels."""

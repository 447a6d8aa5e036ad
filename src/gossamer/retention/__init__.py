"""Retention periods of results and files, and their deletion.

The periods are set in `settings/fields.py`; a recipe may have its own (`keep`).
"""

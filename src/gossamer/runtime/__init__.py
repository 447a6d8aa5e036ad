"""Processes and services: runner, workers, cluster, issuing of visits, exports, alerts and automatic pauses."""

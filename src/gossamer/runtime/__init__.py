"""The processes that run the loops: runner, workers, cluster, issuing, exports, alerts."""

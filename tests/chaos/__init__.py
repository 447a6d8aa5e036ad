"""Harm is done to a job at work, at random moments; its rows must be those of a job that was left alone."""

"""Runs over files that may be larger than memory."""

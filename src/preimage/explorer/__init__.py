"""Fitted models as web pages: feature space to look at, walk through and come back from."""

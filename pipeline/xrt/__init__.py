"""The device API, the runner and the sync policies."""

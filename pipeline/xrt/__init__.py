"""Running artifacts: the device API (emulated and real), host memory, sync policies, the runner."""

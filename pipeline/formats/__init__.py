"""Binary artifacts: `parse(bytes)` and `encode()`, inverse to each other."""

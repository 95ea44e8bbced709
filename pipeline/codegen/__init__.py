"""The built-in AIE2 backend."""

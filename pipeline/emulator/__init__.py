"""The NPU as a register-level machine that takes only bytes."""

"""The core engine: one AIE2 core executing program memory, as an interpreter or through LLVM."""

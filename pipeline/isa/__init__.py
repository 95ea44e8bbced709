"""AIE2 instructions: encodings, assembler, disassembler, scheduling, meaning."""

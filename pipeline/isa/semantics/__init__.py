"""What each AIE2 instruction does, once, over an abstract value type."""

"""The expression compiler: the body of a linalg op as operations on the core's 32-bit words.

words.py      a graph of word operations, each one scalar instruction; folding and sharing
typed.py      typed values (integers of any width up to 64, bf16, f32) as words, and the registry of ops
integers.py   arith on integers
division.py   integer divisions
floats.py     arith on floats: IEEE in integer operations, rounded to nearest, ties to even
bodies.py     a body to a graph
"""

"""Exit codes that no error of ours carries; the others stand with their class in `errors`."""

EXIT_WRONG = 1
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130

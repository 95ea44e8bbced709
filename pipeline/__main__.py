"""`python -m aiepipe` is the command `aiepipe`."""

from .cli import main

main()

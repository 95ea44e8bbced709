"""The command line: options in, a flow, a report out. No logic.

Standard output is data, standard error is talk. `command_line` is the only place where an error becomes an
exit code (docs/errors.md lists them), `application` the table of commands, `options` what they share; each
command has a module of its own, and imports its flow when it is called, which keeps `--help` fast.
"""

from .command_line import main, run_command

__all__ = ["main", "run_command"]

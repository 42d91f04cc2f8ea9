"""The command line: arguments, exit status, one module a command."""

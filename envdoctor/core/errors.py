"""Errors whose message is for the user: they end in one line on standard error and exit status 2, never a traceback."""


class UserError(Exception):
    """What was asked for cannot be done, or a file of rules cannot be used; the message says what to do."""

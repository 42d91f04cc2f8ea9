"""What the command line is made of: the commands, and a parser that knows the arguments of one of them."""

from __future__ import annotations

from envdoctor import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:  # imported by every start
    import argparse
    from types import ModuleType

COMMANDS = {
    "scan": "judge the settings in files",
    "live": "examine this node, or a running job, and judge what is really there",
    "explain": "what is known about a rule, a variable or a piece of advice",
    "env": "the checked block of settings for a level and target",
    "rules": "list, validate and test rules",
    "trace": "which variables the libraries of a running program ask for, and when",
    "catalog": "compare what a library reads with the catalogue",
}
"""Command -> one line of help; each is a module of this package (`MODULES`), imported when it is called."""
MODULES = {
    "scan": "envdoctor.cli.scan.command", "live": "envdoctor.cli.live", "explain": "envdoctor.cli.explain",
    "env": "envdoctor.cli.env", "rules": "envdoctor.cli.rules", "trace": "envdoctor.cli.trace",
    "catalog": "envdoctor.cli.catalog",
}  # fmt: skip
EPILOG = """exit status: 0 nothing at or above --fail-on, 1 something, 2 what was asked for could not be done"""


def command(name: str) -> ModuleType:
    """The module of a command. Each has `add_arguments(parser)` and `run(arguments)`, which gives the exit status."""
    import importlib

    return importlib.import_module(MODULES[name])


def parser(chosen: str | None) -> argparse.ArgumentParser:
    """The command line; only the chosen command's arguments are declared, so that no other module is imported."""
    import argparse

    main_parser = argparse.ArgumentParser(
        prog="envdoctor",
        description="Which settings of a GPU training job are real, and which reach the process that needs them.",
        epilog=EPILOG,
    )
    main_parser.add_argument("--version", action="version", version=f"envdoctor {__version__}")
    commands = main_parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, line in COMMANDS.items():
        sub = commands.add_parser(name, help=line, description=line, epilog=EPILOG)
        if name == chosen:
            command(name).add_arguments(sub)
    return main_parser

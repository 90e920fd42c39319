"""``predictree view``: a page to try a model on one or two people."""

import argparse
import webbrowser
from typing import Any

from predictree.cli.command import add_command
from predictree.cli.console import tell
from predictree.cli.models import add_model, read_model, read_rows
from predictree.cli.tables import add_reading, blaming
from predictree.publish.serve import Viewer, serve

PORTS = range(65536)

WORDS = """\
  predictree view model.tops                   begins with a typical row
  predictree view model.tops --data new.csv    begins with a row of your own
  predictree view model.tops --no-browser      prints the address instead of opening it

A page with a field for every feature: change one, and see how the answer, its path through the
tree and its uncertainty change; or set two people side by side. It is served on this machine
alone, to whoever has the address, and changes nothing. Ctrl-C ends it."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "view", "try a model on a page of your browser", WORDS, run)
    add_model(parser)
    parser.add_argument("--data", metavar="ROWS", help="a table with rows to begin with")
    parser.add_argument(
        "--port", type=port, default=0, metavar="N", help="port to use (default: any that is free)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    add_reading(parser)


def run(args: argparse.Namespace) -> None:
    """Serve the page until it is interrupted."""
    model = read_model(args)
    if args.data is None:
        viewer = Viewer(model)
    else:
        file, rows = read_rows(args, model)
        with blaming(file):
            viewer = Viewer(model, rows)

    def ready(address: str) -> None:
        print(address, flush=True)
        tell("open this address in a browser of this machine; Ctrl-C ends it")
        if not args.no_browser:
            webbrowser.open(address)

    try:
        serve(viewer, args.port, ready)
    except KeyboardInterrupt:
        tell("closed")


def port(text: str) -> int:
    """Return the number of a port."""
    if not text.isdecimal() or int(text) not in PORTS:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number up to 65535")
    return int(text)

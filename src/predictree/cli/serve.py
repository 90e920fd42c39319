"""``predictree serve``: a model as a service."""

import argparse
import os
from typing import Any

from predictree.cli.command import add_command
from predictree.cli.console import tell
from predictree.cli.models import add_model, read_model
from predictree.cli.view import port
from predictree.publish.serve import serve_model

TOKEN = "PREDICTREE_TOKEN"

WORDS = """\
  predictree serve model.tops --port 8000
  curl localhost:8000/predict -d '{"rows": [{"age": 42, "job": "cook"}]}'
  predictree serve model.tops --host 0.0.0.0 --port 8000      others may ask, with the token

POST /predict and /explain take {"rows": [{column: value}]} or {"columns": {column: [values]}}; GET
/schema describes them as OpenAPI, GET /health tells whether the model answers. It listens on this
machine alone, unless told otherwise; then whoever asks sends "Authorization: Bearer TOKEN". The
token is that of the environment variable PREDICTREE_TOKEN, or drawn and shown. The what-if page of
`predictree view` is one of its pages. Ctrl-C ends it."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "serve", "let programs ask a model over HTTP", WORDS, run)
    add_model(parser)
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: this machine alone)"
    )
    parser.add_argument(
        "--port", type=port, default=0, metavar="N", help="port to use (default: any that is free)"
    )


def run(args: argparse.Namespace) -> None:
    """Serve the model until it is interrupted."""
    model = read_model(args)

    def ready(address: str, token: str) -> None:
        print(address, flush=True)
        tell(f"what-if page: {address}{token}/")
        tell("Ctrl-C ends it")

    try:
        serve_model(model, args.host, args.port, os.environ.get(TOKEN), ready)
    except KeyboardInterrupt:
        tell("closed")

"""The what-if page: one model, one or two people, and what changes when they do."""

from predictree.publish.serve.people import Viewer
from predictree.publish.serve.server import make_app, serve

__all__ = ["Viewer", "make_app", "serve"]

"""A model that is asked over HTTP: as a service, and on the what-if page."""

from predictree.publish.serve.people import Viewer
from predictree.publish.serve.server import make_app, serve
from predictree.publish.serve.service import Service, make_service, serve_model

__all__ = ["Service", "Viewer", "make_app", "make_service", "serve", "serve_model"]

"""How Sphinx builds the site; ``make docs`` does it.

pytest imports this file when it looks for doctests: keep it free of anything but settings.
"""

from predictree import __version__

project = "predictree"
author = "predictree maintainers"
project_copyright = "predictree maintainers, BSD-3-Clause"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery", "sg_execution_times.rst", "**/sg_execution_times.rst"]

html_theme = "pydata_sphinx_theme"
html_title = "predictree"
html_theme_options = {
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
}
html_show_sourcelink = False
_navigation = ["sidebar-nav-bs"]
html_sidebars = {  # a page at the top has no section to navigate
    "*": [],
    "api": _navigation,
    "auto_gallery/*": _navigation,
    "generated/*": _navigation,
    "guide/*": _navigation,
}

myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"  # docstrings give the types, in words
numpydoc_show_class_members = False  # the template for classes lists them
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": "True",
    "remove_config_comments": True,
}

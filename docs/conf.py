"""Sphinx configuration."""

from nica import __version__

project = "nica"
author = "The nica developers"
copyright = "2026, the nica developers"
release = __version__
version = release

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
]
myst_enable_extensions = ["amsmath", "dollarmath"]
exclude_patterns = ["_build"]
nitpicky = False

autodoc_typehints = "none"  # the docstrings say the types in words
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "nica"
html_theme_options = {"show_prev_next": False}
html_show_sourcelink = False

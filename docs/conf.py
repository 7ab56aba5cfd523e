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
    "sphinx-mathjax-offline",  # formulas need no network either
    "sphinx_gallery.gen_gallery",
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "ExampleTitleSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1,
    "copyfile_regex": "^$",
}
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 2
exclude_patterns = ["_build", "sg_execution_times.rst", "gallery/sg_execution_times.rst"]
nitpicky = False
highlight_language = "none"  # of blocks that say none, which are commands

# `make links` asks for every address in the pages; those of this machine's own live view it leaves out.
linkcheck_ignore = [r"http://127\.0\.0\.1.*"]
linkcheck_allowed_redirects = {r"https://doi\.org/.*": r"https://.*"}  # that is what a DOI is for
linkcheck_timeout = 20
linkcheck_retries = 2

autodoc_typehints = "none"  # the docstrings say the types in words
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "nica"
html_theme_options = {"show_prev_next": False, "header_links_before_dropdown": 4}
html_show_sourcelink = False
html_sidebars = {"*": []}  # only the pages of folders have others beside them
html_static_path = ["_static"]
html_css_files = ["wide.css"]

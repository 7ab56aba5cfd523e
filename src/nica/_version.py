"""The one place that says which version this is; the build reads it too."""

__version__ = "0.1.0.dev0"

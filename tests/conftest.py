"""Settings of all tests."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # or scikit-learn skips some of its checks

sys.path.insert(0, str(Path(__file__).parent))  # for helpers.py

# A busy machine is not a failure: how long an example takes is measured in benchmarks/.
# The checks before a merge draw the same examples each time; elsewhere they are always fresh.
settings.register_profile("nica", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("nica")


@pytest.fixture(autouse=True)
def _no_figures_left():
    """Displays draw on figures of pyplot, which keeps them until they are closed."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")

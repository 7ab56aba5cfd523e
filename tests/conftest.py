"""Settings of all tests."""

import os
import sys
from pathlib import Path

from hypothesis import settings

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # or scikit-learn skips some of its checks

sys.path.insert(0, str(Path(__file__).parent))  # for helpers.py

# A busy machine is not a failure: how long an example takes is measured in benchmarks/.
# The checks before a merge draw the same examples each time; elsewhere they are always fresh.
settings.register_profile("nica", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("nica")

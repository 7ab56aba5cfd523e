"""Settings of all tests."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # for helpers.py

# A busy machine is not a failure: how long an example takes is measured in benchmarks/.
settings.register_profile("nica", deadline=None)
settings.load_profile("nica")

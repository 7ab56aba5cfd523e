"""Settings of all tests."""

from hypothesis import settings

# A busy machine is not a failure: how long an example takes is measured in benchmarks/.
settings.register_profile("nica", deadline=None)
settings.load_profile("nica")

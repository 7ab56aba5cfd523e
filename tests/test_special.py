"""exp, log and erfcx of whole registers give SciPy's values, to a few units of the last place."""

import numpy as np
import pytest
from scipy.special import erfcx

from nica import _core

CLOSE = 2e-14


@pytest.fixture(params=_core.kernels())
def special(request):
    def function(which, x):
        y = np.empty_like(x)
        _core.special(which, x, y, request.param)
        return y

    return function


def test_exp(special):
    x = np.concatenate([np.linspace(-708, 709, 100_003), np.linspace(-1, 1, 10_001)])
    np.testing.assert_allclose(special(0, x), np.exp(x), rtol=CLOSE)
    assert special(0, np.array([0.0, -1e300, 1e300, -708.0, 709.0])).tolist() == [
        1.0, *special(0, np.array([-708.0, 709.0, -708.0, 709.0])),
    ]  # fmt: skip


def test_log(special):
    x = np.concatenate([np.geomspace(1e-300, 1e300, 100_003), np.linspace(0.5, 2, 10_001)])
    got = special(1, x)
    np.testing.assert_allclose(got, np.log(x), rtol=CLOSE, atol=1e-18)
    assert special(1, np.array([1.0])).tolist() == [0.0]


def test_erfcx(special):
    x = np.concatenate([[0.0], np.geomspace(1e-300, 1e12, 100_003), np.linspace(0, 20, 10_001)])
    np.testing.assert_allclose(special(2, x), erfcx(x), rtol=CLOSE)


@pytest.mark.parametrize("n", range(1, 18))
def test_any_number_of_entries(special, n):
    x = np.linspace(0.1, 3, n)
    for which, expected in enumerate((np.exp, np.log, erfcx)):
        np.testing.assert_allclose(special(which, x), expected(x), rtol=CLOSE)

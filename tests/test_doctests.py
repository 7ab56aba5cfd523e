"""The examples in the docstrings of the installed package hold."""

import doctest
import importlib
import pkgutil

import pytest

import nica

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules_with_examples():
    found = pkgutil.walk_packages(nica.__path__, "nica.")
    names = ["nica", *(module.name for module in found if module.name != "nica.__main__")]
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in names:
        module = importlib.import_module(name)
        if any(test.examples for test in finder.find(module)):
            yield module


@pytest.mark.parametrize(
    "module", list(modules_with_examples()), ids=lambda module: module.__name__
)
def test_examples(module):
    result = doctest.testmod(module, optionflags=OPTIONS)
    assert result.attempted > 0
    assert result.failed == 0

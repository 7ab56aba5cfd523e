"""Every public name has a docstring, and every public function and estimator an example.

Whether the examples hold is for `test_doctests.py`. Classes of results are shown by the function that
gives them.
"""

import inspect
from importlib import import_module

import pytest

import nica

MODULES = [
    "nica",
    *(f"nica.{name}" for name in nica.__all__ if inspect.ismodule(getattr(nica, name))),
    *("nica.compat.onnx", "nica.compat.river", "nica.diagnostics", "nica.drift", "nica.rank"),
    *("nica.replicas", "nica.tuning"),
]


def is_ours(thing, where="nica"):
    return (getattr(thing, "__module__", None) or "").startswith(where)


def public(module):
    """Classes and functions that a module gives, by name."""
    own = [name for name, thing in vars(module).items() if is_ours(thing, module.__name__)]
    for name in getattr(module, "__all__", own):
        thing = getattr(module, name)
        if not name.startswith("_") and callable(thing) and is_ours(thing):
            yield f"{module.__name__}.{name}", thing


def parts(thing):
    """Methods and properties of our own classes."""
    for name in dir(thing) if inspect.isclass(thing) else ():
        part = inspect.getattr_static(thing, name)
        code = part.fget if isinstance(part, property) else getattr(part, "__func__", part)
        if not name.startswith("_") and callable(code) and is_ours(code):
            yield name, getattr(thing, name)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_says_what_it_is(module):
    found = import_module(module)
    assert found.__doc__
    for name, thing in public(found):
        generated = inspect.isclass(thing) and f"{thing.__name__}("
        assert thing.__doc__, name
        assert not (generated and thing.__doc__.startswith(generated)), name  # by dataclass
        for part, what in parts(thing):
            assert inspect.getdoc(what), f"{name}.{part}"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_function_and_estimator_has_an_example(module):
    for name, thing in public(import_module(module)):
        if inspect.isfunction(thing) or hasattr(thing, "get_params"):
            assert ">>>" in thing.__doc__, name

"""The package itself: what it says of itself, and that every error is its own."""

import inspect
import subprocess
import sys

import sordino


def test_every_public_name_is_documented():
    for name in sordino.__all__:
        thing = getattr(sordino, name)
        assert name == "__version__" or inspect.getdoc(thing), name
        for method in vars(thing) if inspect.isclass(thing) else ():
            if not method.startswith("_") and callable(getattr(thing, method)):
                assert inspect.getdoc(getattr(thing, method)), f"{name}.{method}"


def test_every_exception_is_an_error():
    for name in sordino.__all__:
        thing = getattr(sordino, name)
        if inspect.isclass(thing) and issubclass(thing, BaseException):
            assert issubclass(thing, sordino.Error), name


def test_the_import_takes_nothing_with_it():
    code = "import sys, sordino; print([m for m in ('numpy', 'langchain_core') if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"

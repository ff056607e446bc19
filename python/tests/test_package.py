"""The package itself: its description, and that every error is its own."""

import ast
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import sordino
from sordino import _sordino


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


def test_every_error_is_public():
    from sordino import _errors

    classes = {name for name, thing in vars(_errors).items() if inspect.isclass(thing)}
    assert len(classes) > 40 and classes <= set(sordino.__all__)


def test_the_import_takes_nothing_with_it():
    code = "import sys, sordino; print([m for m in ('numpy', 'langchain_core') if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"


def test_the_stubs_say_what_is_there():
    stub = ast.parse(Path(_sordino.__file__).with_name("_sordino.pyi").read_text())
    compared = 0

    def compare(thing, node):
        nonlocal compared
        declared = [argument.arg for argument in node.args.args if argument.arg not in ("self", "cls")]
        found = [name for name in inspect.signature(thing).parameters if name != "self"]
        assert found == declared, node.name
        compared += 1

    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            compare(getattr(_sordino, node.name), node)
        elif isinstance(node, ast.ClassDef):
            for method in (method for method in node.body if isinstance(method, ast.FunctionDef)):
                thing = getattr(getattr(_sordino, node.name), method.name)
                if method.name == "__new__":
                    compare(getattr(_sordino, node.name), method)
                elif not method.name.startswith("__") and any("property" in ast.unparse(one) for one in method.decorator_list):
                    assert inspect.isgetsetdescriptor(thing), method.name
                elif not method.name.startswith("__"):
                    compare(thing, method)
                elif method.name.startswith("__"):
                    assert callable(thing)
    assert compared > 40
    names = {node.name for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    listed = next(node.value for node in stub.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    assert names | {"__version__"} == set(_sordino.__all__) == set(ast.literal_eval(listed))


def test_a_wrong_answer_does_not_change_what_an_error_is_caught_as():
    from sordino import _errors

    for then in (sordino.RefusedError, sordino.DeadlineError, sordino.StaleError, sordino.MalformedError):
        both = _errors._after_wrong(then)
        assert issubclass(both, sordino.SearchError) and issubclass(both, then)
        assert issubclass(both, ConnectionError) == issubclass(then, ConnectionError)
        assert issubclass(both, TimeoutError) == issubclass(then, TimeoutError)
        assert str(both("wrong")) == "wrong"
        assert both is _errors._after_wrong(then) is _errors._after_wrong(both)
        for error in (then("wrong"), both("wrong")):
            there = pickle.loads(pickle.dumps(error))
            assert type(there) is type(error) and str(there) == "wrong"

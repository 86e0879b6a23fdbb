"""The workloads. One is a function that is given a Context whose view is fresh,
and times what it measures with context.timed(row, files=what a trip is counted
for); the same commands run on
every subject. It checks what the commands did, and raises machine.Failed."""
import importlib
import pkgutil


class Workload:
    def __init__(self, function, data, changes, quick, program):
        self.function = function
        self.name = function.__name__
        self.what = (function.__doc__ or "").strip()
        self.data = data
        self.changes = changes  # what has no layer needs a new base afterwards
        self.quick = quick  # whether --quick has it
        self.program = program  # what it runs and a machine may lack


REGISTRY = []


def workload(data="tree", changes=True, quick=True, program=None):
    def register(function):
        REGISTRY.append(Workload(function, data, changes, quick, program))
        return function
    return register


def load():
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return sorted(REGISTRY, key=lambda w: ORDER.index(w.function.__module__.rsplit(".", 1)[1]))


ORDER = ["tree", "names", "git", "build", "file", "database"]

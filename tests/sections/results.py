"""Calls every function of loops on the same inputs; prints results, errors, reference counts."""

import sys

import loops


class Value:
    def __init__(self, truth=True):
        self.truth = truth

    def __bool__(self):
        if self.truth is None:
            raise RuntimeError("no truth")
        return self.truth

    def __repr__(self):
        return f"Value({self.truth})"


class Attributes:
    def __init__(self, *names):
        for name in names:
            setattr(self, name, name)


def fail(key, value):
    raise KeyError(str(key))


WANTED = Value()
DICTS = [
    {},
    {"a": 1, "b": 2},
    {"a": 1, 2: 3, "c": "x"},
    {"a": 70, "b": 80, "c": None},
    {None: 1, "a": 2},
    {"a": None},
    {"a": Value(), "b": Value(False), "c": Value(None)},
    {"a": Value(None)},
    {WANTED: 1, "x": WANTED},
    {"x": WANTED, "y": (1, 2, WANTED), "z": ()},
    {"y": (1, WANTED)},
    {"z": ()},
    {b"one": 1, b"seven": 7},
]
SECOND = [
    WANTED,
    lambda key, value: None,
    lambda key, value: False,
    fail,
    Attributes("one", "two"),
    Attributes("one", "x"),
    {"a": 0, None: 1},
]


def call(name, d, other):
    other = dict(other) if isinstance(other, dict) else other
    items = list(d) + list(d.values()) + [d, other]
    before = [sys.getrefcount(item) for item in items]
    try:
        result = getattr(loops, name)(d, other)
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    text = repr(result)
    del result
    if isinstance(other, dict):
        text += f" {other!r}"
        other.clear()
    after = [sys.getrefcount(item) for item in items]
    return text, "balanced" if before == after else (before, after)


for name in sorted(dir(loops)):
    if name.startswith("_"):
        continue
    for i, d in enumerate(DICTS):
        for j, other in enumerate(SECOND):
            print(name, i, j, *call(name, d, other))

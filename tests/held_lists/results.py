"""Calls the functions with many lists; prints results, and what they leave of references."""

import sys

import held


class Odd:
    """Equal to nothing; comparing it fails."""

    def __eq__(self, other):
        raise OverflowError("compared")


LISTS = [
    [],
    [None],
    [1, 2.5, None],
    ["a", None, "b"],
    [1, "a"],
    [object(), None],
    [Odd(), None],
    [None, Odd()],
    list(range(64)),
    list(range(65)),
]


def result(function, items):
    try:
        return function(items)
    except Exception as error:
        return type(error).__name__


for name in ("kind", "find", "fill"):
    function = getattr(held, name)
    for items in LISTS:
        watched = [items] + [it for it in items if isinstance(it, (Odd, float))]
        before = [sys.getrefcount(it) for it in watched]
        found = [result(function, items) for _ in range(3)]
        after = [sys.getrefcount(it) for it in watched]
        print(name, len(items), found, "balanced" if before == after else (before, after))

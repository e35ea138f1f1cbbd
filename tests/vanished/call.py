"""Calls functions with a list that its first item empties; prints what each has left open.

    call.py function...
"""

import sys
import tracemalloc

import undo

ROUNDS = 50
MEMORY = 4096 * 8


class Emptying:
    """A number that empties the list it is in when C code asks for it."""

    def __init__(self, items):
        self.items = items

    def __index__(self):
        self.items.clear()
        return 1

    def __float__(self):
        self.items.clear()
        raise ValueError("no number")


def left_open(name):
    """What one call leaves: its own count, exports of a buffer, members of a set."""
    items = []
    items += [Emptying(items), 2, 3]
    buffer, seen = bytearray(b"text"), set()
    more = {"buffer": (buffer,), "python": (seen,), "seen": (seen,)}
    more.update(dict.fromkeys(["converted", "encoded", "own_converted"], ("x" * 4096,)))
    try:
        getattr(undo, name)(items, *more.get(name, ()))
        raised = "nothing"
    except Exception as error:
        raised = type(error).__name__
    try:
        buffer.append(0)
        exports = 0
    except BufferError:
        exports = 1
    return undo.left_open() + exports + len(seen), raised


def kept_memory(name):
    """The blocks of memory that some calls leave behind."""
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(ROUNDS):
        left_open(name)
    return (tracemalloc.get_traced_memory()[0] - before) // MEMORY


tracemalloc.start()
for name in sys.argv[1:]:
    left, raised = left_open(name)
    print(name, left + kept_memory(name), raised)

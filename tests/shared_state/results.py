"""Calls everything of the module in one thread, and prints what comes out and whether the total
number of references stays the same."""

import gc
import sys

import state


def result(call):
    try:
        return repr(call())
    except Exception as error:
        return repr(error)


class Broken:
    def __repr__(self):
        raise ValueError("broken")


def counted():
    counter = state.Counter()
    out = [counter.bump(), counter.bump_by(5), len(counter), result(lambda: counter.item)]
    counter.item = ["value"]
    out += [counter.item, result(lambda: counter.bump_by("x"))]
    del counter.item
    out.append(result(lambda: counter.item))
    other = state.Counter()
    out.append(result(lambda: other.call(1)))
    other.item = repr
    out += [other.call(1), result(lambda: other.call(Broken()))]
    other.take(counter)
    other.take(other)
    out += [len(other), counter + other, result(lambda: 1 + other)]
    return out + [result(lambda: other.take(None))]


CALLS = {
    "name": lambda: (state.name(), state.name() is state.name()),
    "constant": lambda: state.constant({"a key": 1}),
    "no constant": lambda: state.constant({}),
    "imported": lambda: (type(state.imported()), state.imported() is state.imported()),
    "failing": lambda: state.failing(1),
    "failing quietly": lambda: state.failing(None),
    "nested": lambda: (state.nested(None) in (None, []), state.nested(1), state.nested(None)),
    "label": lambda: [state.label(n) for n in (0, -7, 123456)],
    "label of text": lambda: state.label("x"),
    "counter": counted,
}

for title, call in CALLS.items():
    first = result(call)
    for _ in range(5):
        result(call)
    gc.collect()
    before = sys.gettotalrefcount()
    for _ in range(50):
        assert result(call) == first
    gc.collect()
    grown = sys.gettotalrefcount() - before
    print(title, first, "balanced" if abs(grown) < 25 else f"grows by {grown}")

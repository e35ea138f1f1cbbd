"""Loops over copies: what cannot be copied, what callbacks remove, in which order."""

import sys
from collections import OrderedDict

import loops


class Value:
    pass


class Broken(dict):
    def __iter__(self):
        raise AssertionError("nobody iterates")

    def keys(self):
        raise LookupError("no keys")


def look(key, value):
    return True


for call in (loops.call_last, loops.call_shared, loops.join_keys):
    broken = Broken(one=Value(), two=Value())
    objects = [broken, look, *broken.values()]
    before = [sys.getrefcount(each) for each in objects]
    for _ in range(10):
        try:
            call(broken, look)
        except LookupError as error:
            assert error.args == ("no keys",)
        else:
            raise AssertionError("the copy did not fail")
    loops.forget()
    assert before == [sys.getrefcount(each) for each in objects]

for call in (loops.call_last, loops.call_shared):
    full = {"one": Value(), "two": Value()}
    seen = []

    def drop(key, value):
        seen.append(key)
        full.clear()
        loops.forget()

    call(full, drop)
    assert seen == ["one", "two"] and not full

ordered = OrderedDict(one=1, two=2)
ordered.move_to_end("one")
seen = []
loops.call_last(ordered, lambda key, value: seen.append(key))
assert seen == ["two", "one"]
print("survived")

"""One thread replaces the item of a container that another has in use.

`meet`: in each round the other thread replaces the item while the first waits for it in the
middle of its function. `race`: both run as fast as they can.
`shrink`: two threads go through a list that a third one clears and fills.
"""

import sys
import threading

import items

assert not sys._is_gil_enabled()

MEETINGS = 50
RACES = 3000
CLEARINGS = 40000


class Item:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def containers():
    if sys.argv[1] == "list":
        shared = [Item(-1)]
        return items.list_item, shared, 0
    shared = {"item": Item(-1)}
    return items.dict_item, shared, "item"


if sys.argv[2] != "shrink":
    use, shared, key = containers()
errors = []
barrier = threading.Barrier(2)


def guarded(work):
    def run():
        try:
            work()
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    return threading.Thread(target=run)


def together(*works):
    threads = [guarded(work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def meet():
    # The item was looked up before the first meeting, and is replaced before the second.
    def looked_up():
        barrier.wait()
        barrier.wait()

    def replace():
        for n in range(MEETINGS):
            barrier.wait()
            shared[key] = Item(n)
            barrier.wait()

    def read():
        for n in range(MEETINGS):
            assert use(shared, looked_up) == n - 1

    together(replace, read)


def race():
    def replace():
        for n in range(RACES):
            shared[key] = Item(n)

    def read():
        for _ in range(RACES):
            assert use(shared, int) in range(-1, RACES)

    together(replace, read, read)


def shrink():
    shared = []
    done = threading.Event()
    use = getattr(items, sys.argv[1])

    def clear():
        for _ in range(CLEARINGS):
            shared.extend([b"x"] * 50)
            shared.clear()
        done.set()

    def read():
        while not done.is_set():
            try:
                assert use(shared) <= 50
            except IndexError:
                pass

    together(clear, read, read)


{"meet": meet, "race": race, "shrink": shrink}[sys.argv[2]]()
print("held")

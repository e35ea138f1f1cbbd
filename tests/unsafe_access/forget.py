"""Objects of all types die with and without weak references, some while another thread drops those.
Prints how often callbacks ran, and what an exception that was pending came to."""

import threading
import weakref

import weak


class Sub(weak.Node):
    pass


class Slotted(weak.Made):
    __slots__ = ()


TYPES = [weak.Node, weak.Made, Sub, Slotted]
called = []


def fail(kind):
    own = kind()
    kept.append(weakref.ref(own, called.append))
    raise KeyError(kind.__name__)


kept = []
for kind in TYPES:
    kind()
    held = kind()
    refs = [weakref.ref(held), weakref.ref(held, called.append), weakref.proxy(held)]
    del held
    assert refs[0]() is None
    try:
        fail(kind)
    except KeyError as error:
        print(error, end=" ")
print(len(called))


def race(kind, rounds=500):
    start = threading.Barrier(2)
    slots = [[], []]

    def drop(slot):
        for _ in range(rounds):
            start.wait()
            slot.clear()
            start.wait()
            if slot is slots[0]:
                own = kind()
                slots[0].append(own)
                slots[1].append(weakref.ref(own, called.append))
                del own
            start.wait()

    threads = [threading.Thread(target=drop, args=(slot,)) for slot in slots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


for kind in TYPES:
    race(kind)
print("done")

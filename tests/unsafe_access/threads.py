"""Threads store into one list while others read it. Prints how many items are left behind."""

import gc
import sys
import threading
import weakref

import access

assert not sys._is_gil_enabled()

THREADS = 4
ROUNDS = 2000


class Item:
    pass


rows = [Item()]
table = access.Table(rows)
start = threading.Barrier(THREADS)
seen = [[] for _ in range(THREADS)]
errors = []


def store(number):
    try:
        start.wait()
        for _ in range(ROUNDS):
            item = Item()
            seen[number].append(weakref.ref(item))
            table.put(item)
            assert type(rows[0]) is Item
    except BaseException as error:
        errors.append(error)


threads = [threading.Thread(target=store, args=(n,)) for n in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
gc.collect()
print("left behind:", sum(item() is not None for each in seen for item in each) - 1)

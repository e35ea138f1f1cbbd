"""One thread changes a dict while others iterate over it and run Python code for each item."""

import sys
import threading

import loops

assert not sys._is_gil_enabled()

ROUNDS = 300
shared = {f"key {i}": [i] for i in range(50)}
target = {}
start = threading.Barrier(3)
errors = []


def change():
    start.wait()
    for n in range(ROUNDS):
        for i in range(50):
            shared[f"key {i}"] = [n]
        for i in range(0, 50, 3):
            shared.pop(f"key {i}", None)
            shared[f"extra {n % 20}"] = [n]


def look(key, value):
    assert type(key) is str and type(value) is list and len(value) == 1


def iterate():
    try:
        start.wait()
        for _ in range(ROUNDS):
            loops.call_each(shared, look)
            loops.call_and_count(shared, look)
            loops.copy_into(shared, target)
            loops.count_strings(shared, None)
            loops.first_pair(shared, None)
            loops.show_each(shared, None)
            loops.all_true(shared, None)
            loops.any_true(shared, None)
            loops.call_last(shared, look)
            loops.show_types(shared, None)
            loops.find_detached(shared, shared.get("key 7"))
            loops.find_none(shared, None)
            loops.check_values(shared, None)
            loops.join_keys(shared, None)
    except BaseException as error:
        errors.append(error)


threads = [threading.Thread(target=f) for f in (change, iterate, iterate)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
print("survived")

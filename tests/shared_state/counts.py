"""Threads count, and set an option, at the same time. Prints which counts are as they should be."""

import sys
import threading

import counts

assert not sys._is_gil_enabled()

THREADS = 4
TIMES = 200_000


def work(number, start):
    start.wait()
    counts.count()
    counts.undo()
    counts.weigh("abc")
    for _ in range(1000):
        counts.set_base(2 if number % 2 else 10)
        assert counts.get_base() in (2, 10)


start = threading.Barrier(THREADS)
threads = [threading.Thread(target=work, args=(n, start)) for n in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

total = THREADS * TIMES
found = counts.counted()
for name, number, wanted in zip(("calls", "undone", "bytes"), found, (total, -total, 3 * total)):
    print(name, "kept" if number == wanted else "lost")

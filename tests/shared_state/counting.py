"""Threads count, and set an option, at the same time. Prints which counts are as they should be, after
as many attempts as asked for or once one of them is not: a race can be missed."""

import sys
import threading

import counts

assert not sys._is_gil_enabled()

THREADS = 4
ROUNDS = 10
TIMES = 200_000


def work(number, start):
    start.wait()
    for _ in range(ROUNDS):
        counts.count()
        counts.undo()
        counts.weigh("abc")
    for _ in range(100):
        counts.set_base(2 if number % 2 else 10)
        assert counts.get_base() in (2, 10)


def attempt():
    """By how much each number has grown."""
    before = counts.counted()
    start = threading.Barrier(THREADS)
    threads = [threading.Thread(target=work, args=(n, start)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [now - old for now, old in zip(counts.counted(), before)]


total = THREADS * ROUNDS * TIMES
wanted = [total, -total, 3 * total]
grown = wanted
attempts = int(sys.argv[1])
while attempts > 0 and grown == wanted:
    grown = attempt()
    attempts -= 1
for name, number, should_be in zip(("calls", "undone", "bytes"), grown, wanted):
    print(name, "kept" if number == should_be else "lost")

"""Threads fill caches, import, count, and replace attributes of one object at the same time. Prints what
was lost."""

import sys
import threading

import state

assert not sys._is_gil_enabled()

THREADS = 4
BUMPS = 1500
caches = [getattr(state, name) for name in dir(state) if name.startswith("cache_")]
errors = []


def together(work):
    """Runs work(number) in all threads, and lets the first step of each begin at once."""
    start = threading.Barrier(THREADS)

    def run(number):
        try:
            work(number, start)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


found = [[None] * len(caches) for _ in range(THREADS)]


def fill(number, start):
    for at, cache in enumerate(caches):
        start.wait()
        found[number][at] = cache()


together(fill)
differ = sum(len({id(row[at]) for row in found}) > 1 for at in range(len(caches)))
print("caches:", "each filled once" if differ == 0 else "filled more than once")

objects = [None] * THREADS


def ask(number, start):
    start.wait()
    objects[number] = state.imported()


together(ask)
import slow

same = all(made is slow.seen for made in objects)
print("imported:", "the first one stays" if same else "made again")

counter = state.Counter()


def count(number, start):
    start.wait()
    for n in range(BUMPS):
        if n % 10:
            counter.bump()
        else:
            counter.bump_by(1)


together(count)
print("counter:", "all counted" if len(counter) == THREADS * BUMPS else "counts lost")

pair = [state.Counter(), state.Counter()]
pair[0].bump_by(BUMPS)


def take(number, start):
    start.wait()
    for n in range(BUMPS):
        pair[number % 2].take(pair[1 - number % 2])


together(take)
print("taken:", "none lost" if pair[0] + pair[1] == BUMPS else "counts lost or doubled")

if "attributes" in sys.argv:
    counter.item = [0]

    def replace(number, start):
        start.wait()
        for n in range(BUMPS):
            counter.item = [n]
            assert type(counter.item) is list

    def call(number, start):
        start.wait()
        for n in range(BUMPS):
            counter.item = lambda given, made=[n]: (made, given)
            assert counter.call(number)[1] == number

    together(replace)
    counter.item = None
    together(call)
    print("attributes: kept")

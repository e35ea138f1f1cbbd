"""A thread that changes a tree, and others that read it."""

import sys
import threading

from tree import Tree

SIZE = 101
ROUNDS = 20_000

assert not sys._is_gil_enabled()
tree = Tree(SIZE)
start = threading.Barrier(3)
wrong = []
done = threading.Event()


def write():
    start.wait()
    for number in range(ROUNDS):
        tree.remove(number % SIZE)
        tree.add(number % SIZE)
        if number % 200 == 0:
            tree.__init__(SIZE)
    done.set()


def read():
    start.wait()
    while not done.is_set():
        keys = tree.keys()
        if keys != sorted(set(keys)) or not SIZE - 1 <= len(keys) <= SIZE:
            wrong.append(keys)
        tree.has(SIZE // 2)


threads = [threading.Thread(target=target) for target in (write, read, read)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("wrong" if wrong else "right")
sys.exit(bool(wrong))

"""Uses every function of `buffers` in several threads; prints what they give."""

import threading

import buffers

results = []


def work(number):
    store = buffers.Store()
    for i in range(200):
        store.add(number * i)
        store.name(f"name {number} {i}")
    results.append((number, store.square(), hash(store.copy()) == hash(store.copy()), store.names()[:3]))


threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for result in sorted(results):
    print(*result)

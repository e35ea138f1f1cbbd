"""Some threads call the functions, others empty the list and fill it again, with new items."""

import threading
import time

import held

items = []
end = time.monotonic() + 2


def change():
    while time.monotonic() < end:
        items.extend([str(time.monotonic()) for _ in range(40)])
        del items[3:]
        items.clear()


def call(function):
    while time.monotonic() < end:
        function(items)


targets = [(change, ())] * 2 + [(call, (it,)) for it in (held.kind, held.find, held.fill)]
threads = [threading.Thread(target=target, args=args) for target, args in targets]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")

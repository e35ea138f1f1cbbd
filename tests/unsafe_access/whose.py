"""Prints whether a fresh list is unique, then whether it is shared for its maker and for others."""

import threading

import unique

print(unique.make(), unique.is_shared(), end=" ")
thread = threading.Thread(target=unique.make)
thread.start()
thread.join()
print(unique.is_shared())

"""Another thread empties a dict while Python code runs for one of its items, again and again."""

import sys
import threading

import loops

assert not sys._is_gil_enabled()

MEETINGS = 20
meeting = threading.Barrier(2)


class Value:
    __slots__ = ("number",)

    def __bool__(self):
        return self.number == 1


def filled():
    value = Value()
    value.number = 1
    return {"only": value}


def empty():
    for shared in dicts:
        meeting.wait()
        shared.clear()
        meeting.wait()


def look(key, value):
    meeting.wait()
    meeting.wait()
    return True


# `call_each` and `call_named` ask for the truth of the value once `look` is done with it, `call_last`
# for its text; `show_owned` releases it.
for call in (loops.call_each, loops.call_last, loops.call_named, loops.show_owned):
    dicts = [filled() for _ in range(MEETINGS)]
    thread = threading.Thread(target=empty)
    thread.start()
    for shared in dicts:
        call(shared, look)
    thread.join()


def forget(key, value):
    # The variable of the module held the last reference to the dict.
    loops.forget()
    return True


loops.call_registered(filled(), forget)
loops.call_kept(filled(), forget)
print("survived")

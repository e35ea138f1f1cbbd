"""A loop goes over attributes that a call in it replaces, and that nobody else keeps."""

import loops


class Owner:
    pass


class Value:
    def __bool__(self):
        owner.__dict__ = {}
        # They take the memory of the old one.
        others.extend({} for _ in range(200))
        raise ValueError


others = []
for _ in range(10):
    owner = Owner()
    owner.__dict__ = {"value": Value()}
    try:
        loops.true_attributes(owner)
        print("no error")
    except ValueError:
        pass
print("survived")

"""Calls everything of the module in one thread, and prints what comes out."""

import access

rows = ["first", "second"]
table = access.Table(rows)
print(table.put("new"), rows, table.exchange("other"))
print([table.turn() for _ in range(4)], type(table).__name__)
print([access.type_name(x) for x in (1, "text", int, table)])
print([access.length(x) for x in ((), (1, 2), b"four", [1])])
print([access.head(n) for n in (0, 3, 8, 9)])

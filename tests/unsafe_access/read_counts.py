"""Prints whether a new reference is seen in the count, and a list that had its count set."""

import counts

print(counts.is_counted(object()), counts.reset())

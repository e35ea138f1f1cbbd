"""Ports CPython C extensions to the free-threaded build; the program is `ungil`."""

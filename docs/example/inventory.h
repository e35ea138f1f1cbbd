/* What the functions of the inventory share. */
#ifndef INVENTORY_H
#define INVENTORY_H

#include <Python.h>

/* Leaves the function with an exception unless `object` is a `kind`. */
#define REQUIRE(object, kind)                                                \
    do {                                                                     \
        if (!Py##kind##_Check(object)) {                                     \
            PyErr_Format(PyExc_TypeError, "expected %s, not %s", #kind,      \
                         Py_TYPE(object)->tp_name);                          \
            return NULL;                                                     \
        }                                                                    \
    } while (0)

/* One line of an order. */
typedef struct {
    const char *name;
    long count;
} Line;

#endif

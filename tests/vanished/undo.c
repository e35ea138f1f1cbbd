/* Loops over a list that an item empties while they run: what had begun by then has to be undone
 * where the next item is not there any more. `opened` tells what was not. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <string.h>

typedef struct {
    long depth;
} Ctx;

static long opened;
static long mode;

static void
ctx_init(Ctx *ctx)
{
    ctx->depth = 0;
    opened++;
}

static void
ctx_clear(Ctx *ctx)
{
    ctx->depth = 0;
    opened--;
}

static Ctx *
row_new(void)
{
    static Ctx row;

    ctx_init(&row);
    return &row;
}

static void
row_drop(Ctx *row)
{
    ctx_clear(row);
}

static void
start(void)
{
    opened++;
}

static void
done(void)
{
    opened--;
}

static PyObject *
t_struct(PyObject *self, PyObject *list)
{
    Ctx ctx;
    Py_ssize_t i, n = PyList_GET_SIZE(list);

    ctx_init(&ctx);
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        long x = PyLong_AsLong(item);

        if (x == -1 && PyErr_Occurred()) {
            ctx_clear(&ctx);
            return NULL;
        }
        ctx.depth += x;
    }
    ctx_clear(&ctx);
    return PyLong_FromSsize_t(n);
}

static PyObject *
t_pointer(PyObject *self, PyObject *list)
{
    Ctx *row = row_new();
    Py_ssize_t i, n = PyList_GET_SIZE(list);

    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        long x = PyLong_AsLong(item);

        if (x == -1 && PyErr_Occurred()) {
            row_drop(row);
            return NULL;
        }
        row->depth += x;
    }
    row_drop(row);
    return PyLong_FromSsize_t(n);
}

static PyObject *
t_nothing(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    long sum = 0;

    start();
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        long x = PyLong_AsLong(item);

        if (x == -1 && PyErr_Occurred()) {
            done();
            return NULL;
        }
        sum += x;
    }
    done();
    return PyLong_FromLong(sum);
}

/* Only the common way out sets the mode back. */
static PyObject *
t_saved(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    long before = mode;
    long sum = 0;

    mode = 3;
    opened = mode;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        sum += PyLong_AsLong(item);
    }
    mode = before;
    opened = mode;
    return PyErr_Occurred() ? NULL : PyLong_FromLong(sum);
}

static int
fill(PyObject *list, char **names, int *count)
{
    int i, n = (int)PyList_GET_SIZE(list);

    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        if (PyLong_AsLong(item) == -1 && PyErr_Occurred()) {
            *count = i;
            return -1;
        }
        names[i] = strdup("name");
        opened++;
    }
    *count = n;
    return 0;
}

/* `fill` tells how many there are, also where it fails. */
static PyObject *
t_counted(PyObject *self, PyObject *list)
{
    char *names[8];
    int count = 0;
    int status = PyList_GET_SIZE(list) > 8 ? -2 : fill(list, names, &count);

    while (count > 0) {
        free(names[--count]);
        opened--;
    }
    return status < 0 ? NULL : PyLong_FromLong(status);
}

/* One name is stored, and not counted yet. */
static PyObject *
t_uncounted(PyObject *self, PyObject *list)
{
    char *names[8];
    int used = 0;
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    PyObject *result = NULL;

    for (i = 0; i < n && i < 8; i++) {
        PyObject *item;

        names[used] = strdup("name");
        if (names[used] == NULL) {
            PyErr_NoMemory();
            goto end;
        }
        opened++;
        item = PyList_GET_ITEM(list, i);
        (void)PyNumber_Index(item);
        used++;
    }
    if (PyErr_Occurred())
        goto end;
    result = PyLong_FromLong(used);
end:
    while (used > 0) {
        free(names[--used]);
        opened--;
    }
    return result;
}

/* Python calls undo it. */
static PyObject *
t_python(PyObject *self, PyObject *args)
{
    PyObject *list, *seen;
    Py_ssize_t i, n;

    if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &list, &seen))
        return NULL;
    if (PySet_Add(seen, Py_None) < 0)
        return NULL;
    n = PyList_GET_SIZE(list);
    for (i = 0; i < n; i++) {
        PyObject *item;

        item = PyList_GET_ITEM(list, i);
        if (PyLong_AsLong(item) == -1 && PyErr_Occurred()) {
            PySet_Discard(seen, Py_None);
            return NULL;
        }
    }
    PySet_Discard(seen, Py_None);
    return PyLong_FromSsize_t(n);
}

/* Only the common way out takes it back. */
static PyObject *
t_seen(PyObject *self, PyObject *args)
{
    PyObject *list, *seen;
    Py_ssize_t i, n;
    long sum = 0;

    if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &list, &seen))
        return NULL;
    if (PySet_Add(seen, Py_None) < 0)
        return NULL;
    n = PyList_GET_SIZE(list);
    for (i = 0; i < n; i++)
        sum += PyLong_AsLong(PyList_GET_ITEM(list, i));
    PySet_Discard(seen, Py_None);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(sum);
}

#define ENTER() (opened++)
#define LEAVE() (opened--)

/* Macros begin and end it. */
static PyObject *
t_macro(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    long sum = 0;

    ENTER();
    for (i = 0; i < n; i++)
        sum += PyLong_AsLong(PyList_GET_ITEM(list, i));
    LEAVE();
    return PyErr_Occurred() ? NULL : PyLong_FromLong(sum);
}

/* What was changed for a while is copied back. */
static PyObject *
t_copied(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    long before;

    memcpy(&before, &opened, sizeof(before));
    opened = 7;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        if (PyLong_AsLong(item) == -1 && PyErr_Occurred()) {
            memcpy(&opened, &before, sizeof(before));
            return NULL;
        }
    }
    memcpy(&opened, &before, sizeof(before));
    return PyLong_FromSsize_t(n);
}

static PyObject *
t_memory(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    double *values = PyMem_New(double, 4096);

    if (values == NULL)
        return PyErr_NoMemory();
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        values[i] = (double)PyLong_AsLong(item);
        if (PyErr_Occurred()) {
            PyMem_Free(values);
            return NULL;
        }
    }
    PyMem_Free(values);
    return PyLong_FromSsize_t(n);
}

static PyObject *
t_resized(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    double *values = NULL;

    PyMem_Resize(values, double, 4096);
    if (values == NULL)
        return PyErr_NoMemory();
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        values[i] = (double)PyLong_AsLong(item);
        if (PyErr_Occurred()) {
            PyMem_Free(values);
            return NULL;
        }
    }
    PyMem_Free(values);
    return PyLong_FromSsize_t(n);
}

static PyObject *
t_buffer(PyObject *self, PyObject *args)
{
    Py_buffer view;
    PyObject *list;
    Py_ssize_t i, n;
    long sum = 0;

    if (!PyArg_ParseTuple(args, "O!y*", &PyList_Type, &list, &view))
        return NULL;
    n = PyList_GET_SIZE(list);
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        long x = PyLong_AsLong(item);

        if (x == -1 && PyErr_Occurred()) {
            PyBuffer_Release(&view);
            return NULL;
        }
        sum += x;
    }
    PyBuffer_Release(&view);
    return PyLong_FromLong(sum);
}

/* What each pass begins, it ends before the next lookup. */
static PyObject *
t_each_pass(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    long sum = 0;

    for (i = 0; i < n; i++) {
        Ctx ctx;
        PyObject *item = PyList_GET_ITEM(list, i);
        long x;

        ctx_init(&ctx);
        x = PyLong_AsLong(item);
        if (x == -1 && PyErr_Occurred()) {
            ctx_clear(&ctx);
            return NULL;
        }
        sum += x;
        ctx_clear(&ctx);
    }
    return PyLong_FromLong(sum);
}

/* The label does what the exit has to. */
static PyObject *
t_label(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    PyObject *result = NULL;

    start();
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        if (PyLong_AsLong(item) == -1 && PyErr_Occurred())
            goto end;
    }
    result = PyLong_FromSsize_t(n);
end:
    done();
    return result;
}

/* What the loop asks for behind it is not lost. */
static int
add_all(PyObject *list, double *sum)
{
    Py_ssize_t i;

    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        *sum += PyFloat_AsDouble(item);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *
t_pending(PyObject *self, PyObject *list)
{
    double sum = 0;

    if (add_all(list, &sum) < 0)
        return NULL;
    return PyFloat_FromDouble(sum);
}

/* So it is where the loop does not ask how many there still are. */
static void
sum_up(PyObject *list, double *sum)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);

    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        *sum += PyFloat_AsDouble(item);
    }
}

static PyObject *
t_summed(PyObject *self, PyObject *list)
{
    double sum = 0;

    sum_up(list, &sum);
    return PyErr_Occurred() ? NULL : PyFloat_FromDouble(sum);
}

/* It may be called with an exception, and is here. */
static void
empty(PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);

    for (i = 0; i < n; i++)
        if (PyLong_Check(PyList_GET_ITEM(list, i)) == 0)
            PyList_SetSlice(list, 0, PY_SSIZE_T_MAX, NULL);
}

static PyObject *
t_entered(PyObject *self, PyObject *list)
{
    PyObject *name = PyObject_GetAttrString(list, "name");

    empty(list);
    return name;
}

/* The status says the same at each lookup as at the jump. */
static PyObject *
t_settled(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    int failed = 1;

    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        if (PyLong_AsLong(item) == -1 && PyErr_Occurred())
            goto end;
    }
    failed = 0;
end:
    return failed ? NULL : PyLong_FromSsize_t(n);
}

/* Here it was set since. */
static int
status(PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    int failed = 1;

    if (PyObject_Size(list) < 0)
        goto end;
    failed = 0;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        (void)PyLong_AsLong(item);
    }
end:
    return failed ? -1 : 0;
}

static PyObject *
t_status(PyObject *self, PyObject *list)
{
    return status(list) < 0 ? NULL : PyLong_FromLong(0);
}

/* It tells of nothing: -1 is a number like any other. */
static long
last(PyObject *list)
{
    long value = 0;
    Py_ssize_t i, n = PyList_GET_SIZE(list);

    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        value = PyLong_AsLong(item);
        if (value == -1 && PyErr_Occurred()) {
            PyErr_WriteUnraisable(item);
            return 0;
        }
    }
    return value;
}

static PyObject *
t_last(PyObject *self, PyObject *list)
{
    return PyLong_FromLong(last(list));
}

/* It tells by another number than the call does. */
static double
mean(PyObject *list)
{
    double value = 0;
    Py_ssize_t i, n = PyList_GET_SIZE(list);

    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        value = PyNumber_AsSsize_t(item, NULL);
        if (value == -1.0 && PyErr_Occurred())
            return -DBL_MAX;
    }
    return value;
}

static PyObject *
t_mean(PyObject *self, PyObject *list)
{
    double value = mean(list);

    return value == -DBL_MAX ? NULL : PyFloat_FromDouble(value);
}

/* The status of the function is another one in the loop. */
static int
hidden(PyObject *list)
{
    int rc = 0;
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    PyObject *seen = PyList_New(0);

    if (seen == NULL) {
        rc = -1;
        goto done;
    }
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        long rc = PyLong_AsLong(item);

        if (rc == -1)
            PyErr_WriteUnraisable(item);
    }
    rc = PyList_Append(list, seen);
    Py_DECREF(seen);
done:
    return rc;
}

static PyObject *
t_hidden(PyObject *self, PyObject *list)
{
    return hidden(list) < 0 ? NULL : PyLong_FromLong(0);
}

/* Its caller asks. */
static void
point(PyObject *list, Py_ssize_t *x, Py_ssize_t *y)
{
    *x = PyNumber_AsSsize_t(PyList_GET_ITEM(list, 0), NULL);
    *y = PyNumber_AsSsize_t(PyList_GET_ITEM(list, 1), NULL);
}

static PyObject *
t_point(PyObject *self, PyObject *list)
{
    Py_ssize_t x = 0, y = 0;

    point(list, &x, &y);
    if (PyErr_Occurred())
        return NULL;
    return PyLong_FromSsize_t(x + y);
}

static void
hold(PyObject *op)
{
    opened++;
}

static void
put_back(Ctx *ctx)
{
    opened--;
}

/* One object by two names. */
static int
renamed(PyObject *op, PyObject *list)
{
    Ctx *ctx = (Ctx *)op;
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    int rc = -1;

    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        hold(op);
        if (PyLong_AsLong(item) == -1 && PyErr_Occurred())
            goto end;
        put_back(ctx);
    }
    return 0;
end:
    put_back(ctx);
    return rc;
}

static PyObject *
t_renamed(PyObject *self, PyObject *list)
{
    return renamed(self, list) < 0 ? NULL : PyLong_FromLong(0);
}

static int
check(Ctx *ctx, PyObject *item)
{
    if (PyLong_AsLong(item) == -1 && PyErr_Occurred()) {
        ctx->depth = 1;
        return -1;
    }
    return 0;
}

/* The label asks for what a helper sets. */
static int
told(PyObject *list)
{
    Ctx ctx;
    Py_ssize_t i, n = PyList_GET_SIZE(list);

    ctx.depth = 0;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        if (check(&ctx, item) < 0)
            goto end;
    }
end:
    return ctx.depth ? -1 : 0;
}

static PyObject *
t_told(PyObject *self, PyObject *list)
{
    return told(list) < 0 ? NULL : PyLong_FromLong(0);
}

typedef struct {
    long *data;
} Stream;

typedef struct {
    long *data;
    Py_ssize_t size;
    Stream *stream;
    long told;
} Table;

static Stream stream;
static Table table = {NULL, 0, &stream, 0};

static void
stream_set_data(Stream *stream, long *data)
{
    stream->data = data;
}

/* The stream reads from memory that moves. */
static PyObject *
t_moved(PyObject *self, PyObject *list)
{
    Table *it = &table;
    Py_ssize_t i;

    it->size = PyList_GET_SIZE(list);
    it->data = (long *)PyMem_RawRealloc(it->data, (it->size + 9000) * sizeof(long));
    for (i = 0; i < it->size; i++)
        it->data[i] = PyLong_AsLong(PyList_GET_ITEM(list, i));
    stream_set_data(it->stream, it->data);
    return PyLong_FromSsize_t(it->size);
}

static void
table_tell(Table *it, long *data)
{
    it->stream->data = data;
    it->told++;
}

/* The same by a function that does more. */
static PyObject *
t_counts(PyObject *self, PyObject *list)
{
    Table *it = &table;
    Py_ssize_t i;

    it->size = PyList_GET_SIZE(list);
    it->data = (long *)PyMem_RawRealloc(it->data, (it->size + 9000) * sizeof(long));
    for (i = 0; i < it->size; i++)
        it->data[i] = PyLong_AsLong(PyList_GET_ITEM(list, i));
    table_tell(it, it->data);
    return PyLong_FromSsize_t(it->size);
}

static PyObject *current;

/* What the place had has one owner more than it knows of. */
static PyObject *
t_taken(PyObject *self, PyObject *list)
{
    PyObject *old = current;
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    long sum = 0;

    current = NULL;
    for (i = 0; i < n; i++)
        sum += PyLong_AsLong(PyList_GET_ITEM(list, i));
    current = PyLong_FromLong(sum);
    Py_XDECREF(old);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(sum);
}

typedef struct {
    char *name;
    long number;
} Row;

static char *
new_name(void)
{
    opened++;
    return strdup("name");
}

static void
free_name(char *name)
{
    free(name);
    opened--;
}

/* Only the end frees what is in the rows. */
static PyObject *
t_rows(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    long sum = 0;
    Row *rows = PyMem_New(Row, n);

    if (rows == NULL)
        return PyErr_NoMemory();
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        rows[i].number = PyLong_Check(item) ? 0 : PyLong_AsLong(item);
        rows[i].name = new_name();
    }
    for (i = 0; i < n; i++) {
        sum += rows[i].number;
        free_name(rows[i].name);
    }
    PyMem_Free(rows);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(sum);
}

static void
login(PyObject *session)
{
    opened++;
}

static void
logout(PyObject *session)
{
    opened--;
}

/* Nobody but the function ends the session. */
static PyObject *
t_session(PyObject *self, PyObject *list)
{
    PyObject *session = PyList_New(0);
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    long sum = 0;

    if (session == NULL)
        return NULL;
    login(session);
    for (i = 0; i < n; i++)
        sum += PyLong_AsLong(PyList_GET_ITEM(list, i));
    logout(session);
    Py_DECREF(session);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(sum);
}

/* Converters and texts in an encoding give what the function has to release. */
static PyObject *
t_converted(PyObject *self, PyObject *args)
{
    PyObject *list, *path;
    Py_ssize_t i, n;
    long sum = 0;

    if (!PyArg_ParseTuple(args, "OO&", &list, PyUnicode_FSConverter, &path))
        return NULL;
    n = PyList_GET_SIZE(list);
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        sum += PyLong_Check(item) ? 0 : PyLong_AsLong(item);
    }
    Py_DECREF(path);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(sum);
}

static PyObject *
t_encoded(PyObject *self, PyObject *args)
{
    PyObject *list;
    char *text = NULL;
    Py_ssize_t i, n;
    long sum = 0;

    if (!PyArg_ParseTuple(args, "Oet", &list, "utf-8", &text))
        return NULL;
    n = PyList_GET_SIZE(list);
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        sum += PyLong_Check(item) ? 0 : PyLong_AsLong(item);
    }
    PyMem_Free(text);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(sum);
}

static int
to_name(PyObject *value, char **name)
{
    *name = PyMem_Malloc(4096);
    return *name != NULL;
}

static PyObject *
t_own_converted(PyObject *self, PyObject *args)
{
    PyObject *list;
    char *name;
    Py_ssize_t i, n;
    long sum = 0;

    if (!PyArg_ParseTuple(args, "OO&", &list, to_name, &name))
        return NULL;
    n = PyList_GET_SIZE(list);
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        sum += PyLong_Check(item) ? 0 : PyLong_AsLong(item);
    }
    PyMem_Free(name);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(sum);
}

typedef struct {
    PyObject_HEAD
    long sum;
} Box;

static void
box_dealloc(PyObject *self)
{
    opened--;
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject Box_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "undo.Box",
    .tp_basicsize = sizeof(Box),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = box_dealloc,
};

static Box *
box_new(void)
{
    Box *box = (Box *)Box_Type.tp_alloc(&Box_Type, 0);

    if (box == NULL)
        return (Box *)PyErr_NoMemory();
    opened++;
    box->sum = 0;
    return box;
}

/* No other exit releases what the function of the package has made. */
static PyObject *
t_box(PyObject *self, PyObject *list)
{
    Box *box;
    Py_ssize_t i, n = PyList_GET_SIZE(list);

    box = box_new();
    if (box == NULL)
        return NULL;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        box->sum += PyLong_AsLong(item);
        box->sum += n;
    }
    return (PyObject *)box;
}

static Box *
box_shared(void)
{
    static Box *box = NULL;

    if (box == NULL)
        box = (Box *)Box_Type.tp_alloc(&Box_Type, 0);
    return box;
}

/* It is everybody's, and must not be released. */
static PyObject *
t_shared(PyObject *self, PyObject *list)
{
    Box *box;
    Py_ssize_t i, n = PyList_GET_SIZE(list);

    box = box_shared();
    if (box == NULL)
        return NULL;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);

        box->sum += PyLong_AsLong(item);
        box->sum += n;
    }
    Py_INCREF(box);
    return (PyObject *)box;
}

static PyObject *
left_open(PyObject *self, PyObject *args)
{
    long left = opened + (table.data != stream.data) + (current == NULL);

    Py_XSETREF(current, PyList_New(0));

    PyMem_RawFree(table.data);
    table.data = stream.data = NULL;

    opened = 0;
    mode = 0;
    return PyLong_FromLong(left);
}

#define METHOD(name) {#name, t_##name, METH_O, NULL}

static PyMethodDef methods[] = {
    METHOD(struct), METHOD(pointer), METHOD(nothing), METHOD(saved),
    METHOD(uncounted), METHOD(memory), METHOD(resized), METHOD(each_pass),
    METHOD(label), METHOD(pending), METHOD(settled),
    {"hidden", t_hidden, METH_O, NULL}, {"last", t_last, METH_O, NULL},
    {"mean", t_mean, METH_O, NULL}, {"point", t_point, METH_O, NULL},
    METHOD(status), METHOD(renamed), METHOD(told),
    METHOD(moved), METHOD(counts), METHOD(macro), METHOD(copied),
    METHOD(taken), METHOD(rows), METHOD(session),
    METHOD(box), METHOD(shared),
    {"fill", t_counted, METH_O, NULL}, {"add_all", t_pending, METH_O, NULL},
    {"sum_up", t_summed, METH_O, NULL}, {"empty", t_entered, METH_O, NULL},
    {"buffer", t_buffer, METH_VARARGS, NULL},
    {"converted", t_converted, METH_VARARGS, NULL},
    {"encoded", t_encoded, METH_VARARGS, NULL},
    {"own_converted", t_own_converted, METH_VARARGS, NULL},
    {"python", t_python, METH_VARARGS, NULL},
    {"seen", t_seen, METH_VARARGS, NULL},
    {"left_open", left_open, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "undo", NULL, -1, methods, NULL, NULL, NULL, NULL
};

PyMODINIT_FUNC
PyInit_undo(void)
{
    if (PyType_Ready(&Box_Type) < 0)
        return NULL;
    current = PyList_New(0);
    return PyModule_Create(&module);
}

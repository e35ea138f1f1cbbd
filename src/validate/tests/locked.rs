//! Releases while a lock is held.

use super::wrong;

const STRONG: (&str, &str) = ("PyList_GetItem", "PyList_GetItemRef");
const RELEASE: (&str, &str) = ("n = use(v);", "n = use(v); Py_XDECREF(v);");
const LATE: (&str, &str) = ("return n;", "Py_XDECREF(v); return n;");

/// What is not proven of a release inside of these two, and of one after them.
fn between(lock: &str, unlock: &str) -> [Vec<String>; 2] {
    let text = format!(
        "static int f(Pool *self, PyObject *l) {{
            int n;
            PyObject *v;
            {lock}
            v = PyList_GetItem(l, 0);
            n = use(v);
            {unlock}
            return n;
        }}"
    );
    [RELEASE, LATE].map(|release| wrong(&text, &[STRONG, release]))
}

#[test]
fn a_release_under_a_lock_is_doubted() {
    for (lock, unlock, name) in [
        (
            "pthread_mutex_lock(&self->lock);",
            "pthread_mutex_unlock(&self->lock);",
            "pthread_mutex_lock",
        ),
        (
            "PyThread_acquire_lock(self->lock, WAIT_LOCK);",
            "PyThread_release_lock(self->lock);",
            "PyThread_acquire_lock",
        ),
        ("POOL_LOCK();", "POOL_UNLOCK();", "POOL_LOCK"),
        (
            "if (self->shared) PyMutex_Lock(&self->lock);",
            "if (self->shared) PyMutex_Unlock(&self->lock);",
            "PyMutex_Lock",
        ),
    ] {
        let doubt = format!(
            "unknown: in `f`, nothing that `Py_XDECREF` frees waits for the lock that `{name}` took"
        );
        let [inside, after] = between(lock, unlock);
        assert_eq!(inside, [doubt], "{lock}");
        // What is asked of a condition before the release is asked of no path.
        assert_eq!(after.is_empty(), !lock.starts_with("if"), "{lock}");
    }
}

/// Whoever waits for an object gives its critical sections up.
#[test]
fn a_critical_section_is_no_such_lock() {
    let [inside, _] = between(
        "{ PyCriticalSection cs; PyCriticalSection_Begin(&cs, l);",
        "PyCriticalSection_End(&cs); }",
    );
    assert_eq!(inside, [""; 0]);
}

#[test]
fn a_section_under_a_lock_is_doubted() {
    let section = |lock: &str, unlock: &str| {
        let text = format!(
            "static int f(Pool *self, PyObject *d) {{
                Py_ssize_t pos = 0;
                int n = 0;
                {lock}
                while (PyDict_Next(d, &pos, NULL, NULL)) n++;
                {unlock}
                return n;
            }}"
        );
        let begin = ("while", "Py_BEGIN_CRITICAL_SECTION(d);\n while");
        wrong(
            &text,
            &[begin, ("n++;", "n++;\n Py_END_CRITICAL_SECTION();")],
        )
    };
    assert_eq!(
        section("pool_lock(self);", "pool_unlock(self);"),
        [
            "unknown: in `f`, no thread that holds the object of the new critical section waits \
             for the lock that `pool_lock` took"
        ]
    );
    assert_eq!(section("pool_lock(self); pool_unlock(self);", ""), [""; 0]);
}

#[test]
fn a_lock_of_the_callers_counts() {
    let text = "
static int f(PyObject *l) {
    int n;
    PyObject *v = PyList_GetItem(l, 0);
    n = use(v);
    return n;
}
static int helper(PyObject *l) { return f(l); }
static void g(Pool *self, PyObject *l) {
    pool_mutex_acquire(self);
    helper(l);
    pool_mutex_release(self);
}";
    assert_eq!(
        wrong(text, &[STRONG, RELEASE]),
        [
            "unknown: in `f`, nothing that `Py_XDECREF` frees waits for the lock that its callers hold"
        ]
    );
    let early = text.replace(
        "    helper(l);\n    pool_mutex_release(self);",
        "    pool_mutex_release(self);\n    helper(l);",
    );
    assert_eq!(wrong(&early, &[STRONG, RELEASE]), [""; 0]);
}

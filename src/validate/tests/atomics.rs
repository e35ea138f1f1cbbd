//! Static numbers that become atomic.

use super::wrong;

const BEFORE: &str = "
typedef int Number;
static int hits, width;
static PyObject *f(PyObject *self, PyObject *args) {
    hits++;
    hits += width;
    return PyLong_FromLong(1);
}
static PyObject *g(PyObject *self, PyObject *args) { return PyLong_FromLong(hits); }
";
const TYPE: (&str, &str) = ("static int hits", "static PYAPI_ATOMIC(int) hits");
const ONE: (&str, &str) = ("hits++", "PYAPI_ATOMIC_ADD(hits, 1)");
const MORE: (&str, &str) = ("hits += width", "PYAPI_ATOMIC_ADD(hits, width)");

#[test]
fn each_step_is_one_operation() {
    assert_eq!(wrong(BEFORE, &[TYPE, ONE, MORE]), [""; 0]);
}

#[test]
fn a_step_that_adds_something_else_is_wrong() {
    let two = ("hits++", "PYAPI_ATOMIC_ADD(hits, 2)");
    assert_eq!(
        wrong(BEFORE, &[TYPE, two, MORE]),
        [
            "in `f`, a change of `hits`, which becomes atomic, is not one operation with the same result"
        ]
    );
}

#[test]
fn a_step_that_stays_is_wrong() {
    assert_eq!(
        wrong(BEFORE, &[TYPE, ONE]),
        [
            "in `f`, a change of `hits`, which becomes atomic, is not one operation with the same result"
        ]
    );
    assert_eq!(
        wrong(BEFORE, &[TYPE]),
        [
            "in `f`, a change of `hits`, which becomes atomic, is not one operation with the same result"
        ]
    );
}

#[test]
fn who_has_the_address_keeps_the_type() {
    for use_of in ["read(&width)", "PyLong_FromSize_t(sizeof width)"] {
        let text = BEFORE.replace("PyLong_FromLong(hits)", use_of);
        assert_eq!(
            wrong(&text, &[TYPE, ONE, MORE]),
            ["`width` becomes atomic, but its address or size is used"]
        );
    }
}

#[test]
fn a_variable_of_a_function_is_its_own() {
    let text = "
static PyObject *f(PyObject *self, PyObject *args) {
    static int n = 0;
    n -= 3;
    return NULL;
}
static int g(void) { int n = 0; read(&n); return n; }
";
    let kind = ("static int n", "static PYAPI_ATOMIC(int) n");
    let right = ("n -= 3", "PYAPI_ATOMIC_ADD(n, -3)");
    let wrongly = ("n -= 3", "PYAPI_ATOMIC_ADD(n, 3)");
    assert_eq!(wrong(text, &[kind, right]), [""; 0]);
    assert_eq!(wrong(text, &[kind, wrongly]).len(), 1);
}

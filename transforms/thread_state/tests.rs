//! Functions in, findings out.

use super::blocking::ATTACHED_BLOCKING_CALL;
use super::detached_call::DETACHED_API_CALL;
use super::held_lock::LOCK_HELD_OVER_PYTHON;
use super::left_out::THREAD_CALL_LEFT_OUT;
use super::unattached_thread::UNATTACHED_THREAD;
use crate::testing::report;

#[test]
fn calls_of_the_api_while_detached_are_told() {
    insta::assert_snapshot!(report(&DETACHED_API_CALL, r#"
static int fail(int code)
{
    PyErr_SetString(PyExc_OSError, "no");
    return code;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
    char *text = PyBytes_AS_STRING(arg);
    int n;
    Py_BEGIN_ALLOW_THREADS
    n = use(text, PyBytes_GET_SIZE(arg));
    if (n < 0)
        PyErr_SetNone(PyExc_OSError);
    if (n < 1)
        n = fail(n);
    Py_BLOCK_THREADS
    PyErr_Clear();
    Py_UNBLOCK_THREADS
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(n);
}
"#), @r"
    14: `PyErr_SetNone` is called while the thread is detached; it needs an attached thread
      by hand: call it after the block, or between `Py_BLOCK_THREADS` and `Py_UNBLOCK_THREADS`
    16: `fail` is called while the thread is detached; it needs an attached thread
      4: called here
      by hand: call it after the block, or between `Py_BLOCK_THREADS` and `Py_UNBLOCK_THREADS`
    ");
}

#[test]
fn detaching_by_helpers_and_by_hand_is_understood() {
    insta::assert_snapshot!(report(&DETACHED_API_CALL, r#"
static void leave(Self *self) { self->state = PyEval_SaveThread(); }
static void enter(Self *self) { PyEval_RestoreThread(self->state); }
static int callback(void *self)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyErr_Clear();
    PyGILState_Release(state);
    return 0;
}
static PyObject *f(Self *self)
{
    leave(self);
    work(self);
    callback(self);
    Py_INCREF(self);
    enter(self);
    Py_DECREF(self);
    Py_RETURN_NONE;
}
"#), @r"
    16: `Py_INCREF` is called while the thread is detached; it needs an attached thread
      by hand: call it after the block, or between `Py_BLOCK_THREADS` and `Py_UNBLOCK_THREADS`
    ");
}

#[test]
fn threads_that_do_not_attach_are_told() {
    insta::assert_snapshot!(report(&UNATTACHED_THREAD, r#"
static void call(PyObject *f)
{
    Py_XDECREF(PyObject_CallNoArgs(f));
}
static void *bad(void *arg)
{
    wait_for(arg);
    call((PyObject *)arg);
    return NULL;
}
static void *good(void *arg)
{
    PyGILState_STATE state = PyGILState_Ensure();
    call((PyObject *)arg);
    PyGILState_Release(state);
    return NULL;
}
static void *viewed(void *arg)
{
    PyThreadStateToken *token = PyThreadState_EnsureFromView(view);
    if (token == NULL)
        return NULL;
    call((PyObject *)arg);
    PyThreadState_Release(token);
    return NULL;
}
static void *plain(void *arg) { return arg; }
static void start(void *arg)
{
    pthread_t t;
    pthread_create(&t, NULL, bad, arg);
    pthread_create(&t, NULL, &good, arg);
    pthread_create(&t, NULL, viewed, arg);
    pthread_create(&t, NULL, (void *(*)(void *))plain, arg);
}
"#), @"
    9: the thread function `bad` uses the C API here without attaching first; that is undefined without the GIL as well
      32: the thread is started here
      by hand: call `PyGILState_Ensure()` before this, and `PyGILState_Release()` afterwards
    ");
}

#[test]
fn functions_that_libraries_run_on_their_threads_are_told() {
    insta::assert_snapshot!(report(&UNATTACHED_THREAD, r#"
static void work(uv_work_t *request) { Py_INCREF((PyObject *)request->data); }
static void done(uv_work_t *request, int status) { PyErr_Clear(); }
static void notify(union sigval value)
{
    PyObject_CallNoArgs((PyObject *)value.sival_ptr);
}
static Uint32 tick(Uint32 interval, void *arg)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyErr_Clear();
    PyGILState_Release(state);
    return interval;
}
static void start(uv_loop_t *loop, uv_work_t *request)
{
    struct sigevent event;
    uv_queue_work(loop, request, work, done);
    event.sigev_notify_function = &notify;
    SDL_AddTimer(10, tick, NULL);
}
"#), @"
    2: the thread function `work` uses the C API here without attaching first; that is undefined without the GIL as well
      18: the thread is started here
      by hand: call `PyGILState_Ensure()` before this, and `PyGILState_Release()` afterwards
    6: the thread function `notify` uses the C API here without attaching first; that is undefined without the GIL as well
      19: the thread is started here
      by hand: call `PyGILState_Ensure()` before this, and `PyGILState_Release()` afterwards
    ");
}

#[test]
fn waiting_attached_is_told_where_python_calls() {
    insta::assert_snapshot!(report(&ATTACHED_BLOCKING_CALL, r#"
static void pause_a_little(void) { usleep(1000); PyErr_CheckSignals(); }
static void library(void) { usleep(1000); }
static void pause_apart(void) { usleep(1000); }
static void *worker(void *arg) { sleep(1); return arg; }
static PyObject *f(PyObject *self, PyObject *arg)
{
    pause_a_little();
    library();
    sem_wait(&lock);
    PyThread_acquire_lock(gate, 0);
    PyThread_acquire_lock(gate, 1);
    PyErr_Clear();
    PyThread_release_lock(gate);
    pthread_mutex_lock(&short_one);
    count++;
    pthread_mutex_unlock(&short_one);
    Py_BEGIN_ALLOW_THREADS
    sem_wait(&lock);
    pause_apart();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"f", f, METH_O, NULL}, {NULL}};
"#), @r"
    2: `usleep` may wait while the thread is attached; other threads that stop all threads then wait, too
      by hand: call it between `Py_BEGIN_ALLOW_THREADS` and `Py_END_ALLOW_THREADS`
    10: `sem_wait` may wait while the thread is attached; other threads that stop all threads then wait, too
      by hand: call it between `Py_BEGIN_ALLOW_THREADS` and `Py_END_ALLOW_THREADS`
    12: `PyThread_acquire_lock` may wait while the thread is attached; other threads that stop all threads then wait, too
      by hand: call it between `Py_BEGIN_ALLOW_THREADS` and `Py_END_ALLOW_THREADS`
    ");
}

#[test]
fn running_python_under_a_lock_is_told_once_a_lock() {
    insta::assert_snapshot!(report(&LOCK_HELD_OVER_PYTHON, r#"
static PyObject *f(Self *self, PyObject *arg)
{
    PyObject *r;
    pthread_mutex_lock(&self->lock);
    r = PyObject_CallNoArgs(arg);
    Py_XDECREF(PyObject_Str(arg));
    pthread_mutex_unlock(&self->lock);
    PyThread_acquire_lock(self->gate, WAIT_LOCK);
    self->count++;
    PyThread_release_lock(self->gate);
    if (PyThread_acquire_lock(self->gate, NOWAIT_LOCK))
        r = PyObject_Repr(arg);
    return PyObject_Str(arg);
}
"#), @r"
    6: `PyObject_CallNoArgs` runs Python code while `&self->lock` is locked; that code may wait for the same lock (deadlock)
      5: it is locked here
      by hand: take a strong reference to the objects in use and release the lock first, or use a critical section
    ");
}

#[test]
fn calls_that_only_builds_with_the_gil_make_are_told() {
    insta::assert_snapshot!(report(&THREAD_CALL_LEFT_OUT, r#"
#ifdef Py_GIL_DISABLED
#define Py_BLOCK_THREADS
#define LEAVE
#else
#define LEAVE PyThreadState *state = PyEval_SaveThread();
#endif
static void *worker(void *arg)
{
#if !defined(Py_GIL_DISABLED)
    PyGILState_STATE state = PyGILState_Ensure();
#endif
    PyErr_Clear();
#if !defined(Py_GIL_DISABLED)
    PyGILState_Release(state);
#endif
    return arg;
}
static PyObject *f(PyObject *self, PyObject *arg)
{
#ifdef Py_GIL_DISABLED
    lock(self);
#else
    Py_BEGIN_ALLOW_THREADS
#ifdef POLL
    wait(self);
#endif
    Py_END_ALLOW_THREADS
#endif
    Py_RETURN_NONE;
}
"#), @"
    3: `Py_BLOCK_THREADS` is left out of builds without the GIL; threads must attach and detach there, too
      by hand: keep it in both builds
    6: `PyEval_SaveThread` is left out of builds without the GIL; threads must attach and detach there, too
      by hand: keep it in both builds
    11: `PyGILState_Ensure` is left out of builds without the GIL; threads must attach and detach there, too
      by hand: keep it in both builds
    15: `PyGILState_Release` is left out of builds without the GIL; threads must attach and detach there, too
      by hand: keep it in both builds
    24: `Py_BEGIN_ALLOW_THREADS` is left out of builds without the GIL; threads must attach and detach there, too
      by hand: keep it in both builds
    28: `Py_END_ALLOW_THREADS` is left out of builds without the GIL; threads must attach and detach there, too
      by hand: keep it in both builds
    ");
}

#[test]
fn a_counterpart_and_other_questions_leave_nothing_out() {
    assert_eq!(
        report(
            &THREAD_CALL_LEFT_OUT,
            r#"
static PyObject *f(PyObject *self, PyObject *arg)
{
#ifdef Py_GIL_DISABLED
    PyThreadState *state = PyEval_SaveThread();
    wait(self);
    PyEval_RestoreThread(state);
#else
    Py_BEGIN_ALLOW_THREADS
    wait(self);
    Py_END_ALLOW_THREADS
#endif
#if defined(Py_GIL_DISABLED) && defined(QUICK)
    peek(self);
#else
    Py_BEGIN_ALLOW_THREADS
    wait(self);
    Py_END_ALLOW_THREADS
#endif
#ifndef Py_GIL_DISABLED
    count++;
#endif
    Py_RETURN_NONE;
}
"#
        ),
        ""
    );
}

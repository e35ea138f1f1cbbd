//! Places: what is read, written, pointed at and initialised.

use super::of_body;

#[test]
fn compound_assignments_and_steps_read_once() {
    insta::assert_snapshot!(of_body(
        "self->count += f(); n++; return --self->items[n++];"
    ), @r"
    b0:
      t0 = load self
      t1 = call f()
      t2 = load (*t0).count
      t3 = t2 + t1
      store (*t0).count = t3
      t4 = load n
      t5 = t4 + 1
      store n = t5
      t6 = load self
      t7 = load (*t6).items
      t8 = load n
      t9 = t8 + 1
      store n = t9
      t10 = load (*t7)[t8]
      t11 = t10 - 1
      store (*t7)[t8] = t11
      return t11
    ");
}

#[test]
fn places_of_members_items_and_pointers() {
    insta::assert_snapshot!(of_body(
        "PyObject *a[2]; p = a[1]; p = self->a.b->items[n]; p = *self->out; (*self).x = (&a[n])->y; return make().x;"
    ), @r"
    b0:
      declare a
      t0 = load a[1]
      store p = t0
      t1 = load self
      t2 = load (*t1).a.b
      t3 = load (*t2).items
      t4 = load n
      t5 = load (*t3)[t4]
      store p = t5
      t6 = load self
      t7 = load (*t6).out
      t8 = load (*t7)
      store p = t8
      t9 = load self
      t10 = load n
      t11 = load a[t10].y
      store (*t9).x = t11
      t12 = call make()
      store (unnamed) = t12
      t13 = load (unnamed).x
      end a
      return t13
    ");
}

#[test]
fn addresses_are_operands() {
    insta::assert_snapshot!(of_body(
        "PyObject *v; int a[3][2]; get(&v, &self->field, &PyList_Type, &*p, a, a[1], &a[1][n]); return f(self->cb);"
    ), @r"
    b0:
      declare v
      declare a
      t0 = load self
      t1 = load p
      t2 = load n
      t3 = call get(&v, &(*t0).field, &::PyList_Type, t1, &a, &a[1], &a[1][t2])
      t4 = load self
      t5 = load (*t4).cb
      t6 = call f(t5)
      end a, v
      return t6
    ");
}

#[test]
fn arrays_by_another_name_are_addresses() {
    insta::assert_snapshot!(of_body(
        "mpz_t z; handle h; record r; mpz_init(z); z->size = z[0].size; h = open(); close(h); r.n = 1; use(r);"
    ), @r"
    b0:
      declare z
      declare h
      declare r
      t0 = call mpz_init(&z)
      t1 = load z[0].size
      store z.size = t1
      t2 = call open()
      store h = t2
      t3 = load h
      t4 = call close(t3)
      store r.n = 1
      t5 = load r
      t6 = call use(t5)
      end r, h, z
      return
    ");
}

#[test]
fn initialisers_clear_then_store_in_order() {
    insta::assert_snapshot!(of_body(
        "PyObject *a[] = {f(), g(), NULL}; struct s x = {.b = {h(), 1}, 2, [4] = 3}; use((struct s){n}, &(struct s){.f = p});"
    ), @r"
    b0:
      declare a
      store a = 0
      t0 = call f()
      store a[0] = t0
      t1 = call g()
      store a[1] = t1
      store a[2] = NULL
      declare x
      store x = 0
      t2 = call h()
      store x.b[0] = t2
      store x.b[1] = 1
      store x[1] = 2
      store x[4] = 3
      store (unnamed) = 0
      t3 = load n
      store (unnamed)[0] = t3
      t4 = load (unnamed)
      store (unnamed) = 0
      t5 = load p
      store (unnamed).f = t5
      t6 = call use(t4, &(unnamed))
      end x, a
      return
    ");
}

#[test]
fn variable_arguments_are_taken_from_the_list() {
    insta::assert_snapshot!(of_body(
        "va_list list; p = va_arg(list, PyObject *); return 0;"
    ), @r"
    b0:
      declare list
      t0 = va_arg &list
      store p = t0
      end list
      return 0
    ");
}

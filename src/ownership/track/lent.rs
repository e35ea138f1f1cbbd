//! Structs and arrays of the function itself that hold an object for a while.
//!
//! ```c
//! argv[0] = v;                               /* without a reference of its own … */
//! result = PyObject_Vectorcall(f, argv, 1, NULL);
//! Py_DECREF(v);
//!
//! pair.key = v;                              /* … or with that of `v` */
//! Py_DECREF(pair.key);
//! ```
//!
//! Which of both it is shows only later: what is there is the object under another name, and a
//! reference that nobody releases is taken to have gone where the memory goes.

use super::Origin;
use super::state::{InstanceId, State, Value};
use super::step::Stepper;
use crate::ast::LocalId;
use crate::cfg::{Base, Operand, Place, Projection, Source};

/// A place in a variable of the function: `pair.key`, `argv[0]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Spot {
    local: LocalId,
    path: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Field(Box<str>),
    Index(i64),
}

impl Stepper<'_> {
    /// Notes that the instance is at `place` as well; whether the place is one that is followed, or
    /// no reference goes there.
    pub(super) fn lend(&self, state: &mut State, place: &Place, id: InstanceId) -> bool {
        if self.facts.own_memory(place).is_none() {
            return !self.memory_takes;
        }
        let Some(spot) = spot(place).filter(|spot| !self.facts.is_pointed_at(spot.local)) else {
            return false;
        };
        let instance = &mut state.instances[id];
        if instance.released && instance.count <= 0 {
            return false;
        }
        instance.lent = instance.lent.saturating_add(1);
        state.lent.insert(spot, id);
        true
    }

    /// A critical section keeps the objects that it locks in its record, and uses them where it
    /// ends: `PyCriticalSection_End(&record)`.
    pub(super) fn lock(&self, state: &mut State, name: &str, args: &[Operand], values: &[Value]) {
        if !matches!(name, "PyCriticalSection_Begin" | "PyCriticalSection2_Begin") {
            return;
        }
        let place = args.first().and_then(|record| self.facts.addressed(record));
        let Some(local) = place.and_then(Place::as_local) else {
            return;
        };
        for (at, value) in (0..).zip(&values[1..]) {
            if let Value::Instance(id) = value {
                let path = vec![Step::Index(at)];
                state.lent.insert(Spot { local, path }, *id);
            }
        }
    }

    /// What a store of `value` puts into memory: text that a caller passes is only lent to that of
    /// the function, and what gets a reference right behind lives by itself.
    pub(super) fn stored(
        &self,
        state: &State,
        place: &Place,
        value: Value,
        source: Source,
    ) -> Value {
        let is_own = self.facts.own_memory(place).is_some();
        match value {
            // external.name = name; define(list, &external);
            Value::Instance(id) if is_own && self.is_plain(state, id) => Value::Derived(id),
            // table[i] = item; Py_INCREF(item);
            Value::Derived(_) if !is_own && self.facts.is_counted_next(source) => Value::NonNull,
            _ => value,
        }
    }

    /// Whether what is followed is a plain pointer that a caller passes: nobody counts those.
    fn is_plain(&self, state: &State, id: InstanceId) -> bool {
        match self.seeds[state.instances[id].seed].origin {
            Origin::Param(param) => self.facts.holds_plain_pointer(param),
            Origin::Call(_) | Origin::Local(_) => false,
        }
    }

    /// What a load of `place` gives if an instance is there.
    pub(super) fn lent(&self, state: &State, place: &Place) -> Option<Value> {
        if state.lent.is_empty() {
            return None;
        }
        state.lent.get(&spot(place)?).copied().map(Value::Instance)
    }

    /// What a load of `place` may give where an instance is in memory that may be the same.
    ///
    /// ```c
    /// PyObject *both[2] = {a, b};           PyObject **which = &a;
    /// return both[i];                       return *which;
    /// ```
    pub(super) fn may_be_lent(&self, state: &State, place: &Place) -> Option<Value> {
        let at = spot_of_any(place);
        let id = match &place.base {
            Base::Local(local) => state.lent_in(*local, |spot| self.may_be_same(&spot.path, &at)),
            Base::Deref(pointer) => {
                let mut locals = self.facts.points_into(pointer);
                let is_field = |step: &Option<Step>| matches!(step, Some(Step::Field(_)));
                let found = locals.find_map(|local| state.lent_in(local, |_| true));
                found.or_else(|| {
                    self.pointed_at(state, pointer)
                        .filter(|_| !at.iter().any(is_field))
                })
            }
            Base::Global(_) | Base::Unnamed(_) => None,
        };
        id.map(Value::Derived)
    }

    /// Whether two paths in one variable may lead to the same place, or into it. In an initialiser a
    /// field is known by its position.
    fn may_be_same(&self, path: &[Step], other: &[Option<Step>]) -> bool {
        for (one, other) in path.iter().zip(other) {
            match (one, other) {
                (one, Some(other)) if one == other => {}
                (Step::Field(one), Some(Step::Field(other))) => {
                    return self.callees.share_memory(one, other);
                }
                (Step::Index(_), Some(Step::Index(_))) => return false,
                _ => {}
            }
        }
        true
    }

    /// The instance in a variable whose address other variables have, if `pointer` may be one of them.
    fn pointed_at(&self, state: &State, pointer: &Operand) -> Option<InstanceId> {
        if !matches!(self.value(state, pointer), Value::Unknown | Value::NonNull) {
            return None;
        }
        let mut locals = state.locals.iter();
        locals.find_map(|(local, value)| match value {
            Value::Instance(id) if self.facts.is_pointed_at(*local) => Some(*id),
            _ => None,
        })
    }

    /// `place` gets something else.
    pub(super) fn take_back(&self, state: &mut State, place: &Place) {
        let Base::Local(local) = place.base else {
            return;
        };
        let spot = spot(place);
        let goes = |at: &Spot| match &spot {
            Some(spot) => at == spot,
            None => place.path.is_empty() && at.local == local,
        };
        state.lent.retain(|at, _| !goes(at));
    }

    /// A copy of what is at an address takes the references along that should be there:
    /// `memcpy(out, &pair, sizeof pair)`.
    pub(super) fn keep_lent(&mut self, state: &mut State, address: &Operand, at: Source) {
        let place = self.facts.addressed(address);
        if let Some(local) = place.and_then(|place| self.facts.own_memory(place)) {
            self.hand_on(state, local, at);
        }
    }

    /// The same for a copy of a variable: `*out = pair;`, `return pair;`.
    pub(super) fn hand_on(&mut self, state: &mut State, local: LocalId, at: Source) {
        let goes =
            |spot: &Spot, id: InstanceId| spot.local == local && state.instances[id].count <= 0;
        let gone: Vec<Spot> = state
            .lent
            .iter()
            .filter(|(spot, id)| goes(spot, **id))
            .map(|(spot, _)| spot.clone())
            .collect();
        for spot in gone {
            if let Some(id) = state.lent.remove(&spot) {
                self.give_away(state, id, Some(at));
            }
        }
    }

    /// A call gets the address of memory, and may look at what is there. A function that is not seen
    /// may keep a struct: `external.object = v; define(list, &external);`.
    pub(super) fn look_at(
        &mut self,
        state: &mut State,
        name: &str,
        args: &[Operand],
        source: Source,
    ) {
        for arg in args {
            let Some(&Base::Local(local)) = self.facts.addressed(arg).map(|place| &place.base)
            else {
                continue;
            };
            let there = state.lent.iter().filter(|(at, _)| at.local == local);
            let there: Vec<InstanceId> = there.map(|(_, &id)| id).collect();
            for id in there {
                self.use_value(state, Value::Instance(id), source);
            }
            if !self.callees.is_known(name) && !self.facts.is_pointers(local) {
                self.keep_lent(state, arg, source);
            }
        }
    }
}

impl State {
    /// The instance at a spot of the variable for which `is_it` holds.
    fn lent_in(&self, local: LocalId, is_it: impl Fn(&Spot) -> bool) -> Option<InstanceId> {
        let mut lent = self.lent.iter();
        lent.find_map(|(spot, id)| (spot.local == local && is_it(spot)).then_some(*id))
    }

    /// References that memory of the function did not take along.
    pub(super) fn left(&self, id: InstanceId) -> i8 {
        let instance = self.instances[id];
        match instance.count {
            count @ 1.. => count.saturating_sub(instance.lent).max(0),
            count => count,
        }
    }

    /// Whether memory of the function has the instance.
    pub(super) fn is_lent(&self, id: InstanceId) -> bool {
        self.lent.values().any(|&lent| lent == id)
    }
}

/// `None` for all of a variable, and for what cannot be told apart: `argv[i]`.
fn spot(place: &Place) -> Option<Spot> {
    let Base::Local(local) = place.base else {
        return None;
    };
    let path = place.path.iter().map(|step| match step {
        Projection::Field(name) => Some(Step::Field(name.clone())),
        Projection::Index(Operand::Int(index)) => Some(Step::Index(*index)),
        Projection::Index(_) => None,
    });
    let path: Vec<Step> = path.collect::<Option<_>>()?;
    (!path.is_empty()).then_some(Spot { local, path })
}

/// The steps to a place; `None` for an index that is not known.
fn spot_of_any(place: &Place) -> Vec<Option<Step>> {
    let steps = place.path.iter().map(|step| match step {
        Projection::Field(name) => Some(Step::Field(name.clone())),
        Projection::Index(Operand::Int(index)) => Some(Step::Index(*index)),
        Projection::Index(_) => None,
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use crate::ownership::track::tests::troubles;

    #[test]
    fn memory_that_may_hold_it_is_looked_at() {
        let used = |text: &str| {
            let troubles = stored(&format!("{text} Py_RETURN_NONE;"));
            assert!(troubles.ends_with(" at show(r)"), "{text}: {troubles}");
        };
        used("PyObject *r; argv[0] = v; r = argv[self != NULL]; Py_DECREF(v); show(r);");
        used("PyObject *r, *two[] = {self, v}; r = *(two + 1); Py_DECREF(v); show(r);");
        used("PyObject *r; Pair other = {self, v}; r = other.value; Py_DECREF(v); show(r);");
        used("PyObject *r, **where = &v; r = *where; Py_DECREF(v); show(r);");
        let other = "PyObject *r; pair.key = v; r = pair.value; Py_DECREF(v); show(r);";
        assert_eq!(stored(&format!("{other} Py_RETURN_NONE;")), "");
    }

    /// An item is stored in memory of the function, and the rest runs.
    fn stored(rest: &str) -> String {
        troubles(&format!(
            "PyObject *argv[2], *result; Pair pair;
            PyObject *v = PyList_GetItemRef(self, 0);
            if (v == NULL) return NULL;
            {rest}"
        ))
    }

    #[test]
    fn memory_may_hold_an_object_as_long_as_the_variable() {
        let call = "result = PyObject_Vectorcall(self, argv, 1, NULL);";
        assert_eq!(
            stored(&format!("argv[0] = v; {call} Py_DECREF(v); return result;")),
            ""
        );
        assert_eq!(
            stored(&format!("argv[0] = v; Py_DECREF(v); {call} return result;")),
            "UseAfterRelease at PyObject_Vectorcall(self, argv, 1, NULL)"
        );
        assert_eq!(
            stored("pair.key = v; show(&pair); Py_DECREF(v); show(pair.value); Py_RETURN_NONE;"),
            ""
        );
        assert_eq!(
            stored("pair.key = v; Py_DECREF(v); show(pair.key); Py_RETURN_NONE;"),
            "UseAfterRelease at show(pair.key)"
        );
        assert_eq!(
            stored("pair.key = v; Py_DECREF(v); pair.key = self; show(&pair); Py_RETURN_NONE;"),
            ""
        );
    }

    #[test]
    fn memory_may_take_the_reference_over() {
        assert_eq!(
            stored("pair.key = v; v = NULL; run(); Py_DECREF(pair.key); Py_RETURN_NONE;"),
            ""
        );
        assert_eq!(stored("pair.key = v; return pair.key;"), "");
        assert_eq!(
            stored("pair.key = v; push(self, &pair); Py_RETURN_NONE;"),
            ""
        );
        assert_eq!(
            stored("argv[1] = v; Py_DECREF(argv[1]); Py_DECREF(v); Py_RETURN_NONE;"),
            "OverRelease at Py_DECREF(v)\nOverRelease at Py_RETURN_NONE;"
        );
        assert_eq!(
            stored("pair.key = v; Py_DECREF(v); return pair.key;"),
            "OverRelease at return pair.key;\nUseAfterRelease at return pair.key;"
        );
    }

    #[test]
    fn a_section_uses_what_it_locks_until_it_ends() {
        let section = |within: &str, behind: &str| {
            stored(&format!(
                "PyCriticalSection2 record; PyCriticalSection2_Begin(&record, self, v);
                {within} PyCriticalSection2_End(&record); {behind} Py_RETURN_NONE;"
            ))
        };
        assert_eq!(section("", "Py_DECREF(v);"), "");
        assert_eq!(
            section("Py_DECREF(v);", ""),
            "UseAfterRelease at PyCriticalSection2_End(&record)"
        );
    }

    #[test]
    fn memory_that_others_know_takes_the_reference() {
        assert_eq!(
            stored("Pair *p = &pair; pair.key = v; show(p); Py_DECREF(v); Py_RETURN_NONE;"),
            "OverRelease at Py_DECREF(v)\nOverRelease at Py_RETURN_NONE;"
        );
        assert_eq!(stored("pair.key = v; v = NULL; return self;"), "");
    }
}

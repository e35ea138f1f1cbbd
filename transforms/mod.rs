//! All rules, one file each.

pub mod borrowed;
pub mod build_files;
pub mod critical_section;
pub mod memory;
pub mod module;
pub mod shared_state;
mod split;
pub mod thread_state;
pub mod unsafe_access;

use crate::rule::Rule;

/// Every rule in run order: where two fixes clash, the one of the earlier rule stays.
pub static ALL: &[&Rule] = &[
    &borrowed::list_item::BORROWED_LIST_ITEM,
    &borrowed::dict_item::BORROWED_DICT_ITEM,
    &borrowed::dict_set_default::BORROWED_DICT_SET_DEFAULT,
    &borrowed::weakref_object::BORROWED_WEAKREF_OBJECT,
    &borrowed::imported_module::BORROWED_IMPORTED_MODULE,
    &borrowed::list_macro::UNCHECKED_LIST_ITEM,
    &borrowed::sequence_fast_item::BORROWED_SEQUENCE_FAST_ITEM,
    &borrowed::cell_content::BORROWED_CELL_CONTENT,
    &borrowed::unchecked_result::UNCHECKED_RESULT,
    &critical_section::dict_next::UNLOCKED_DICT_ITERATION,
    &critical_section::unbalanced_section::UNBALANCED_CRITICAL_SECTION,
    &critical_section::set_iteration::UNLOCKED_SET_ITERATION,
    &memory::buffer::BUFFER_IN_OBJECT_DOMAIN,
    &memory::mismatch::MISMATCHED_ALLOCATOR,
    &memory::object::OBJECT_OUTSIDE_OBJECT_DOMAIN,
    &shared_state::lazy_cache::LAZY_STATIC_CACHE,
    &shared_state::static_buffer::STATIC_BUFFER,
    &shared_state::static_variable::SHARED_STATIC_VARIABLE,
    &shared_state::object_state::UNLOCKED_OBJECT_STATE,
    &shared_state::reentrant::NON_REENTRANT_CALL,
    &thread_state::detached_call::DETACHED_API_CALL,
    &thread_state::unattached_thread::UNATTACHED_THREAD,
    &thread_state::blocking::ATTACHED_BLOCKING_CALL,
    &thread_state::held_lock::LOCK_HELD_OVER_PYTHON,
    &thread_state::left_out::THREAD_CALL_LEFT_OUT,
    &unsafe_access::list_store::UNLOCKED_LIST_STORE,
    // A test of `x->ob_refcnt` is a read of the field too.
    &unsafe_access::count_test::REFERENCE_COUNT_TEST,
    &unsafe_access::object_field::DIRECT_OBJECT_FIELD,
    &unsafe_access::size_again::SIZE_ASKED_AGAIN,
    &unsafe_access::item_again::ITEM_LOOKED_UP_AGAIN,
    &unsafe_access::weak_list::WEAK_REFERENCE_LIST_TEST,
    &module::UNDECLARED_MULTI_PHASE_MODULE,
    &module::UNDECLARED_SINGLE_PHASE_MODULE,
    &build_files::limited_api::UNCONDITIONAL_LIMITED_API,
    &build_files::cibuildwheel::CIBUILDWHEEL_OPTIONS,
    &build_files::gil_define::UNCONDITIONAL_GIL_DEFINE,
    &build_files::binding::UNDECLARED_BINDING,
    &build_files::classifier::MISSING_CLASSIFIER,
];

/// Triggers of the rules that look at all of the package once they find one.
pub static FOLLOWED: &[&[&str]] = &[
    thread_state::detached_call::TRIGGERS,
    &["Py_BEGIN_ALLOW_THREADS", "NPY_BEGIN_THREADS"],
    thread_state::unattached_thread::TRIGGERS,
    thread_state::blocking::BLOCKING,
    unsafe_access::size_again::SIZES,
    &["PySequence_Fast_ITEMS"],
    crate::capi::CLEARS_WEAK_LIST,
    // Lookups after a port; the borrowed ones are followed in any case.
    &[
        "PyList_GetItemRef",
        "PyDict_GetItemRef",
        "PyDict_GetItemStringRef",
        "PyWeakref_GetRef",
    ],
];

/// Triggers of those that look at the types that its headers define as well.
pub static TYPED: &[&[&str]] = &[
    crate::memory::PYTHON_ALLOCATORS,
    crate::memory::INITIALISERS,
    unsafe_access::list_store::NAMES,
    unsafe_access::object_field::TRIGGERS,
];

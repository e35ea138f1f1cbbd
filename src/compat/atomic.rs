//! What no Python has: numbers that threads use at the same time without a lock.
//!
//! With the GIL they are what they were. `_Atomic` is C11, which free-threaded Pythons are compiled
//! with, but for the compiler of Windows. There, and in C++, an aligned number of up to a word is read
//! and written at once if it is `volatile`; a step needs an operation of its own.

/// The type.
pub(super) const TYPE: &str = "\
#  if !defined(Py_GIL_DISABLED)
#    define PYAPI_ATOMIC(type) type
#  elif defined(__cplusplus) || (defined(_MSC_VER) && !defined(__clang__))
#    define PYAPI_ATOMIC(type) volatile type
#  else
#    define PYAPI_ATOMIC(type) _Atomic(type)
#  endif
";

/// Adds to a number of 4 bytes, or of the width of an address.
pub(super) const ADD: &str = "\
#  if !defined(Py_GIL_DISABLED)
#    define PYAPI_ATOMIC_ADD(variable, number) ((void)((variable) += (number)))
#  elif defined(_MSC_VER) && !defined(__clang__)
#    include <intrin.h>
#    ifdef _WIN64
#      define PYAPI_ATOMIC_ADD(variable, number) \\
         ((void)(sizeof(variable) == 8 \\
          ? _InterlockedExchangeAdd64((volatile __int64 *)&(variable), (number)) \\
          : _InterlockedExchangeAdd((volatile long *)&(variable), (long)(number))))
#    else
#      define PYAPI_ATOMIC_ADD(variable, number) \\
         ((void)_InterlockedExchangeAdd((volatile long *)&(variable), (long)(number)))
#    endif
#  elif defined(__cplusplus)
#    define PYAPI_ATOMIC_ADD(variable, number) \\
       ((void)__atomic_fetch_add(&(variable), (number), __ATOMIC_SEQ_CST))
#  else
#    define PYAPI_ATOMIC_ADD(variable, number) ((void)((variable) += (number)))
#  endif
";

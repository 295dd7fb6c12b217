//! Who the process works for.
#![allow(unsafe_code, reason = "a system call without arguments")]

/// The number of the user by whose permissions the process reads and writes.
#[cfg(unix)]
#[must_use]
pub fn this_user() -> u32 {
    // SAFETY: this call has no conditions, and cannot fail.
    unsafe { libc::geteuid() }
}

/// Where users have no numbers.
#[cfg(not(unix))]
#[must_use]
pub fn this_user() -> u32 {
    0
}

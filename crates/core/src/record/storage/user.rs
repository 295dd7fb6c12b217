//! The user that the process runs as.
#![allow(unsafe_code, reason = "a system call without arguments")]

/// Returns the effective user ID.
#[cfg(unix)]
#[must_use]
pub fn this_user() -> u32 {
    // SAFETY: this call has no conditions, and cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns 0: this platform has no user IDs.
#[cfg(not(unix))]
#[must_use]
pub fn this_user() -> u32 {
    0
}

//! Turns SIGBUS in mapped files into an I/O error.
//!
//! Reading a mapped page raises SIGBUS if the file was truncated or its disk fails. The handler maps a page of zeros
//! over the missing page, so that the copy completes, and marks the mapping as broken. After each copy the reader
//! checks the mark, and discards the copy if it is set. Faults elsewhere go to the previous handler.

use std::io;

use memmap2::Mmap;

#[cfg(unix)]
pub use caught::Guard;

#[cfg(not(unix))]
pub use impossible::Guard;

#[cfg(unix)]
mod caught {
    use std::cell::UnsafeCell;
    use std::mem::MaybeUninit;
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::{Mmap, io};

    /// Mappings at a time; further files are read with `pread`.
    const MOST: usize = 4096;

    /// The address range of a mapping, and whether a page of it could not be read.
    struct Slot {
        /// 0 while the slot is free.
        start: AtomicUsize,
        end: AtomicUsize,
        is_broken: AtomicBool,
    }

    static SLOTS: [Slot; MOST] = [const {
        Slot {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
        }
    }; MOST];

    /// Catches faults in a mapping until it is dropped.
    pub struct Guard(&'static Slot);

    impl Guard {
        /// Registers a mapping; `None` if all slots are taken.
        pub fn of(memory: &Mmap) -> Option<Self> {
            install();
            let start = memory.as_ptr() as usize;
            let take = |slot: &&Slot| {
                let (order, failure) = (Ordering::AcqRel, Ordering::Relaxed);
                slot.start
                    .compare_exchange(0, start, order, failure)
                    .is_ok()
            };
            let slot = SLOTS.iter().find(take)?;
            slot.is_broken.store(false, Ordering::Relaxed);
            slot.end.store(start + memory.len(), Ordering::Release);
            Some(Self(slot))
        }

        /// Returns an error if a page of the mapping could not be read.
        pub fn check(&self) -> io::Result<()> {
            if self.0.is_broken.load(Ordering::Acquire) {
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
            Ok(())
        }
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.end.store(0, Ordering::Release);
            self.0.start.store(0, Ordering::Release);
        }
    }

    /// The previous handler.
    struct Before(UnsafeCell<MaybeUninit<libc::sigaction>>);

    // SAFETY: it is written once, before our handler, its only reader, is installed.
    unsafe impl Sync for Before {}

    static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    static INSTALLED: Once = Once::new();

    fn install() {
        INSTALLED.call_once(|| {
            // SAFETY: all pointers are valid; the handler is async-signal-safe: it only makes system calls and
            // accesses atomics.
            unsafe {
                let page = libc::sysconf(libc::_SC_PAGESIZE);
                PAGE.store(usize::try_from(page).unwrap_or(4096), Ordering::Relaxed);
                libc::sigaction(
                    libc::SIGBUS,
                    std::ptr::null(),
                    (*BEFORE.0.get()).as_mut_ptr(),
                );
                let mut ours: libc::sigaction = std::mem::zeroed();
                ours.sa_sigaction = handle as *const () as usize;
                ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut ours.sa_mask);
                libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut());
            }
        });
    }

    extern "C" fn handle(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: the system calls this with a valid `info`.
        let (address, is_raised) = unsafe { ((*info).si_addr() as usize, is_raised(info)) };
        if !is_raised && !mend(address) {
            // SAFETY: the arguments are those that the system gave.
            unsafe { pass_on(signal, info, context) };
        }
    }

    /// Returns whether another handler raised the signal, as Python's faulthandler does after it has printed a traceback.
    /// If a fault was the cause, the instruction is retried and faults again.
    unsafe fn is_raised(info: *const libc::siginfo_t) -> bool {
        const SI_TKILL: libc::c_int = -6;
        // SAFETY: `info` is valid, and has a process ID with this code.
        cfg!(target_os = "linux")
            && unsafe { (*info).si_code == SI_TKILL && (*info).si_pid() == libc::getpid() }
    }

    /// Maps zeros over a missing page of one of our mappings; false if the address is not in one.
    fn mend(address: usize) -> bool {
        let lies_in = |slot: &&Slot| {
            let start = slot.start.load(Ordering::Acquire);
            start != 0 && start <= address && address < slot.end.load(Ordering::Acquire)
        };
        let Some(slot) = SLOTS.iter().find(lies_in) else {
            return false;
        };
        let size = PAGE.load(Ordering::Relaxed);
        let page = (address & !(size - 1)) as *mut libc::c_void;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the page belongs to one of our mappings, which is alive while its slot is taken.
        let mapped = unsafe { libc::mmap(page, size, libc::PROT_READ, flags, -1, 0) };
        slot.is_broken.store(true, Ordering::Release);
        mapped != libc::MAP_FAILED
    }

    /// Calls the previous handler.
    unsafe fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: `BEFORE` was written before this handler was installed; `SA_SIGINFO` determines the handler's type.
        unsafe {
            let before = (*BEFORE.0.get()).assume_init_ref();
            let handler = before.sa_sigaction;
            if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
                // The instruction is retried, and the default action ends the process.
                libc::sigaction(signal, before, std::ptr::null_mut());
            } else if before.sa_flags & libc::SA_SIGINFO != 0 {
                type Full = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                std::mem::transmute::<usize, Full>(handler)(signal, info, context);
            } else {
                type Simple = extern "C" fn(libc::c_int);
                std::mem::transmute::<usize, Simple>(handler)(signal);
            }
        }
    }
}

/// Platforms where mapped files cannot be truncated, such as Windows.
#[cfg(not(unix))]
mod impossible {
    use super::{Mmap, io};

    pub struct Guard;

    impl Guard {
        pub fn of(_: &Mmap) -> Option<Self> {
            Some(Self)
        }

        #[allow(clippy::unused_self, reason = "as elsewhere")]
        pub fn check(&self) -> io::Result<()> {
            Ok(())
        }
    }
}

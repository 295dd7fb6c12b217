//! Reading mapped memory whose file has become shorter, or whose disk fails, is an error and not the end of the process.
//!
//! The system tells of it by SIGBUS. The handler puts a page of zeros where the page is missing, so that the copy goes
//! on, and marks the mapping: whoever has copied looks whether it is marked, and drops the copy. Faults elsewhere go
//! to the handler that was there before.

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

    /// At most so many mappings at a time; more files are read without.
    const MOST: usize = 4096;

    /// Where a mapping lies, and whether some of it could not be read.
    struct Slot {
        /// 0 while nobody has this slot.
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

    /// While it is there, faults in a mapping are caught.
    pub struct Guard(&'static Slot);

    impl Guard {
        /// That of a mapping; none if there are too many.
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

        /// Fails if some of the mapping could not be read.
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

    /// The handler that was there before.
    struct Before(UnsafeCell<MaybeUninit<libc::sigaction>>);

    // SAFETY: it is written once, before the handler that reads it is called for the first time.
    unsafe impl Sync for Before {}

    static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    static INSTALLED: Once = Once::new();

    fn install() {
        INSTALLED.call_once(|| {
            // SAFETY: these calls have no conditions but valid pointers, which they get; the handler calls nothing but
            // `mmap` and `sigaction`, a system call each, and reads atomics.
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

    /// Whether no fault is the reason, but a handler before this one, such as that of Python's faulthandler, which
    /// has said what it had to, and passes the signal on. The fault itself comes again when the instruction does.
    unsafe fn is_raised(info: *const libc::siginfo_t) -> bool {
        const SI_TKILL: libc::c_int = -6;
        // SAFETY: the system gave `info`; of this code it has the number of a process.
        cfg!(target_os = "linux")
            && unsafe { (*info).si_code == SI_TKILL && (*info).si_pid() == libc::getpid() }
    }

    /// Puts zeros where a page of one of our mappings is missing. False if it is not ours.
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
        // SAFETY: the page is one of a mapping that is ours, and in use: its guard is there.
        let mapped = unsafe { libc::mmap(page, size, libc::PROT_READ, flags, -1, 0) };
        slot.is_broken.store(true, Ordering::Release);
        mapped != libc::MAP_FAILED
    }

    /// Does what would have been done without this handler.
    unsafe fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: it was written before this handler was installed; the kinds of handlers are told apart by its flags.
        unsafe {
            let before = (*BEFORE.0.get()).assume_init_ref();
            let handler = before.sa_sigaction;
            if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
                // The instruction is tried again, and the process ends as it would have.
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

/// Where no mapped file can be cut, as on Windows.
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

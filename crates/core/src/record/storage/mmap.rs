//! A file as memory.
#![allow(
    unsafe_code,
    reason = "what a mapped file holds, others may change; the one use says what follows from that"
)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

use faults::Guard;

mod faults;

/// All of a file, mapped into memory.
pub struct Mapping {
    /// Dropped first: it must not outlive the memory.
    guard: Guard,
    memory: Mmap,
}

impl Mapping {
    /// Maps the file at its current size; `None` if no further mapping can be guarded against faults.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn of(file: &File) -> io::Result<Option<Self>> {
        // SAFETY: the bytes are copied out once, by `memcpy`, and only the copy is looked at; who writes into
        // the file meanwhile makes the copy wrong, which its checksum shows. Where the file has become shorter,
        // or its disk fails, the system sends a signal, which `faults` makes an error of.
        let memory = unsafe { Mmap::map(file) }?;
        let guard = Guard::of(&memory);
        Ok(guard.map(|guard| Self { guard, memory }))
    }

    /// The size of the file when it was mapped.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns a range for prefetching only: reading it may fault.
    pub fn bytes(&self, place: std::ops::Range<usize>) -> Option<&[u8]> {
        self.memory.get(place)
    }

    /// Copies bytes of `start..end` and returns how many.
    ///
    /// # Errors
    /// `EIO` if any read of this mapping has ever failed.
    pub fn copy(&self, room: &mut [u8], start: usize, end: usize) -> io::Result<usize> {
        let from = self.memory.get(start..end.min(self.memory.len()));
        let from = from.unwrap_or_default();
        let count = from.len().min(room.len());
        if let (Some(room), Some(from)) = (room.get_mut(..count), from.get(..count)) {
            room.copy_from_slice(from);
        }
        self.guard.check().map(|()| count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const PAGES: usize = 64 << 10;

    fn mapped() -> (File, Mapping) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; PAGES]).unwrap();
        let mapping = Mapping::of(&file).unwrap().unwrap();
        (file, mapping)
    }

    #[test]
    fn what_is_gone_is_an_error_and_stays_one() {
        let (file, mapping) = mapped();
        let (_other_file, other) = mapped();
        let mut room = vec![0; PAGES];
        assert_eq!(mapping.copy(&mut room, 0, PAGES).unwrap(), PAGES);
        file.set_len(1).unwrap();
        assert!(mapping.copy(&mut room, 0, PAGES).is_err());
        assert!(mapping.copy(&mut room, 0, 1).is_err());
        assert_eq!(other.copy(&mut room, 0, PAGES).unwrap(), PAGES);
        assert!(room.iter().all(|&byte| byte == 7));
    }

    #[test]
    fn a_slot_is_given_back() {
        for _ in 0..5000 {
            assert!(Mapping::of(&mapped().0).unwrap().is_some());
        }
    }

    #[test]
    fn several_threads_may_meet_what_is_gone() {
        for _ in 0..50 {
            let (file, mapping) = mapped();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let mut room = vec![0; PAGES];
                        while mapping.copy(&mut room, 0, PAGES).is_ok() {
                            assert!(room.iter().all(|&byte| byte == 7));
                        }
                    });
                }
                scope.spawn(|| file.set_len(5000).unwrap());
            });
        }
    }
}

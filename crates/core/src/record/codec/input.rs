//! A file's bytes, of which the first can be looked at before they are read.

use std::io::{self, Read};

use crate::record::format::sniff;
use crate::runtime::interrupt::retrying;

/// A file's bytes, the first of which have been looked at already.
pub struct Input {
    peeked: io::Cursor<Vec<u8>>,
    rest: Box<dyn Read + Send>,
    /// What went wrong once: it is met again, whoever reads.
    fault: Option<io::Error>,
}

impl Input {
    /// The bytes of `rest`, not looked at yet.
    pub(crate) fn new(rest: Box<dyn Read + Send>) -> Self {
        Self {
            peeked: io::Cursor::default(),
            rest,
            fault: None,
        }
    }

    /// Reads the first bytes of `rest` to have a look at them.
    pub(crate) fn peek(mut rest: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut start = vec![0; sniff::LOOK_AHEAD];
        let (mut filled, mut fault) = (0, None);
        while let Some(room) = start.get_mut(filled..).filter(|room| !room.is_empty()) {
            match retrying(|| rest.read(room)) {
                Ok(0) => break,
                Ok(count) => filled += count,
                // There may be a record in front of it.
                Err(error) if filled > 0 && !is_interrupt(&error) => {
                    fault = Some(error);
                    break;
                }
                Err(error) => return Err(error),
            }
            // The writer of a pipe may wait for us before it writes more.
            if start.get(..filled).is_some_and(sniff::is_record_header) {
                break;
            }
        }
        start.truncate(filled);
        Ok(Self {
            peeked: io::Cursor::new(start),
            rest,
            fault,
        })
    }

    pub(crate) fn start(&self) -> &[u8] {
        self.peeked.get_ref()
    }

    /// Puts bytes back in front of those to come.
    pub(crate) fn put_back(&mut self, mut bytes: Vec<u8>) {
        let place = usize::try_from(self.peeked.position()).unwrap_or(usize::MAX);
        let unread = self.peeked.get_ref().get(place..).unwrap_or_default();
        bytes.extend_from_slice(unread);
        self.peeked = io::Cursor::new(bytes);
    }

    /// Reads some bytes; 0 is the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.peeked.read(buffer)? {
            0 => self.read_rest(buffer),
            n => Ok(n),
        }
    }

    fn read_rest(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(fault) = &self.fault {
            return Err(again(fault));
        }
        let read = retrying(|| self.rest.read(buffer));
        if let Err(error) = &read
            && !is_interrupt(error)
        {
            self.fault = Some(again(error));
        }
        read
    }
}

fn is_interrupt(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// The same error once more.
fn again(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(
        || io::Error::new(error.kind(), error.to_string()),
        io::Error::from_raw_os_error,
    )
}

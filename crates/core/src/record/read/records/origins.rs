//! Where records came from: what names them, in errors and as keys.

use std::path::Path;
use std::sync::Arc;

use super::{Origin, Records, Span};
use crate::error::Error;
use crate::record::format::frame::HEADER;

impl Records {
    /// The same records, each of which knows its number here if it came from no file: parts of them, and errors in
    /// these, name it.
    #[must_use]
    pub fn numbered(&self) -> Self {
        if !self.origins.is_empty() {
            return self.clone();
        }
        let spans = (0..).zip(self.spans());
        let spans = spans.map(|(number, span)| Span {
            number,
            file: 0,
            ..*span
        });
        Self {
            sealed: self.sealed,
            ..Self::new(
                Arc::clone(&self.bytes),
                spans.collect(),
                self.origins_of_parts(),
            )
        }
    }

    /// The same records, which came from `path` and have these numbers there.
    #[must_use]
    pub fn named(&self, path: &Path, numbers: &[u64]) -> Self {
        let spans = self.spans().iter().zip(numbers);
        let spans = spans.map(|(span, &number)| Span {
            number,
            file: 0,
            ..*span
        });
        let origin = Origin {
            path: Some(Arc::from(path)),
            buffer_offset: None,
        };
        Self::new(Arc::clone(&self.bytes), spans.collect(), [origin])
    }

    /// What names each record, one key after the other, and where each ends: its file, and, if they are to be
    /// `numbered`, its number there. The file of records that came from none is `memory`.
    #[must_use]
    pub fn keys(&self, numbered: bool) -> (Vec<u8>, Vec<i64>) {
        let (mut keys, mut ends) = (Vec::new(), Vec::with_capacity(self.len() + 1));
        ends.push(0);
        for (index, span) in self.spans().iter().enumerate() {
            let origin = self.origins.get(span.file as usize);
            let path = origin.and_then(|origin| origin.path.as_deref());
            keys.extend_from_slice(
                path.map_or(b"memory", |path| path.as_os_str().as_encoded_bytes()),
            );
            if numbered {
                keys.push(b':');
                push_number(&mut keys, self.number(index));
            }
            ends.push(i64::try_from(keys.len()).unwrap_or(i64::MAX));
        }
        (keys, ends)
    }

    /// Errors in parts name records by their number alone, also where these came from no file.
    pub(crate) fn origins_of_parts(&self) -> Vec<Origin> {
        let nowhere = Origin {
            path: None,
            buffer_offset: None,
        };
        let mut origins: Vec<Origin> = self
            .origins
            .iter()
            .map(|origin| Origin {
                path: origin.path.clone(),
                buffer_offset: None,
            })
            .collect();
        if origins.is_empty() {
            origins.push(nowhere);
        }
        origins
    }

    /// The number of record `index` in its file; its place here, where it came from none.
    pub(crate) fn number(&self, index: usize) -> u64 {
        let span = self.spans().get(index).filter(|_| !self.origins.is_empty());
        span.map_or(index as u64, |span| span.number)
    }

    pub(crate) fn file(&self, index: usize) -> u32 {
        self.spans().get(index).map_or(0, |span| span.file)
    }

    /// `error`, found in record `index`, with all that is known of where that record stands.
    #[must_use]
    pub fn locate(&self, index: usize, error: Error) -> Error {
        let Some(span) = self.spans().get(index) else {
            return error.at_record(index as u64);
        };
        let Some(origin) = self.origins.get(span.file as usize) else {
            return error.at_record(index as u64);
        };
        let mut error = error.at_record(span.number);
        if let Some(buffer_offset) = origin.buffer_offset {
            let header = buffer_offset.wrapping_add(span.start as u64);
            error = error.at_offset(header.wrapping_sub(HEADER as u64));
        }
        match &origin.path {
            Some(path) => error.with_path(path),
            None => error,
        }
    }
}

/// Puts the decimal digits of a number after `text`.
fn push_number(text: &mut Vec<u8>, number: u64) {
    let (mut digits, mut rest, mut count) = ([0; 20], number, 0);
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        (rest, count) = (rest / 10, count + 1);
        if rest == 0 {
            break;
        }
    }
    text.extend_from_slice(digits.get(digits.len() - count..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_files_and_numbers() {
        let records: Records = [&b"a"[..], b"b", b"c"].into_iter().collect();
        let some = records.numbered().take(&[2, 0]).unwrap();
        assert_eq!(
            some.keys(true),
            (b"memory:2memory:0".to_vec(), vec![0, 8, 16])
        );
        assert_eq!(some.keys(false), (b"memorymemory".to_vec(), vec![0, 6, 12]));
        let span = |number| Span {
            start: 0,
            len: 0,
            number,
            file: 0,
        };
        let origin = Origin {
            path: Some(Arc::from(Path::new("x"))),
            buffer_offset: None,
        };
        let records = Records::new(Arc::default(), vec![span(u64::MAX), span(0)], [origin]);
        let (keys, ends) = records.keys(true);
        assert_eq!(keys, b"x:18446744073709551615x:0");
        assert_eq!(ends, [0, 22, 25]);
    }
}

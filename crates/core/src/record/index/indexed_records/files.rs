//! What is known of the files of a sequence.

use std::sync::Arc;

use super::Sequence;
use crate::error::Result;
use crate::record::codec::compression::Compression;
use crate::record::index::indexed_file::IndexedFile;

impl Sequence {
    /// Reads the index, if there is one file, before several threads want it at once and each reads it. What is
    /// wrong with it is reported when records are read.
    pub fn prepare(&self) {
        if let [file] = self.files.as_slice() {
            let _ = file.index();
        }
    }

    /// Whether any of the files is compressed.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        let is_compressed = |file: &Arc<IndexedFile>| file.compression() != Compression::None;
        self.files.iter().any(is_compressed)
    }

    /// Of each file the checksum of samples of its bytes.
    #[must_use]
    pub fn samples(&self) -> Vec<u32> {
        self.files.iter().map(|file| file.samples()).collect()
    }

    /// How many bytes could be read in the time that it takes to begin reading anywhere.
    #[must_use]
    pub fn cost_of_a_read(&self) -> usize {
        let costs = (self.files.iter()).map(|file| file.cost_of_a_read(self.memory_map));
        costs.max().unwrap_or(0)
    }

    /// How many bytes all records have, frames and all.
    ///
    /// # Errors
    /// As of [`IndexedFile::index`].
    pub fn stream_bytes(&self) -> Result<u64> {
        (self.files.iter()).try_fold(0_u64, |sum, file| {
            Ok(sum.saturating_add(file.stream_bytes()?))
        })
    }

    /// How many bytes a record has on average, frame and all; guessed where an index cannot be had.
    #[must_use]
    pub fn mean_bytes(&self) -> u64 {
        let sizes = self.files.iter().map(|file| file.size());
        let total = self.stream_bytes();
        let total = total.unwrap_or_else(|_| sizes.fold(0, u64::saturating_add));
        total / (self.len() as u64).max(1)
    }
}

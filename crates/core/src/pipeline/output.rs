//! What becomes of a batch: its records, columns decoded from them, or both.
//!
//! `scan` and `gather` find the records of a batch ([`BatchInput`]); an [`Output`] makes something of them, on the thread
//! that has the batch.

use std::ops::Range;

use crate::error::Result;
use crate::example::Decode;
use crate::pipeline::batch_decoder::BatchDecoder;
use crate::pipeline::batch_part::BatchPart;
use crate::pipeline::sound::{Sound, up_to_error};
use crate::record::Records;
use crate::runtime::ordered_workers::Budget;

/// The records of one batch, which have been found and perhaps not been read.
pub trait BatchInput {
    /// How many there are.
    fn count(&self) -> usize;

    /// Reads and checks the records of `range`; what is out of range is left out.
    ///
    /// # Errors
    /// Any error of reading; a checksum that does not match.
    fn records(&mut self, range: Range<usize>) -> Result<Records>;

    /// Hands all of them over in parts, to be read where they are decoded.
    ///
    /// # Errors
    /// Any error of reading; what `take` returns.
    fn with_parts<T>(&mut self, take: impl FnOnce(&[BatchPart]) -> Result<T>) -> Result<T>;

    /// Whether the data in the parts is still to be checked.
    fn verify(&self) -> bool;
}

/// What is made of each batch of records; each thread has one of its own.
pub trait Output {
    /// What it makes.
    type Batch: Weighed + Send + 'static;

    /// Makes it of one batch.
    ///
    /// # Errors
    /// Any error of reading or decoding.
    fn make(&mut self, input: &mut impl BatchInput) -> Result<Self::Batch>;
}

/// The records themselves.
#[derive(Clone, Copy, Debug)]
pub struct RawRecords {
    /// Whether the records before an error come before it, as a batch of fewer.
    pub partial: bool,
}

impl Output for RawRecords {
    type Batch = Sound;

    fn make(&mut self, input: &mut impl BatchInput) -> Result<Sound> {
        up_to_error(input.count(), self.partial, |range| input.records(range))
    }
}

/// Columns, and the provenance of their rows: records without content.
pub struct DecodedColumns<D>(BatchDecoder<D>);

impl<D: Decode> DecodedColumns<D> {
    /// With a decoder of its own.
    pub fn new(decoder: D) -> Self {
        Self(BatchDecoder::new(decoder))
    }
}

impl<D: Decode<Batch: Send + 'static>> Output for DecodedColumns<D> {
    type Batch = (D::Batch, Records);

    fn make(&mut self, input: &mut impl BatchInput) -> Result<Self::Batch> {
        let verify = input.verify();
        input.with_parts(|parts| self.0.decode(parts, verify))
    }
}

/// Columns, and the records themselves: to decode a few features, choose rows by them, and decode the rest of those.
pub struct ColumnsAndRecords<D>(BatchDecoder<D>);

impl<D: Decode> ColumnsAndRecords<D> {
    /// With a decoder of its own.
    pub fn new(decoder: D) -> Self {
        Self(BatchDecoder::new(decoder))
    }
}

impl<D: Decode<Batch: Send + 'static>> Output for ColumnsAndRecords<D> {
    type Batch = (D::Batch, Records);

    fn make(&mut self, input: &mut impl BatchInput) -> Result<Self::Batch> {
        let records = input.records(0..input.count())?;
        let part = BatchPart::Read(records.clone());
        let (columns, _) = self.0.decode(&[part], false)?;
        Ok((columns, records))
    }
}

/// Budget for as many batches that wait as are in the making, and that many bytes.
pub(crate) fn budget<T: Weighed>(threads: usize, bytes: usize) -> Budget<Result<T>> {
    Budget {
        results: 2 * threads,
        bytes,
        weigh: |batch| batch.as_ref().map_or(0, Weighed::record_bytes),
    }
}

/// A batch that knows of how many bytes of records it was made.
pub trait Weighed {
    /// That many.
    fn record_bytes(&self) -> usize;
}

impl Weighed for Sound {
    fn record_bytes(&self) -> usize {
        self.records.payload_bytes()
    }
}

impl<B> Weighed for (B, Records) {
    fn record_bytes(&self) -> usize {
        self.1.payload_bytes()
    }
}

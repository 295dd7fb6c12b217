//! What fuzzing has found, again: every input of the corpora of `fuzz/`, decoded and compared with
//! prost's reading.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails may panic, its helpers too"
)]

mod agreement;
#[path = "salvage/check.rs"]
mod check;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tfrecs_core::record::{ReadOptions, RecordReader};

#[global_allocator]
static ALLOCATOR: agreement::memory::Counting = agreement::memory::Counting;

/// The tests of this file take turns: they share one count of memory.
static TURN: Mutex<()> = Mutex::new(());

/// The inputs of a target; a corpus is a compressed TFRecord file.
fn replay(target: &str, compare: fn(&[u8])) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let path = folder.join(format!("{target}.tfrecord.gz"));
    let mut reader = RecordReader::open(&path, ReadOptions::default()).unwrap();
    let mut inputs = 0;
    while let Some(input) = reader.next_record().unwrap() {
        compare(input);
        inputs += 1;
    }
    assert!(inputs > 20, "{} has {inputs} inputs", path.display());
    println!("torture: {inputs} cases");
}

#[test]
fn examples_are_as_prost_reads_them() {
    replay("example_columns", agreement::examples);
}

#[test]
fn sequence_examples_are_as_prost_reads_them() {
    replay("sequence_columns", agreement::sequences);
}

#[test]
fn tensors_are_as_prost_reads_them() {
    replay("tensor_proto", agreement::tensors);
}

#[test]
fn compressed_files_are_as_the_plain_reader_reads_them() {
    replay("gzip_chunks", agreement::chunks::chunks);
}

#[test]
fn an_index_of_any_bytes_gives_no_wrong_record() {
    replay("index", agreement::places::index);
}

#[test]
fn segments_of_any_file_are_as_one_walk_over_it() {
    replay("ranges", agreement::places::ranges);
}

#[test]
fn files_are_as_the_plainest_reading_has_them() {
    replay("framing", check::framing);
}

#[test]
fn damaged_files_give_what_is_proved() {
    replay("salvage", check::salvage);
}

/// A feature in two parts, the first of whose lists ends inside an unknown field.
#[test]
fn a_list_in_parts_is_a_message_in_each_of_them() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    agreement::examples(
        b"\x03\xc6\x87\x0a\x0c\x0a\x0a\x0a\x01b\x12\x05\x1a\x03\x0a\x01b\x0a\x38\x0a\x36\x12\x26\x1a\
        \x24\x08\x01\x0a\x01b\x0a\x04\x0a\x19\x12\x09\x1a\x07\x08\x01\x0a\x01b\x08\x01\x0a\x09\x12b\
        \x01\x1a\x07\x08\x01\x0a\x01b\x08\x01\x08\x01\x0a\x01b\x12\x09\x1a\x07\x08\x01\x0a\x01b\x08\
        \x01",
    );
}

//! Tensors from any bytes: a result or an error, and no memory that the input does not justify.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that fails may panic, its helpers too"
)]
#![allow(
    unsafe_code,
    reason = "a global allocator is unsafe to write; this one passes everything on"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use proptest::prelude::*;
use tfrecs_core::example::tensor::types::TensorType;
use tfrecs_core::example::tensor::{TensorValues, Tensors, header, parse, serialize_strings};
use tfrecs_core::example::wire::push_varint;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::SeqCst) + layout.size();
        PEAK.fetch_max(now, Ordering::SeqCst);
        // SAFETY: the caller's promises are ours.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: the caller's promises are ours.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The tests of this file take turns: they share one counter.
static TURN: Mutex<()> = Mutex::new(());

/// Parses `records`, and checks that it took no more than 32 times their bytes, and 1 MB.
fn parsed(records: &[&[u8]]) -> Result<Tensors, String> {
    let before = NOW.load(Ordering::SeqCst);
    PEAK.store(before, Ordering::SeqCst);
    let found = parse(records.iter().copied(), None, None);
    let peak = PEAK.load(Ordering::SeqCst) - before;
    let input: usize = records.iter().map(|record| record.len()).sum();
    assert!(
        peak <= 32 * input + 1_000_000,
        "{peak} bytes for {input} in {} tensors",
        records.len()
    );
    found.map_err(|error| error.error.to_string())
}

fn proto(dtype: &str, shape: &[u64], fields: &[(u32, &[u8])]) -> Vec<u8> {
    let mut out = header(TensorType::of_name(dtype).unwrap(), shape, 0);
    for (number, content) in fields {
        push_varint(&mut out, u64::from(number << 3 | 2));
        push_varint(&mut out, content.len() as u64);
        out.extend_from_slice(content);
    }
    out
}

fn bytes_of(tensors: &Tensors) -> usize {
    match &tensors.values {
        TensorValues::Numbers(values) => values.len(),
        TensorValues::Strings(offsets, data) => offsets.len() + data.len(),
    }
}

#[test]
fn what_repeats_takes_no_more_than_the_limit() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for dtype in [
        "bool",
        "int8",
        "float32",
        "complex128",
        "bytes",
        "float8_e5m2",
    ] {
        for shift in 0..64 {
            for size in [1u64 << shift, (1 << shift) + 1, 3 << shift.min(62)] {
                let message = proto(dtype, &[size], &[]);
                for count in [1, 2, 100] {
                    let records = vec![message.as_slice(); count];
                    let fits = parsed(&records);
                    assert_eq!(
                        fits.is_ok(),
                        fits.is_ok_and(|found| bytes_of(&found) <= 2_000_000)
                    );
                }
            }
        }
    }
}

#[test]
fn strings_that_repeat_take_no_more_than_the_limit() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for length in [0, 1, 5, 1000, 100_000, 1_000_000] {
        let value = vec![b'x'; length];
        for size in [1, 2, 5, 10, 40, 1000, 39_204, 100_000] {
            for count in [1, 2, 3, 17] {
                let message = proto("bytes", &[size], &[(8, &value)]);
                let records = vec![message.as_slice(); count];
                match parsed(&records) {
                    Ok(Tensors {
                        values: TensorValues::Strings(_, data),
                        ..
                    }) => {
                        assert_eq!(data.len(), length * usize::try_from(size).unwrap() * count);
                    }
                    Ok(_) => unreachable!("these are strings"),
                    Err(text) => assert!(text.contains("more than the limit of"), "{text}"),
                }
            }
        }
    }
}

#[test]
fn dense_input_takes_memory_in_proportion() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let ones = vec![1u8; 1 << 20];
    let count = 1 << 20;
    let nothing = [8 << 3 | 2, 0].repeat(1 << 19);
    let mut strings = proto("bytes", &[1 << 19], &[]);
    strings.extend(nothing);
    for message in [
        proto("int8", &[count], &[(7, &ones)]),
        proto("int32", &[count], &[(7, &ones)]),
        proto("uint64", &[count], &[(17, &ones)]),
        proto("bool", &[count], &[(11, &ones)]),
        proto("float32", &[count / 4], &[(5, &ones)]),
        proto("complex128", &[count / 16], &[(12, &ones)]),
        proto("float8_e5m2", &[count], &[(18, &ones)]),
        proto("bytes", &[count / 2], &[(4, &ones)]),
        strings,
    ] {
        assert!(parsed(&[&message]).is_ok());
        let two = parsed(&[&message, &message]).unwrap();
        assert_eq!(two.shape.len(), 1);
        // One that is large, and many that are nothing.
        let mut many = vec![message.as_slice()];
        many.extend(vec![&message[..2]; 10_000]);
        assert!(parsed(&many).is_err());
    }
    let shape = vec![1; 254];
    assert_eq!(
        parsed(&[&proto("int8", &shape, &[(7, &[1])])])
            .unwrap()
            .shape,
        shape
    );
}

#[test]
fn what_is_written_is_read() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let values: [&[u8]; 3] = [b"", b"abc", b"\0"];
    let tensors = parsed(&[&serialize_strings(&[3, 1], values.into_iter())]).unwrap();
    assert_eq!(tensors.shape, [3, 1]);
    let TensorValues::Strings(offsets, data) = tensors.values else {
        unreachable!("these are strings")
    };
    assert_eq!(offsets.typed_data::<i64>(), [0, 0, 3, 4]);
    assert_eq!(data.as_slice(), b"abc\0");
    let mut message = header(TensorType::of_name("int16").unwrap(), &[2], 4);
    message.extend([1, 0, 2, 0]);
    let TensorValues::Numbers(numbers) = parsed(&[&message]).unwrap().values else {
        unreachable!("these are numbers")
    };
    assert_eq!(numbers.typed_data::<i16>(), [1, 2]);
}

fn fields() -> impl Strategy<Value = Vec<u8>> {
    let field = (1..20u32, 0..6u8, prop::collection::vec(any::<u8>(), 0..12));
    prop::collection::vec(field, 0..5).prop_map(|fields| {
        let mut out = Vec::new();
        for (number, wire_type, content) in fields {
            push_varint(&mut out, u64::from(number << 3 | u32::from(wire_type)));
            if wire_type == 2 {
                push_varint(&mut out, content.len() as u64);
            }
            out.extend(content);
        }
        out
    })
}

proptest! {
    #[test]
    fn any_bytes_are_tensors_or_not(
        dtype in 0..34u8,
        shape in prop::collection::vec(0..5u8, 0..4),
        rest in fields(),
        count in 1..4usize,
    ) {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut message = vec![0x08, dtype, 0x12];
        let dims: Vec<u8> = shape.iter().flat_map(|&dim| [0x12, 2, 8, dim]).collect();
        push_varint(&mut message, dims.len() as u64);
        message.extend(dims);
        message.extend(rest);
        let found = parsed(&vec![message.as_slice(); count]);
        if let Ok(Tensors { dtype, shape, values: TensorValues::Numbers(values) }) = found {
            let size: u64 = shape.iter().product();
            prop_assert_eq!(values.len() as u64, size * dtype.width as u64 * count as u64);
        }
    }
}

//! What must hold of salvage and of reading whatever the bytes are: for the tests, and for fuzzing.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use tfrecs_core::record::format::crc;
use tfrecs_core::record::format::frame;
use tfrecs_core::record::salvage::{Piece, Salvage, SalvageMode, SalvageOptions};
use tfrecs_core::record::{Compression, ReadOptions, RecordReader};

/// A file made by `script`: records, records that hold what came before them, forged headers, and any bytes.
/// One script in eight is the file itself.
pub fn file_of(script: &[u8]) -> Vec<u8> {
    let Some((&first, mut rest)) = script.split_first() else {
        return Vec::new();
    };
    if first.is_multiple_of(8) {
        return rest.to_vec();
    }
    let (mut file, mut mark) = (Vec::new(), 0);
    while let [step, size, tail @ ..] = rest {
        let (some, tail) = tail.split_at(usize::from(*size).min(tail.len()));
        match step % 8 {
            0..=2 => add_record(&mut file, some),
            3 => file.extend_from_slice(some),
            4 => file.extend(frame::header(u64::from(*size) << (step >> 3))),
            5 => mark = file.len(),
            6 => {
                let inner = file.split_off(mark);
                add_record(&mut file, &inner);
            }
            _ => {
                // A damage: of a byte that came before.
                let place = file.len().saturating_sub(usize::from(*size) + 1);
                if let Some(byte) = file.get_mut(place) {
                    *byte ^= step | 1;
                }
            }
        }
        rest = if step % 8 <= 3 { tail } else { &rest[2..] };
        if file.len() > 1 << 16 {
            break;
        }
    }
    file
}

fn add_record(file: &mut Vec<u8>, data: &[u8]) {
    file.extend(frame::header(data.len() as u64));
    file.extend_from_slice(data);
    file.extend(frame::footer(data));
}

/// Where the records of an undamaged beginning are, by the plainest reading.
fn prefix_of(file: &[u8]) -> Vec<(usize, usize)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(end) = sound_at(file, at) {
        found.push((at, end));
        at = end;
    }
    found
}

fn sound_at(file: &[u8], at: usize) -> Option<usize> {
    let length = u64::from_le_bytes(*file.get(at..)?.first_chunk()?);
    let header = file.get(at..at + 12)?;
    if header != frame::header(length) {
        return None;
    }
    let end = usize::try_from(length).ok()?.checked_add(at + 16)?;
    let data = file.get(at + 12..end - 4)?;
    (file.get(end - 4..end)? == crc::masked(data).to_le_bytes()).then_some(end)
}

fn save(file: &[u8]) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    };
    let path = folder.join(format!("tfrecs-check-{}", std::process::id()));
    std::fs::write(&path, file).unwrap();
    path
}

/// Salvages a file: what comes is all of it, every record is proved by its checksum, an undamaged beginning
/// comes whole, and so does every chain of records that leads from a trusted place to the end.
pub fn salvage(script: &[u8]) {
    let file = file_of(script);
    let path = save(&file);
    let options = SalvageOptions {
        compression: Some(Compression::None),
        ..SalvageOptions::default()
    };
    let Ok(mut salvage) = Salvage::open(&path, options) else {
        return; // of another format
    };
    let (mut at, mut starts) = (0, Vec::new());
    loop {
        match salvage.next_piece(3) {
            Ok(None) => break,
            Ok(Some(Piece::Skipped(region))) => {
                assert_eq!(region.begin, at as u64);
                assert!(region.begin < region.end);
                at = usize::try_from(region.end).unwrap();
            }
            Ok(Some(Piece::Records(records))) => {
                for record in records.iter() {
                    let end = at + 16 + record.len();
                    assert_eq!(&file[at + 12..end - 4], record);
                    assert_eq!(file[end - 4..end], frame::footer(record));
                    starts.push((at, end));
                    at = end;
                }
            }
            Err(error) => {
                assert!(starts.is_empty(), "{error}");
                assert_eq!(error.category(), tfrecs_core::Category::NotTfRecord);
                return;
            }
        }
    }
    assert_eq!(at, file.len());
    let prefix = prefix_of(&file);
    assert_eq!(starts.get(..prefix.len()), Some(&prefix[..]));
    let lost = salvage.lost();
    assert_eq!(
        lost.regions == 0 && lost.mended == 0,
        prefix.last().map_or(0, |it| it.1) == file.len()
    );
    strictly(&path, prefix.len());
}

/// In the mode that forgives nothing, what comes is the undamaged beginning.
fn strictly(path: &Path, wanted: usize) {
    let options = SalvageOptions {
        compression: Some(Compression::None),
        mode: SalvageMode::Strict,
        ..SalvageOptions::default()
    };
    let Ok(mut salvage) = Salvage::open(path, options) else {
        return;
    };
    let mut found = 0;
    while let Ok(Some(Piece::Records(records))) = salvage.next_piece(2) {
        found += records.len();
    }
    assert_eq!(found, wanted);
}

/// Reads a file strictly, one by one and in batches: the records are those of the plainest reading.
pub fn framing(script: &[u8]) {
    let file = file_of(script);
    let prefix = prefix_of(&file);
    let options = ReadOptions {
        compression: Some(Compression::None),
        verify: true,
        ..ReadOptions::default()
    };
    let open = || RecordReader::new(Box::new(Cursor::new(file.clone())), options);
    let (Ok(mut one_by_one), Ok(mut batches)) = (open(), open()) else {
        return; // of another format
    };
    for &(start, end) in &prefix {
        assert_eq!(one_by_one.offset(), start as u64);
        let record = one_by_one.next_record().unwrap();
        assert_eq!(record, Some(&file[start + 12..end - 4]));
    }
    let is_whole = prefix.last().map_or(0, |it| it.1) == file.len();
    let last = one_by_one.next_record();
    assert_eq!(last.is_ok(), is_whole);
    assert!(last.is_err() || last.unwrap().is_none());
    let mut seen = 0;
    let is_fine = loop {
        match batches.read_batch(2) {
            Ok(batch) if batch.is_empty() => break true,
            Ok(batch) => seen += batch.len(),
            Err(error) => {
                assert_eq!(error.record(), Some(seen as u64));
                break false;
            }
        }
    };
    assert_eq!((seen, is_fine), (prefix.len(), is_whole));
}

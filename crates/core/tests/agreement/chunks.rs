//! Compressed files with checkpoints beside the reader that knows none.

use std::fs::File;
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::sync::OnceLock;

use tfrecs_core::ErrorKind;
use tfrecs_core::record::Compression;
use tfrecs_core::record::codec::checkpoints::{Checkpoints, Scanner, Seeker};
use tfrecs_core::record::codec::source;

use super::memory::peak_of;

type Outcome = (Vec<u8>, Result<(), ErrorKind>);

/// Content beyond which an input is no longer looked at: it shows nothing that less does not.
const MOST: usize = 1 << 20;

/// Memory that scanning and seeking may take, whatever the input.
const MEMORY: usize = 16 << 20;

/// Reads any bytes as a file: in chunks of any size, and from each checkpoint.
///
/// ```text
/// byte   1: gzip, 0: zlib; 2: checkpoints are given
/// byte   bytes of content between two checkpoints: 2 to this power, at most 2^19
/// uint16 how many bytes are read at a time; but if checkpoints are given, how many bytes these have
/// the checkpoints, if they are given
/// the file
/// ```
pub fn chunks(data: &[u8]) {
    let &[kind, spacing, low, high, ref rest @ ..] = data else {
        return;
    };
    let codec = [Compression::Zlib, Compression::Gzip][usize::from(kind & 1)];
    let number = usize::from(u16::from_le_bytes([low, high]));
    let (peak, ()) = peak_of(|| {
        if kind & 2 == 0 {
            compare(rest, codec, 1 << (spacing % 20), number.max(1));
        } else if let Some((stored, file)) = rest.split_at_checked(number) {
            any_checkpoints(stored, file, codec);
        }
    });
    assert!(peak < MEMORY + 4 * MOST, "{peak} bytes of memory");
}

/// Panics unless all roads lead to the same content.
fn compare(file: &[u8], codec: Compression, spacing: u64, size: usize) {
    let plain = match source::open(Box::new(Cursor::new(file.to_vec())), Some(codec), false) {
        Ok(mut source) => drained(4096, |room| source.read(room)),
        Err(kind) => (Vec::new(), Err(kind)),
    };
    let (scanned, checkpoints) =
        match Scanner::open(Box::new(Cursor::new(file.to_vec())), Some(codec), spacing) {
            Ok(None) => panic!("{codec:?} is a compression"),
            Ok(Some(mut scanner)) => {
                let outcome = drained(size, |room| scanner.read(room));
                (outcome, scanner.into_checkpoints())
            }
            Err(kind) => ((Vec::new(), Err(kind)), Checkpoints::default()),
        };
    let (content, end) = plain;
    if content.len() >= MOST || scanned.0.len() >= MOST {
        let common = content.len().min(scanned.0.len());
        assert_eq!(content[..common], scanned.0[..common]);
    } else {
        assert_eq!(scanned, (content.clone(), end.clone()));
    }
    let stored = checkpoints.to_bytes().unwrap();
    assert_eq!(
        Checkpoints::from_bytes(&stored).as_ref(),
        Some(&checkpoints)
    );
    let file = on_disk(file);
    let mut seeker = Seeker::new(codec).unwrap();
    for checkpoint in checkpoints.iter() {
        let begin = usize::try_from(checkpoint.output).unwrap();
        // The scanner may have gone a little further than the other one, if both were stopped.
        let Some(tail) = content.get(begin..) else {
            continue;
        };
        let mut room = vec![0; tail.len()];
        let count = seeker.fill(file, &checkpoints, checkpoint.output, &mut room);
        assert_eq!((count, &room[..]), (Ok(tail.len()), tail), "{checkpoint:?}");
        if end == Ok(()) && content.len() < MOST {
            let after = content.len() as u64;
            assert_eq!(
                seeker.read(file, &checkpoints, after, u64::MAX),
                Ok(Vec::new())
            );
        }
    }
}

/// Checkpoints that somebody has made up lead to some bytes, or to an error.
fn any_checkpoints(stored: &[u8], file: &[u8], codec: Compression) {
    let Some(checkpoints) = Checkpoints::from_bytes(stored) else {
        return;
    };
    assert_eq!(checkpoints.to_bytes().unwrap(), stored);
    let file = on_disk(file);
    let mut seeker = Seeker::new(codec).unwrap();
    for checkpoint in checkpoints.iter() {
        let to = checkpoint.output.saturating_add(1000);
        if let Ok(found) = seeker.read(file, &checkpoints, checkpoint.output, to) {
            assert!(found.len() <= 1000);
        }
    }
}

/// All that `read` delivers into pieces of `size`, and what ends it; or as much of it as is enough.
fn drained(size: usize, mut read: impl FnMut(&mut [u8]) -> Result<usize, ErrorKind>) -> Outcome {
    let (mut all, mut room) = (Vec::new(), vec![0; size]);
    while all.len() < MOST {
        match read(&mut room) {
            Ok(0) => break,
            Ok(count) => all.extend_from_slice(&room[..count]),
            Err(fault) => return (all, Err(fault)),
        }
    }
    (all, Ok(()))
}

/// The one file of this process, with this content.
fn on_disk(bytes: &[u8]) -> &'static File {
    static FILE: OnceLock<File> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("tfrecs-chunks-{}", std::process::id()));
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(&path);
        std::fs::remove_file(path).unwrap();
        file.unwrap()
    });
    file.set_len(0).unwrap();
    let mut writer = file;
    writer.seek(SeekFrom::Start(0)).unwrap();
    writer.write_all(bytes).unwrap();
    file
}

//! Each call to the file system fails once, in each way that it can: the error is reported, and nothing that is
//! not complete gets its name, or stays behind.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::{Kind, batch, kinds, noise, readable};
use crate::error::{Error, ErrorKind, Result};
use crate::record::write::files::fs::{Call, Disk};
use crate::record::{Mode, RecordWriter};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Error(i32),
    /// A signal comes; only writing is not tried again by the standard library itself.
    Interrupt,
    /// One byte is written.
    Short,
}

/// A disk whose call number `n` fails, and what that call was.
fn failing(n: usize, fault: Fault) -> (Disk, Arc<Mutex<Option<String>>>) {
    let (count, hit) = (AtomicUsize::new(0), Arc::new(Mutex::new(None)));
    let told = Arc::clone(&hit);
    let watch = move |call: &Call<'_>| {
        let is_write = matches!(call, Call::Write(..));
        let counts = match fault {
            Fault::Error(_) => !matches!(call, Call::Created(..)),
            Fault::Interrupt | Fault::Short => is_write,
        };
        if !counts || count.fetch_add(1, Ordering::SeqCst) != n {
            return Ok(usize::MAX);
        }
        *told.lock().unwrap() = Some(format!("{call:?}").chars().take(12).collect());
        match fault {
            Fault::Error(number) => Err(io::Error::from_raw_os_error(number)),
            Fault::Interrupt => Err(io::ErrorKind::Interrupted.into()),
            Fault::Short => Ok(1),
        }
    };
    let watch = Some(Arc::new(watch) as _);
    (Disk { watch }, hit)
}

fn old() -> Vec<Vec<u8>> {
    vec![b"old".to_vec(), noise(1000, 9)]
}

/// Small records and large ones, enough for some members, and for what writes after.
fn new() -> &'static [Vec<u8>] {
    static RECORDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    RECORDS.get_or_init(|| {
        let lengths = [5, 0, 200_000, 17, 300_000, 1, 300_000, 70_000];
        let each = lengths.iter().enumerate();
        each.map(|(number, &length)| noise(length, number as u64 + 1))
            .collect()
    })
}

fn fill(writer: &mut RecordWriter, kind: &Kind) -> Result<()> {
    let records = new();
    for record in &records[..4] {
        writer.write(record)?;
    }
    writer.flush()?;
    writer.write_batch(&batch(&records[4..]))?;
    if kind.threads == Some(2) {
        writer.write_batch(&batch(&records[4..]))?;
    }
    writer.sync()?;
    writer.write(b"last")
}

fn expected(kind: &Kind) -> Vec<Vec<u8>> {
    let records = new();
    let (first, second) = records.split_at(4);
    let times = if kind.threads == Some(2) { 2 } else { 1 };
    let mut all = first.to_vec();
    all.extend(std::iter::repeat_n(second, times).flatten().cloned());
    all.push(b"last".to_vec());
    all
}

fn number_of(error: &Error) -> Option<i32> {
    match error.kind() {
        ErrorKind::Io(_, number, _) => *number,
        _ => None,
    }
}

/// Writes the file; the first error, after which the writer must not continue.
fn write(disk: &Disk, kind: &Kind, path: &Path) -> Result<()> {
    let mut writer = kind.open(disk, path)?;
    if let Err(error) = fill(&mut writer, kind) {
        for outcome in [
            writer.write(b"more"),
            writer.flush(),
            writer.sync(),
            writer.close(),
        ] {
            assert_eq!(number_of(&outcome.unwrap_err()), number_of(&error));
        }
        writer.close().unwrap();
        assert!(writer.is_closed());
        return Err(error);
    }
    let closed = if kind.is_shard {
        writer.finish().and_then(|()| writer.publish_as(path))
    } else {
        writer.close()
    };
    if closed.is_err() && kind.is_shard && !writer.is_closed() {
        writer.abandon();
    }
    writer.close().unwrap();
    closed
}

/// What is in the folder besides the file.
fn litter(path: &Path) -> Vec<String> {
    let names = path.parent().unwrap().read_dir().unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "file").collect()
}

/// Whether the call came to be made.
fn fails_well(kind: &Kind, n: usize, fault: Fault) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let has_old = kind.mode != Mode::Create;
    let before = has_old.then(|| kind.file_of(&path, &old()));
    let (disk, hit) = failing(n, fault);
    let outcome = write(&disk, kind, &path);
    let hit = hit.lock().unwrap().take();
    let case = format!("{kind:?}, call {n}, {fault:?}: {hit:?} gives {outcome:?}");
    let after = std::fs::read(&path).ok();

    let mut complete = expected(kind);
    if kind.mode == Mode::Append {
        complete.splice(0..0, old());
    }
    let is_complete = after
        .as_deref()
        .is_some_and(|bytes| readable(bytes) == (complete, true));
    let Some(hit) = hit else {
        assert!(outcome.is_ok() && is_complete, "{case}");
        assert!(litter(&path).is_empty(), "{case}");
        return false;
    };
    match (fault, &outcome) {
        (Fault::Error(number), Err(error)) => assert_eq!(number_of(error), Some(number), "{case}"),
        (Fault::Error(_), Ok(())) => panic!("the error vanished: {case}"),
        (_, outcome) => assert!(outcome.is_ok() && is_complete, "{case}"),
    }
    if matches!(fault, Fault::Error(_)) {
        // What was written in place stays; and a name that was given is not taken back.
        let named = hit.starts_with("SyncFolder") || hit.starts_with("Remove");
        assert!(
            kind.in_place || after == before || (named && is_complete),
            "{case}"
        );
        assert!(
            hit.starts_with("Remove") || litter(&path).is_empty(),
            "{case}"
        );
    }
    true
}

fn for_all(kinds: impl IntoIterator<Item = Kind>, fault: Fault) {
    let mut cases = 0;
    for kind in kinds {
        let failed = (0..1000)
            .take_while(|&n| fails_well(&kind, n, fault))
            .count();
        assert!((3..1000).contains(&failed), "{kind:?} has {failed} calls");
        cases += failed;
    }
    println!("torture: {cases} cases");
}

#[test]
fn every_call_fails_once() {
    for_all(kinds(), Fault::Error(ENOSPC));
}

#[test]
fn the_number_of_the_error_makes_no_difference() {
    for kind in kinds().into_iter().filter(|kind| !kind.in_place).take(4) {
        for number in [EIO, EDQUOT] {
            assert!((0..3).all(|n| fails_well(&kind, n, Fault::Error(number))));
        }
    }
}

#[test]
fn signals_and_short_writes_change_nothing() {
    let once = || {
        let kinds = kinds().into_iter();
        kinds.filter(|it| it.mode == Mode::Replace && !it.in_place && !it.is_shard)
    };
    for_all(once(), Fault::Interrupt);
    for_all(once(), Fault::Short);
}

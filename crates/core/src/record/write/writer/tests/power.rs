//! The power fails: a model of what a disk may then hold.
//!
//! The calls of a writer are written down. After each of them the power may fail; then of what was not
//! synced since, any part may be on the disk: of the names that were given or taken, of the bytes that were
//! written, and half of the bytes of one write. The writer must have seen to it that none of these
//! states has lost what it has promised.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::{Kind, PLAIN, kinds, readable};
use crate::record::write::files::fs::{Call, Disk};
use crate::record::{Compression, Mode, RecordWriter};

/// What was asked of the disk, or promised to the writer's user.
#[derive(Clone, Debug)]
enum Event {
    Create(String, u64),
    Write(u64, u64, Vec<u8>),
    Cut(u64, u64),
    Sync(u64),
    SyncFolder,
    Rename(String, String),
    Link(String, String),
    Remove(String),
    /// How many new records survive from now on.
    Kept(usize),
    /// The file is published.
    Closed,
}

type Log = Arc<Mutex<Vec<Event>>>;

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn number(file: &File) -> u64 {
    file.metadata().unwrap().ino()
}

fn watched() -> (Disk, Log) {
    let log = Log::default();
    let told = Arc::clone(&log);
    let watch = move |call: &Call<'_>| {
        let event = match call {
            Call::Create | Call::Open => return Ok(usize::MAX),
            Call::Created(path, file) => Event::Create(name(path), number(file)),
            Call::Write(file, bytes) => {
                let place = std::io::Seek::stream_position(&mut &**file)?;
                Event::Write(number(file), place, bytes.to_vec())
            }
            Call::Cut(file, length) => Event::Cut(number(file), *length),
            Call::Sync(file) => Event::Sync(number(file)),
            Call::SyncFolder => Event::SyncFolder,
            Call::Rename(from, to) => Event::Rename(name(from), name(to)),
            Call::Link(from, to) => Event::Link(name(from), name(to)),
            Call::Remove(path) => Event::Remove(name(path)),
        };
        told.lock().unwrap().push(event);
        Ok(usize::MAX)
    };
    let watch = Some(Arc::new(watch) as _);
    (Disk { watch }, log)
}

type Names = BTreeMap<String, u64>;

/// A disk, and what may or may not be on it yet.
#[derive(Clone, Default)]
struct Model {
    names: Names,
    files: BTreeMap<u64, Vec<u8>>,
    new_names: Vec<Event>,
    new_bytes: Vec<Event>,
    /// The names as a running system sees them.
    seen: Names,
}

fn rename_in(names: &mut Names, seen: &Names, event: &Event) {
    match event {
        Event::Create(name, file) => drop(names.insert(name.clone(), *file)),
        Event::Remove(name) => drop(names.remove(name)),
        Event::Rename(from, to) | Event::Link(from, to) => {
            names.insert(to.clone(), seen[from]);
            if matches!(event, Event::Rename(..)) {
                names.remove(from);
            }
        }
        _ => unreachable!(),
    }
}

fn write_in(bytes: &mut Vec<u8>, event: &Event, part: usize) {
    match event {
        Event::Write(_, place, new) => {
            let place = usize::try_from(*place).unwrap();
            let end = place + new.len() / part;
            bytes.resize(bytes.len().max(end), 0);
            bytes[place..end].copy_from_slice(&new[..end - place]);
        }
        Event::Cut(_, length) => bytes.resize(usize::try_from(*length).unwrap(), 0),
        _ => unreachable!(),
    }
}

fn file_of(event: &Event) -> u64 {
    match event {
        Event::Write(file, ..) | Event::Cut(file, _) => *file,
        _ => unreachable!(),
    }
}

impl Model {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Create(..) | Event::Remove(_) | Event::Rename(..) | Event::Link(..) => {
                let seen = self.seen.clone();
                rename_in(&mut self.seen, &seen, event);
                self.new_names.push(event.clone());
                if let Event::Create(_, file) = event {
                    self.files.insert(*file, Vec::new());
                }
            }
            Event::Write(..) | Event::Cut(..) => self.new_bytes.push(event.clone()),
            Event::SyncFolder => {
                self.names = self.seen.clone();
                self.new_names.clear();
            }
            Event::Sync(file) => {
                let of_file = |event: &&Event| file_of(event) == *file;
                let bytes = self.files.get_mut(file).unwrap();
                for event in self.new_bytes.iter().filter(of_file) {
                    write_in(bytes, event, 1);
                }
                self.new_bytes.retain(|event| file_of(event) != *file);
            }
            Event::Kept(_) | Event::Closed => {}
        }
    }

    /// What the disk may hold if the power fails now: the files by their names.
    fn states(&self) -> Vec<BTreeMap<String, Vec<u8>>> {
        let mut states = Vec::new();
        assert!(self.new_names.len() < 8);
        for chosen in 0u32..1 << self.new_names.len() {
            // Names that exist on the way are those that a running system has seen.
            let (mut names, mut seen) = (self.names.clone(), self.names.clone());
            for (bit, event) in self.new_names.iter().enumerate() {
                if chosen >> bit & 1 == 1 {
                    rename_in(&mut names, &seen, event);
                }
                let before = seen.clone();
                rename_in(&mut seen, &before, event);
            }
            for files in self.possible_files() {
                let content = |(name, file): (&String, &u64)| (name.clone(), files[file].clone());
                states.push(names.iter().map(content).collect());
            }
        }
        states
    }

    fn possible_files(&self) -> Vec<BTreeMap<u64, Vec<u8>>> {
        let count = self.new_bytes.len();
        assert!(count < 12, "{count} writes are not synced");
        let mut all = Vec::new();
        for chosen in 0u32..1 << count {
            for torn in 0..=count {
                let mut files = self.files.clone();
                for (bit, event) in self.new_bytes.iter().enumerate() {
                    let bytes = files.get_mut(&file_of(event)).unwrap();
                    if chosen >> bit & 1 == 1 {
                        write_in(bytes, event, if torn == bit { 2 } else { 1 });
                    }
                }
                all.push(files);
            }
        }
        all
    }
}

fn old() -> Vec<Vec<u8>> {
    vec![b"old".to_vec(), b"and old".to_vec()]
}

fn new() -> Vec<Vec<u8>> {
    let texts = ["one", "two", "", "three", "four"];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn write(kind: &Kind, disk: &Disk, path: &Path, log: &Log) {
    let mut writer = kind.open(disk, path).unwrap();
    for (number, record) in new().iter().enumerate() {
        writer.write(record).unwrap();
        writer.flush().unwrap();
        if number % 2 == 1 {
            writer.sync().unwrap();
            log.lock().unwrap().push(Event::Kept(number + 1));
        }
    }
    if kind.is_shard {
        writer.finish().unwrap();
        writer.publish_as(path).unwrap();
    } else {
        writer.close().unwrap();
    }
    log.lock().unwrap().push(Event::Closed);
}

/// What is promised of a state: `kept` new records were synced, or all, and the file was closed.
fn check(
    kind: &Kind,
    before: Option<&[u8]>,
    state: &BTreeMap<String, Vec<u8>>,
    kept: usize,
    is_closed: bool,
) {
    let target = state.get("file");
    let found = target.map(|bytes| readable(bytes));
    let case = format!("{kind:?}, {kept} kept, closed: {is_closed}: {state:?}");
    let mut complete = new();
    if kind.mode == Mode::Append {
        complete.splice(0..0, old());
    }
    if is_closed {
        return assert_eq!(found, Some((complete, true)), "{case}");
    }
    let is_visible = kind.in_place || kind.mode == Mode::Append;
    if !is_visible {
        let is_old = target.map(Vec::as_slice) == before;
        let is_new = found == Some((complete.clone(), true));
        assert!(is_old || is_new, "neither old nor new: {case}");
    } else if kind.mode == Mode::Append {
        let records = found.unwrap().0;
        assert!(
            records.len() >= 2 && records == complete[..records.len()],
            "{case}"
        );
    }
    let is_there = |bytes: &Vec<u8>| {
        let records = readable(bytes).0;
        let records = records.strip_prefix(&old()[..]).unwrap_or(&records);
        records.len() >= kept && *records == new()[..records.len()]
    };
    assert!(
        kept == 0 || state.values().any(is_there),
        "synced records are lost: {case}"
    );
}

/// How many states there were.
fn survives(kind: &Kind) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut model = Model::default();
    let before = (kind.mode != Mode::Create).then(|| kind.file_of(&path, &old()));
    if let Some(before) = &before {
        let file = path.metadata().unwrap().ino();
        model.files.insert(file, before.clone());
        model.names.insert("file".to_owned(), file);
        model.seen = model.names.clone();
    }
    let (disk, log) = watched();
    write(kind, &disk, &path, &log);
    let events = std::mem::take(&mut *log.lock().unwrap());
    let (mut kept, mut is_closed, mut count) = (0, false, 0);
    for event in &events {
        model.take(event);
        match event {
            Event::Kept(records) => kept = *records,
            Event::Closed => is_closed = true,
            _ => {}
        }
        for state in model.states() {
            check(kind, before.as_deref(), &state, kept, is_closed);
            count += 1;
        }
    }
    assert!(is_closed);
    count
}

#[test]
fn no_power_cut_loses_what_was_promised() {
    let mut cases = 0;
    for kind in kinds() {
        let states = survives(&kind);
        assert!(states > 30, "{kind:?} has only {states} states");
        cases += states;
    }
    println!("torture: {cases} cases");
}

#[test]
fn the_model_finds_a_rename_that_comes_too_early() {
    let renamed = |file| Event::Rename(".file".to_owned(), file);
    let mut model = Model::default();
    let events = [
        Event::Create(".file".to_owned(), 1),
        Event::Write(1, 0, b"content".to_vec()),
        renamed("file".to_owned()),
    ];
    for event in &events {
        model.take(event);
    }
    let found = model.states();
    let of = |state: &BTreeMap<String, Vec<u8>>| state.get("file").cloned();
    assert!(found.iter().any(|state| of(state).is_none()));
    assert!(
        found
            .iter()
            .any(|state| of(state).is_some_and(|it| it.is_empty()))
    );
    assert!(
        found
            .iter()
            .any(|state| of(state).is_some_and(|it| it == b"con"))
    );
    model.take(&Event::Sync(1));
    let is_whole = |state| of(state).is_none_or(|it| it == b"content");
    assert!(model.states().iter().all(is_whole));
    model.take(&Event::SyncFolder);
    assert_eq!(
        model.states().iter().map(of).collect::<Vec<_>>(),
        [Some(b"content".to_vec())]
    );
}

#[test]
fn a_cut_gzip_file_is_mended_without_a_moment_of_loss() {
    let kind = Kind {
        compression: Compression::Gzip,
        mode: Mode::Append,
        ..PLAIN
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut whole = kind.file_of(&path, &old());
    let (first, mut cases) = (whole.len(), 0);
    whole.extend(kind.file_of(&path, &new()));
    for cut in first + 1..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let records = readable(&whole[..cut]).0;
        let mut model = Model::default();
        let file = path.metadata().unwrap().ino();
        model.files.insert(file, whole[..cut].to_vec());
        model.names.insert("file".to_owned(), file);
        model.seen = model.names.clone();
        let (disk, log) = watched();
        let writer: RecordWriter = kind.open(&disk, &path).unwrap();
        assert_eq!(writer.old().records, records.len() as u64);
        drop(writer);
        for event in &*log.lock().unwrap() {
            model.take(event);
            for state in model.states() {
                assert_eq!(readable(&state["file"]).0, records, "cut at {cut}");
                cases += 1;
            }
        }
    }
    println!("torture: {cases} cases");
}

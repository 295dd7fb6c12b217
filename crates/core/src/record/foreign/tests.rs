//! Against simple models: all of the bytes at once.

use std::io::Write;

use proptest::prelude::*;
use tempfile::NamedTempFile;

use super::*;

fn file_of(content: &[u8], gzip: bool) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    let options = crate::record::DeflateOptions::default();
    if gzip {
        file.write_all(&gzipped(content, options)).unwrap();
    } else {
        file.write_all(content).unwrap();
    }
    file
}

fn options(format: Format) -> ForeignOptions {
    ForeignOptions {
        format,
        compression: None,
        limits: Limits::default(),
    }
}

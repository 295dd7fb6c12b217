//! The table of compressions: their names, and the endings of file names that say them.

use std::path::Path;

use super::Compression;
use crate::error::{Error, Result};

/// What one compression is called.
struct Names {
    compression: Compression,
    /// Accepted wherever a compression is asked for, in any case. TensorFlow's comes first.
    spellings: &'static [&'static str],
    /// Endings of file names, without the dot. The usual one comes first.
    suffixes: &'static [&'static str],
}

const TABLE: [Names; 3] = [
    Names {
        compression: Compression::None,
        spellings: &["", "none"],
        suffixes: &[],
    },
    Names {
        compression: Compression::Gzip,
        spellings: &["GZIP", "gz"],
        suffixes: &["gz", "gzip"],
    },
    Names {
        compression: Compression::Zlib,
        spellings: &["ZLIB", "zz"],
        suffixes: &["zlib", "zz"],
    },
];

/// Endings that say a compression, or an archive, that is not in the table.
const FOREIGN: [(&str, &[&str]); 13] = [
    ("7-Zip", &["7z"]),
    ("Brotli", &["br"]),
    ("bzip2", &["bz", "bz2", "bzip2"]),
    ("compress", &["z"]),
    ("LZ4", &["lz4"]),
    ("lzip", &["lz"]),
    ("LZMA", &["lzma"]),
    ("LZO", &["lzo"]),
    ("Snappy", &["snappy", "snz", "sz"]),
    ("tar", &["tar", "tbz2", "tgz", "txz", "tzst"]),
    ("xz", &["xz"]),
    ("ZIP", &["zip"]),
    ("zstd", &["zst", "zstd"]),
];

impl Compression {
    /// TensorFlow's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = TABLE.iter().find(|names| names.compression == self);
        found.map_or("", |names| names.spellings.first().copied().unwrap_or(""))
    }

    /// Finds a compression by any of its spellings, in any case.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Spec`] if the table has no such spelling.
    pub fn named(spelling: &str) -> Result<Self> {
        let found = TABLE.iter().find(|names| {
            let mut known = names.spellings.iter().chain(names.suffixes);
            known.any(|one| one.eq_ignore_ascii_case(spelling))
        });
        found.map(|names| names.compression).ok_or_else(|| {
            Error::spec(format!(
                "Not a valid compression_type: {spelling:?} (known: \"\", \"GZIP\", \"ZLIB\" and \"auto\")"
            ))
        })
    }

    /// Returns the compression that the ending of a file's name says, if it says one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Spec`] if it says one that cannot be written, such as `.zst`.
    ///
    /// # Example
    /// ```
    /// # use std::path::Path;
    /// # use tfrecs_core::record::Compression;
    /// let of = |name: &str| Compression::of_name(Path::new(name));
    /// assert_eq!(of("a.tfrecord.gz")?, Some(Compression::Gzip));
    /// assert_eq!(of("a.tfrecord")?, None);
    /// assert!(of("a.tfrecord.zst").is_err());
    /// # Ok::<(), tfrecs_core::Error>(())
    /// ```
    pub fn of_name(path: &Path) -> Result<Option<Self>> {
        let Some(suffix) = path.extension().and_then(|suffix| suffix.to_str()) else {
            return Ok(None);
        };
        let says = |known: &[&str]| known.iter().any(|one| one.eq_ignore_ascii_case(suffix));
        if let Some((name, _)) = FOREIGN.iter().find(|(_, known)| says(known)) {
            let text = format!(
                "cannot write {name}, which the ending .{suffix} says: end the name in .gz (GZIP) or .zlib (ZLIB), \
                 or pass compression_type to write another one under this name"
            );
            return Err(Error::spec(text).with_path(path));
        }
        let found = TABLE.iter().find(|names| says(names.suffixes));
        Ok(found.map(|names| names.compression))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_table_is_one_thing_only() {
        let mut all: Vec<String> = Vec::new();
        for names in &TABLE {
            let mut own: Vec<String> = names.spellings.iter().map(|s| s.to_lowercase()).collect();
            own.extend(names.suffixes.iter().map(|s| (*s).to_owned()));
            own.sort();
            own.dedup();
            all.extend(own);
        }
        all.extend(
            FOREIGN
                .iter()
                .flat_map(|(_, known)| known.iter().map(|s| (*s).to_owned())),
        );
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn names_and_spellings_agree() {
        for names in &TABLE {
            for spelling in names.spellings.iter().chain(names.suffixes) {
                for spelled in [spelling.to_lowercase(), spelling.to_uppercase()] {
                    assert_eq!(Compression::named(&spelled).ok(), Some(names.compression));
                }
            }
            assert_eq!(
                Compression::named(names.compression.name()).ok(),
                Some(names.compression)
            );
            for suffix in names.suffixes {
                let path = format!("a.tfrecord.{}", suffix.to_uppercase());
                let found = Compression::of_name(Path::new(&path));
                assert_eq!(found.ok(), Some(Some(names.compression)));
            }
        }
        for (_, suffixes) in &FOREIGN {
            for suffix in *suffixes {
                assert!(Compression::named(suffix).is_err());
                assert!(Compression::of_name(Path::new(&format!("a.{suffix}"))).is_err());
            }
        }
        for name in [
            "a",
            "a.tfrecord",
            ".gz",
            "gz",
            "a.gz/b",
            "a.00001",
            "a-00000-of-00002",
            "a.",
        ] {
            assert_eq!(
                Compression::of_name(Path::new(name)).ok(),
                Some(None),
                "{name}"
            );
        }
    }
}

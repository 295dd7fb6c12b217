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
const FOREIGN: [(&str, &[&str]); 16] = [
    ("7-Zip", &["7z"]),
    ("BGZF", &["bgz", "bgzf"]),
    ("Brotli", &["br"]),
    ("bzip2", &["bz", "bz2", "bzip2"]),
    ("compress", &["z"]),
    ("raw deflate", &["deflate"]),
    ("LZ4", &["lz4"]),
    ("lzip", &["lz"]),
    ("LZMA", &["lzma"]),
    ("LZO", &["lzo"]),
    ("RAR", &["rar"]),
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
        let Some(suffix) = suffix_of(path) else {
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

/// Returns the ending of a file's name, without the number of a shard (`train.gz-00000-of-00010`).
fn suffix_of(path: &Path) -> Option<&str> {
    let suffix = path.extension()?.to_str()?;
    let Some((suffix_and_shard, shards)) = suffix.rsplit_once("-of-") else {
        return Some(suffix);
    };
    match suffix_and_shard.rsplit_once('-') {
        Some((before, shard)) if is_number(shard) && is_number(shards) => Some(before),
        _ => Some(suffix),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
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
                for name in [
                    path.clone(),
                    format!("{path}-00000-of-00002"),
                    format!("{path}-7-of-10"),
                ] {
                    let found = Compression::of_name(Path::new(&name));
                    assert_eq!(found.ok(), Some(Some(names.compression)), "{name}");
                }
            }
        }
        for (_, suffixes) in &FOREIGN {
            for suffix in *suffixes {
                assert!(Compression::named(suffix).is_err());
                assert!(Compression::of_name(Path::new(&format!("a.{suffix}"))).is_err());
                let shard = format!("a.{suffix}-00000-of-00002");
                assert!(Compression::of_name(Path::new(&shard)).is_err());
            }
        }
    }

    #[test]
    fn other_names_say_nothing() {
        for name in [
            "a",
            "a.tfrecord",
            ".gz",
            "gz",
            "a.gz/b",
            "a.00001",
            "a-00000-of-00002",
            "a.tfrecord-00000-of-00002",
            "a.gz-of-2",
            "a.gz-1-of-",
            "a.gz--of-2",
            "a.gz-x-of-2",
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

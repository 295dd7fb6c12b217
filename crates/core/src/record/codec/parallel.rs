//! The inflated content of a file: where it is inflated, and by how many threads.
//!
//! It begins here, on the reader's own thread, as most files are small. Members that say how long they
//! are go to several threads ([`Members`]); any other stream that turns out to be long goes to one
//! ([`Ahead`]). Where a member is not what it says, all that is left comes back, and is gone through
//! byte by byte: results and errors are the same whoever inflates.

use super::compression::Compression;
use super::input::Input;
use super::streams::Streams;
use crate::error::ErrorKind;
use crate::record::codec::read_ahead::{Ahead, Members};

/// Members that say how long they are, and bytes of content, after which threads are worth their while.
const ALONE: (u32, usize) = (2, 4 << 20);

/// The inflated content of a file.
pub struct Inflated {
    codec: Compression,
    place: Decompression,
    parallel: bool,
    /// How many members that say how long they are have gone by here, and how many bytes.
    seen: (u32, usize),
    alone: (u32, usize),
}

enum Decompression {
    Here(Box<Streams>),
    Members(Members),
    Ahead(Ahead),
    /// While it moves; and if it could not.
    Nowhere(ErrorKind),
}

impl Inflated {
    /// The content of `input`.
    pub fn new(input: Input, codec: Compression, parallel: bool) -> Self {
        Self {
            codec,
            place: Decompression::Here(Box::new(Streams::new(input, codec))),
            parallel,
            seen: (0, 0),
            alone: ALONE,
        }
    }

    /// How it is compressed.
    pub fn codec(&self) -> Compression {
        self.codec
    }

    /// Reads some bytes; 0 is the clean end.
    ///
    /// # Errors
    /// Any I/O error; a stream that is cut or broken.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, ErrorKind> {
        loop {
            self.move_away()?;
            match &mut self.place {
                Decompression::Here(streams) => {
                    let count = streams.read(out)?;
                    self.seen.1 = self.seen.1.saturating_add(count);
                    return Ok(count);
                }
                Decompression::Ahead(ahead) => return ahead.read(out),
                Decompression::Members(members) => match members.read(out)? {
                    0 => self.move_back(),
                    count => return Ok(count),
                },
                Decompression::Nowhere(fault) => return Err(fault.clone()),
            }
        }
    }

    /// Has others inflate what comes, if there is much of it.
    fn move_away(&mut self) -> Result<(), ErrorKind> {
        let Decompression::Here(streams) = &mut self.place else {
            return Ok(());
        };
        if !self.parallel {
            return Ok(());
        }
        if streams.is_before_member()? {
            self.seen.0 += 1;
        }
        if self.seen.0 > self.alone.0 {
            self.start(|streams| Members::start(streams.into_input()).map(Decompression::Members));
        } else if self.seen.1 >= self.alone.1 {
            self.start(|streams| Ahead::start(streams).map(Decompression::Ahead));
        }
        Ok(())
    }

    fn start(&mut self, go: impl FnOnce(Streams) -> Result<Decompression, ErrorKind>) {
        let nowhere = Decompression::Nowhere(ErrorKind::State("it was on its way".to_owned()));
        if let Decompression::Here(streams) = std::mem::replace(&mut self.place, nowhere) {
            self.place = go(*streams).unwrap_or_else(Decompression::Nowhere);
        }
    }

    /// Continues here after the members that others have inflated.
    fn move_back(&mut self) {
        let nowhere = Decompression::Nowhere(ErrorKind::State("it was on its way".to_owned()));
        if let Decompression::Members(members) = std::mem::replace(&mut self.place, nowhere) {
            // Once is enough: whoever was wrong about one member may be so about each.
            self.parallel = false;
            self.place = match members.into_input() {
                Some(input) => {
                    Decompression::Here(Box::new(Streams::after_another(input, self.codec)))
                }
                None => Decompression::Nowhere(ErrorKind::State("a thread has failed".to_owned())),
            };
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::libdeflate::Packer;
    use super::super::source::Source;
    use super::*;
    use crate::record::codec::gzip_member;
    use crate::record::codec::source;
    use crate::record::codec::zlib::{DeflateOptions, Deflater, Flush};
    use proptest::prelude::*;
    use std::io::Cursor;

    /// All that comes out of `file`, read in pieces of `size`, and what ends it.
    fn content(
        file: &[u8],
        alone: Option<(u32, usize)>,
        size: usize,
    ) -> (Vec<u8>, Result<(), ErrorKind>) {
        let file = Box::new(Cursor::new(file.to_vec()));
        let opened = source::open(file, Some(Compression::Gzip), alone.is_some());
        let mut source = match opened {
            Ok(source) => source,
            Err(kind) => return (Vec::new(), Err(kind)),
        };
        if let (Source::Inflated(inflated), Some(alone)) = (&mut source, alone) {
            inflated.alone = alone;
        }
        let (mut all, mut room) = (Vec::new(), vec![0; size]);
        loop {
            match source.read(&mut room) {
                Ok(0) => return (all, Ok(())),
                Ok(count) => all.extend_from_slice(&room[..count]),
                Err(fault) => {
                    assert_eq!(
                        source.read(&mut room),
                        Err(fault.clone()),
                        "a fault is final"
                    );
                    return (all, Err(fault));
                }
            }
        }
    }

    /// What a member is made by.
    #[derive(Clone, Debug)]
    enum By {
        Us,
        Zlib,
        /// Us, but the size that it says is another.
        Liar(i8),
    }

    fn member_of(by: &By, content: &[u8]) -> Vec<u8> {
        let mut member = Vec::new();
        if let By::Zlib = by {
            let deflater = Deflater::new(Compression::Gzip, &DeflateOptions::default());
            deflater
                .unwrap()
                .compress(content, &mut member, Flush::Finish)
                .unwrap();
            return member;
        }
        gzip_member::pack(&mut Packer::new(1).unwrap(), content, 1, &mut member).unwrap();
        if let By::Liar(by) = by {
            member[16] = member[16].wrapping_add_signed(*by);
        }
        member
    }

    fn by() -> impl Strategy<Value = By> {
        prop_oneof![
            8 => Just(By::Us),
            1 => Just(By::Zlib),
            1 => any::<i8>().prop_map(By::Liar)
        ]
    }

    fn wave(i: usize) -> u8 {
        u8::try_from(((i * i) >> 7) % 256).unwrap()
    }

    /// Bytes that are neither all alike nor without pattern.
    pub fn some_content() -> impl Strategy<Value = Vec<u8>> {
        let short = prop::collection::vec(0u8..8, 0..400);
        let long = (any::<u8>(), 0usize..40_000);
        prop_oneof![
            4 => short,
            1 => long.prop_map(|(seed, size)| (0..size).map(|i| wave(i) ^ seed).collect()),
        ]
    }

    #[derive(Clone, Debug)]
    pub enum Damage {
        None,
        Cut(prop::sample::Index),
        Flip(prop::sample::Index, u8),
        Insert(prop::sample::Index, Vec<u8>),
    }

    pub fn damage() -> impl Strategy<Value = Damage> {
        let place = any::<prop::sample::Index>;
        prop_oneof![
            Just(Damage::None),
            place().prop_map(Damage::Cut),
            (place(), 0u32..8).prop_map(|(place, bit)| Damage::Flip(place, 1 << bit)),
            (place(), any::<Vec<u8>>()).prop_map(|(place, bytes)| Damage::Insert(place, bytes)),
        ]
    }

    impl Damage {
        pub fn of(&self, mut file: Vec<u8>) -> Vec<u8> {
            match self {
                Self::None => {}
                Self::Cut(place) => file.truncate(place.index(file.len())),
                Self::Flip(place, bit) => {
                    let place = place.index(file.len());
                    file[place] ^= bit;
                }
                Self::Insert(place, bytes) => {
                    let place = place.index(file.len());
                    file.splice(place..place, bytes.iter().copied());
                }
            }
            file
        }
    }

    /// Every cut of `file`, and every flipped bit of it.
    pub fn each_cut_and_flip(file: &[u8], check: impl Fn(&[u8])) {
        for cut in 0..file.len() {
            check(&file[..cut]);
        }
        for bit in 0..file.len() * 8 {
            let mut bad = file.to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            check(&bad);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Any decompressor, any amount at a time: the same bytes and the same fault.
        #[test]
        fn threads_make_no_difference(
            members in prop::collection::vec((by(), some_content()), 1..12),
            damage in damage(),
            alone in (0u32..4, prop_oneof![0usize..2_000, Just(usize::MAX)]),
            size in 1usize..100_000,
        ) {
            let file = members.iter().flat_map(|(by, content)| member_of(by, content)).collect();
            let file = damage.of(file);
            let expected = content(&file, None, 4096);
            prop_assert_eq!(content(&file, Some(alone), size), expected);
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_of_a_few_members() {
        let file: Vec<u8> = (0..5u8)
            .flat_map(|i| member_of(&By::Us, &[i; 40]))
            .collect();
        let check = |file: &[u8]| {
            let expected = content(file, None, 1000);
            assert_eq!(content(file, Some((1, usize::MAX)), 1000), expected);
        };
        each_cut_and_flip(&file, check);
    }
}

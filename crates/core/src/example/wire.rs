//! Protobuf's wire format: varints, tags, length-delimited fields, and how to skip what is unknown.
//!
//! Everything works on a slice that shrinks from the front; nothing recurses and nothing allocates.

pub use crate::error::WireError;

/// The depth of groups that protobuf's own parsers accept.
pub const MAX_DEPTH: usize = 100;

/// How a field's value is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireType {
    /// A varint.
    Varint,
    /// Eight bytes.
    Fixed64,
    /// A length and that many bytes.
    Bytes,
    /// Fields up to a matching [`WireType::EndGroup`].
    StartGroup,
    /// See [`WireType::StartGroup`].
    EndGroup,
    /// Four bytes.
    Fixed32,
}

/// Bytes of a message that have not been read yet.
#[derive(Clone, Copy, Debug)]
pub struct Wire<'a>(pub &'a [u8]);

pub(crate) type WireResult<T> = Result<T, WireError>;

impl<'a> Wire<'a> {
    /// Whether everything has been read.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Reads a varint. Bits beyond the 64th are dropped, as protobuf does.
    ///
    /// # Errors
    /// [`WireError::TruncatedVarint`], [`WireError::OverlongVarint`].
    #[inline]
    pub fn varint(&mut self) -> WireResult<u64> {
        match *self.0 {
            [first @ 0..0x80, ref rest @ ..] => {
                self.0 = rest;
                Ok(u64::from(first))
            }
            [first, second @ 0..0x80, ref rest @ ..] => {
                self.0 = rest;
                Ok(u64::from(first & 0x7f) | u64::from(second) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> WireResult<u64> {
        let mut value = 0u64;
        for (index, &byte) in self.0.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.0 = self.0.get(index + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        let short = self.0.len() < 10;
        Err(if short {
            WireError::TruncatedVarint
        } else {
            WireError::OverlongVarint
        })
    }

    /// Reads a field's number and wire type.
    ///
    /// # Errors
    /// Those of [`Self::varint`]; a wire type or a field number that does not exist.
    #[inline]
    pub fn tag(&mut self) -> WireResult<(u32, WireType)> {
        let tag = self.varint()?;
        let [low, ..] = tag.to_le_bytes();
        let wire_type = match low & 7 {
            0 => WireType::Varint,
            1 => WireType::Fixed64,
            2 => WireType::Bytes,
            3 => WireType::StartGroup,
            4 => WireType::EndGroup,
            5 => WireType::Fixed32,
            other => return Err(WireError::BadWireType(other)),
        };
        match u32::try_from(tag >> 3) {
            Ok(number @ 1..=0x1fff_ffff) => Ok((number, wire_type)),
            _ => Err(WireError::BadFieldNumber),
        }
    }

    /// Reads a length and that many bytes.
    ///
    /// # Errors
    /// Those of [`Self::varint`]; [`WireError::TruncatedField`].
    #[inline]
    pub fn bytes(&mut self) -> WireResult<&'a [u8]> {
        let length = self.varint()?;
        self.take(usize::try_from(length).map_err(|_| WireError::TruncatedField)?)
    }

    /// The most bytes of a tag or a length that protobuf's C++ parser accepts.
    pub const MOST_SHORT: usize = 5;

    /// Reads a length of at most [`Self::MOST_SHORT`] bytes and that many bytes, if they are there.
    #[inline]
    pub fn short_bytes(&mut self) -> Option<&'a [u8]> {
        let mut rest = *self;
        let length = match *rest.0 {
            [length @ 0..0x80, ref after @ ..] => {
                rest.0 = after;
                u64::from(length)
            }
            _ => rest.varint().ok()?,
        };
        let is_short = self.0.len() - rest.0.len() <= Self::MOST_SHORT;
        let bytes = rest
            .take(usize::try_from(length).ok().filter(|_| is_short)?)
            .ok()?;
        *self = rest;
        Some(bytes)
    }

    /// Reads four bytes.
    ///
    /// # Errors
    /// [`WireError::TruncatedField`].
    #[inline]
    pub fn fixed32(&mut self) -> WireResult<[u8; 4]> {
        let (value, rest) = self
            .0
            .split_first_chunk()
            .ok_or(WireError::TruncatedField)?;
        self.0 = rest;
        Ok(*value)
    }

    /// Reads eight bytes.
    ///
    /// # Errors
    /// [`WireError::TruncatedField`].
    #[inline]
    pub fn fixed64(&mut self) -> WireResult<[u8; 8]> {
        let (value, rest) = self
            .0
            .split_first_chunk()
            .ok_or(WireError::TruncatedField)?;
        self.0 = rest;
        Ok(*value)
    }

    /// Reads that many bytes.
    ///
    /// # Errors
    /// [`WireError::TruncatedField`].
    #[inline]
    pub fn take(&mut self, length: usize) -> WireResult<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(WireError::TruncatedField)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Steps over the value of field `number`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn skip(&mut self, number: u32, wire_type: WireType) -> WireResult<()> {
        match wire_type {
            WireType::StartGroup => self.skip_group(number),
            WireType::EndGroup => Err(WireError::UnmatchedGroup),
            simple => self.skip_simple(simple),
        }
    }

    /// Steps over the value of a field that is no group.
    ///
    /// # Errors
    /// What is wrong with it; [`WireError::UnmatchedGroup`] for a group.
    pub fn skip_simple(&mut self, wire_type: WireType) -> WireResult<()> {
        match wire_type {
            WireType::Varint => self.varint().map(drop),
            WireType::Fixed64 => self.take(8).map(drop),
            WireType::Bytes => self.bytes().map(drop),
            WireType::Fixed32 => self.take(4).map(drop),
            WireType::StartGroup | WireType::EndGroup => Err(WireError::UnmatchedGroup),
        }
    }

    fn skip_group(&mut self, number: u32) -> WireResult<()> {
        let mut open = [0; MAX_DEPTH];
        let mut depth = 1;
        if let Some(first) = open.first_mut() {
            *first = number;
        }
        while depth > 0 {
            if self.is_empty() {
                return Err(WireError::UnmatchedGroup);
            }
            match self.tag()? {
                (inner, WireType::StartGroup) => {
                    *open.get_mut(depth).ok_or(WireError::TooDeep)? = inner;
                    depth += 1;
                }
                (inner, WireType::EndGroup) => {
                    depth -= 1;
                    if open.get(depth) != Some(&inner) {
                        return Err(WireError::UnmatchedGroup);
                    }
                }
                (_, simple) => self.skip_simple(simple)?,
            }
        }
        Ok(())
    }
}

/// How many bytes `value` takes as a varint.
#[must_use]
#[inline]
pub fn varint_len(value: u64) -> usize {
    // 7 bits a byte; | 1 because zero takes a byte too.
    (63 - (value | 1).leading_zeros() as usize) / 7 + 1
}

/// Appends `value` as a varint.
#[inline]
pub fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        let [low, ..] = value.to_le_bytes();
        out.push(low | 0x80);
        value >>= 7;
    }
    let [last, ..] = value.to_le_bytes();
    out.push(last);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_come_back(value in any::<u64>(), shift in 0u32..64) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            push_varint(&mut bytes, value);
            prop_assert_eq!(bytes.len(), varint_len(value));
            let mut wire = Wire(&bytes);
            prop_assert_eq!(wire.varint(), Ok(value));
            prop_assert!(wire.is_empty());
            for cut in 0..bytes.len() {
                prop_assert_eq!(Wire(&bytes[..cut]).varint(), Err(WireError::TruncatedVarint));
            }
        }

        #[test]
        fn any_bytes_are_skipped_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut wire = Wire(&bytes);
            while !wire.is_empty() {
                let before = wire.0.len();
                let Ok((number, wire_type)) = wire.tag() else { break };
                if wire.skip(number, wire_type).is_err() {
                    break;
                }
                prop_assert!(wire.0.len() < before);
            }
        }
    }

    #[test]
    fn the_tenth_byte_of_a_varint_is_the_last() {
        let ten = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Wire(&ten).varint(), Ok(u64::MAX));
        assert_eq!(Wire(&[0x80; 11]).varint(), Err(WireError::OverlongVarint));
    }

    #[test]
    fn groups_nest_to_the_limit_and_no_further() {
        for (depth, expected) in [(1, Ok(())), (99, Ok(())), (100, Err(WireError::TooDeep))] {
            let mut bytes = vec![0x0b; depth];
            bytes.extend(vec![0x0c; depth + 1]);
            assert_eq!(
                Wire(&bytes).skip(1, WireType::StartGroup),
                expected,
                "{depth}"
            );
        }
        assert_eq!(
            Wire(&[0x14]).skip(1, WireType::StartGroup),
            Err(WireError::UnmatchedGroup)
        );
        assert_eq!(
            Wire(&[]).skip(1, WireType::StartGroup),
            Err(WireError::UnmatchedGroup)
        );
    }
}

//! PNG images to samples. What the samples mean to the caller is decided in Python.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Transformations};

use crate::error::{Error, Result};

/// Memory that the decoder may take beside the image, in bytes: for lines and for what it inflates.
const WORKING_MEMORY: usize = 64 << 20;

/// The most bytes that a byte of a deflate stream can stand for.
const MAX_INFLATION: u64 = 1032;

/// An image.
#[derive(Debug)]
pub struct Image {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// How many samples a pixel has: 1 (grey), 2 (grey and alpha), 3 (colours), 4 (colours and alpha).
    pub channels: u8,
    /// Whether a sample has 16 bits, in the machine's order of bytes; else it has 8.
    pub deep: bool,
    /// The samples, pixel for pixel and line for line.
    pub samples: Vec<u8>,
}

/// Decodes the image in `data`, whole; of an animation its default image.
///
/// Fewer bits than 8 become 8, the numbers of a palette its colours, and a transparent colour a
/// channel for alpha. Every checksum of what is needed for that is verified.
///
/// # Errors
///
/// It is no PNG, broken or cut off; or it has more than `max_pixels` pixels.
pub fn decode(data: &[u8], max_pixels: u64) -> Result<Image> {
    let limits = Limits {
        bytes: WORKING_MEMORY,
    };
    let mut decoder = Decoder::new_with_limits(Cursor::new(data), limits);
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(broken)?;
    let info = reader.info();
    let (width, height) = (info.width, info.height);
    let pixels = u64::from(width) * u64::from(height);
    if pixels > max_pixels {
        let text = format!("the image has {pixels} pixels, more than {max_pixels}");
        return Err(Error::content(text));
    }
    // Each line has a byte that says how it is filtered, and at least one sample.
    let stored = u64::from(height) * (info.raw_row_length() as u64);
    if stored / MAX_INFLATION > data.len() as u64 {
        return Err(Error::content("the image is cut off"));
    }
    let size = reader.output_buffer_size().ok_or_else(|| {
        let text = format!("the image is {width} x {height} pixels, more than memory can hold");
        Error::content(text)
    })?;
    let mut samples = vec![0; size];
    let output = reader.next_frame(&mut samples).map_err(broken)?;
    reader.finish().map_err(broken)?;
    let deep = output.bit_depth == BitDepth::Sixteen;
    if deep {
        to_native_order(&mut samples);
    }
    Ok(Image {
        width,
        height,
        channels: channels(output.color_type),
        deep,
        samples,
    })
}

fn channels(color_type: ColorType) -> u8 {
    match color_type {
        ColorType::Grayscale | ColorType::Indexed => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb => 3,
        ColorType::Rgba => 4,
    }
}

/// Turns samples of 16 bits, which a file has with the upper byte first.
fn to_native_order(samples: &mut [u8]) {
    for sample in samples.as_chunks_mut::<2>().0 {
        *sample = u16::from_be_bytes(*sample).to_ne_bytes();
    }
}

fn broken(error: DecodingError) -> Error {
    match error {
        DecodingError::IoError(_) => Error::content("the image is cut off"),
        error => Error::content(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use png::Encoder;
    use proptest::prelude::*;

    use super::*;

    fn encoded(width: u32, height: u32, color: ColorType, depth: BitDepth, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = Encoder::new(&mut out, width, height);
        encoder.set_color(color);
        encoder.set_depth(depth);
        let mut writer = encoder.write_header().expect("a header");
        writer.write_image_data(data).expect("an image");
        writer.finish().expect("an end");
        out
    }

    #[test]
    fn sixteen_bits_are_numbers() {
        let data: Vec<u8> = [1u16, 256, 65535, 7]
            .iter()
            .flat_map(|sample| sample.to_be_bytes())
            .collect();
        let file = encoded(1, 2, ColorType::GrayscaleAlpha, BitDepth::Sixteen, &data);
        let image = decode(&file, 2).expect("an image");
        let expected: Vec<u8> = [1u16, 256, 65535, 7]
            .iter()
            .flat_map(|sample| sample.to_ne_bytes())
            .collect();
        assert_eq!(
            (image.width, image.height, image.channels, image.deep),
            (1, 2, 2, true)
        );
        assert_eq!(image.samples, expected);
    }

    #[test]
    fn too_many_pixels_are_refused() {
        let file = encoded(3, 2, ColorType::Grayscale, BitDepth::Eight, &[0; 6]);
        assert!(decode(&file, 6).is_ok());
        let error = decode(&file, 5).expect_err("a limit");
        assert_eq!(error.to_string(), "the image has 6 pixels, more than 5");
    }

    proptest! {
        #[test]
        fn what_is_cut_or_changed_is_no_panic(
            data in proptest::collection::vec(any::<u8>(), 48),
            changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4),
            cut in any::<usize>(),
        ) {
            let mut file = encoded(4, 4, ColorType::Rgb, BitDepth::Eight, &data);
            prop_assert_eq!(&decode(&file, 16).expect("an image").samples, &data);
            for (place, value) in changes {
                let place = place % file.len();
                file[place] ^= value;
            }
            file.truncate(file.len() - cut % file.len());
            if let Ok(image) = decode(&file, 1000) {
                prop_assert!(image.samples.len() <= 8000);
            }
        }
    }
}

//! Images in another size.

use fast_image_resize::images::{Image as Target, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};

use crate::error::{Error, Result};

/// The samples of an image, pixel for pixel and line for line.
#[derive(Clone, Copy, Debug)]
pub struct Pixels<'a> {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// How many samples a pixel has: 1 (grey), 2 (grey and alpha), 3 (colours), 4 (colours and alpha).
    pub channels: u8,
    /// The samples, of 8 bits.
    pub samples: &'a [u8],
}

/// Returns the samples of the image with another width and height.
///
/// `filter` is "bilinear" or "hamming". It grows with the pixels where an image becomes smaller, so that
/// each of them counts, and colours count as much as their alpha says: as Pillow does it, to one level.
///
/// # Errors
///
/// There is no such filter, an image is empty, or there are not as many samples as it has.
pub fn resize(image: Pixels<'_>, width: u32, height: u32, filter: &str) -> Result<Vec<u8>> {
    let kind = pixel_type(image.channels)?;
    let options = ResizeOptions::new().resize_alg(algorithm(filter)?);
    let source = ImageRef::new(image.width, image.height, image.samples, kind).map_err(refused)?;
    let mut target = Target::new(width, height, kind);
    Resizer::new()
        .resize(&source, &mut target, &options)
        .map_err(refused)?;
    Ok(target.into_vec())
}

fn pixel_type(channels: u8) -> Result<PixelType> {
    match channels {
        1 => Ok(PixelType::U8),
        2 => Ok(PixelType::U8x2),
        3 => Ok(PixelType::U8x3),
        4 => Ok(PixelType::U8x4),
        _ => Err(Error::content(format!(
            "an image has no {channels} channels"
        ))),
    }
}

fn algorithm(filter: &str) -> Result<ResizeAlg> {
    match filter {
        "bilinear" => Ok(ResizeAlg::Convolution(FilterType::Bilinear)),
        "hamming" => Ok(ResizeAlg::Convolution(FilterType::Hamming)),
        _ => Err(Error::content(format!("there is no filter {filter:?}"))),
    }
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "what map_err calls takes the error"
)]
fn refused(error: impl std::fmt::Display) -> Error {
    Error::content(format!("the image cannot be resized: {error}"))
}

#[cfg(test)]
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "small numbers"
)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn image(width: u32, height: u32, channels: u8, samples: &[u8]) -> Pixels<'_> {
        Pixels {
            width,
            height,
            channels,
            samples,
        }
    }

    /// What each sample is by definition: a weighted mean, over as many pixels as become one.
    fn triangle(samples: &[u8], length: usize) -> Vec<f64> {
        let scale = samples.len() as f64 / length as f64;
        let reach = scale.max(1.0);
        let at = |place: usize| (place as f64 + 0.5) * scale;
        let weight = |place: usize, sample: usize| {
            (1.0 - ((sample as f64 + 0.5 - at(place)) / reach).abs()).max(0.0)
        };
        let mean = |place: usize| {
            let weights: Vec<f64> = (0..samples.len()).map(|one| weight(place, one)).collect();
            let parts = weights
                .iter()
                .zip(samples)
                .map(|(weight, &one)| weight * f64::from(one));
            parts.sum::<f64>() / weights.iter().sum::<f64>()
        };
        (0..length).map(mean).collect()
    }

    proptest! {
        #[test]
        fn a_line_is_a_weighted_mean(
            samples in prop::collection::vec(any::<u8>(), 1..60),
            length in 1_u32..80,
        ) {
            let width = u32::try_from(samples.len()).unwrap();
            let found = resize(image(width, 1, 1, &samples), length, 1, "bilinear").unwrap();
            for (one, wanted) in found.iter().zip(triangle(&samples, length as usize)) {
                prop_assert!((f64::from(*one) - wanted).abs() < 1.01);
            }
        }

        #[test]
        fn one_colour_stays_one(
            colour in prop::array::uniform4(any::<u8>()), channels in 1_u8..5,
            (width, height, to_width, to_height) in (1_u32..30, 1_u32..30, 1_u32..30, 1_u32..30),
        ) {
            let mut pixel = colour[..usize::from(channels)].to_vec();
            if channels % 2 == 0 {
                pixel[usize::from(channels) - 1] = 255;
            }
            let samples = pixel.repeat((width * height) as usize);
            let found = resize(image(width, height, channels, &samples), to_width, to_height, "hamming");
            prop_assert_eq!(found.unwrap(), pixel.repeat((to_width * to_height) as usize));
        }

        #[test]
        fn what_does_not_fit_is_an_error(
            width in 0_u32..9, height in 0_u32..9, channels: u8,
            samples in prop::collection::vec(any::<u8>(), 0..99), to in 0_u32..9,
        ) {
            let bytes = u64::from(width) * u64::from(height) * u64::from(channels);
            let fits = (1..5).contains(&channels) && bytes <= samples.len() as u64;
            let found = resize(image(width, height, channels, &samples), to, to, "bilinear");
            if !fits {
                prop_assert!(found.is_err());
            } else if let Ok(found) = found {
                prop_assert_eq!(found.len() as u32, to * to * u32::from(channels));
            }
        }
    }

    #[test]
    fn filters_have_names() {
        assert!(resize(image(1, 1, 1, &[1]), 1, 1, "nearest").is_err());
    }
}

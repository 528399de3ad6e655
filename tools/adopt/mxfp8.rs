//! Tests of an encoder and a quantizer of MXFP8 E4M3 from float32. To copy into a repository.
//!
//! Archive: mxref-vectors-VERSION-mxfp8_e4m3.zip, unpacked; MXREF_VECTORS has its folder.
//!
//!   rustc --edition 2021 --test mxfp8.rs && MXREF_VECTORS=FOLDER ./mxfp8
//!
//! kernel.rs has `encode(f64) -> u8` and `quantize(&[f32]) -> (u8, Vec<u8>)`: scale and 32 codes.
mod kernel;

use std::{env, fs, path::Path};

/// The words of each line of a file: input words, then output words.
#[cfg(test)]
fn cases(name: &str) -> Vec<Vec<u32>> {
    let folder = env::var("MXREF_VECTORS").unwrap_or_else(|_| "mxref-vectors".into());
    let path = Path::new(&folder).join("plain").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let word = |text| u32::from_str_radix(text, 16).expect("a hex word");
    text.lines().map(|line| line.split(' ').map(word).collect()).collect()
}

/// Whether a code is right: every NaN is where one is expected.
#[cfg(test)]
fn same(got: u8, want: u32) -> bool {
    got as u32 == want || (got & 0x7f == 0x7f && want & 0x7f == 0x7f)
}

#[test]
fn encode() {
    for case in cases("encode/e4m3.f32.txt") {
        let got = kernel::encode(f32::from_bits(case[0]) as f64);
        assert!(same(got, case[1]), "{:08x}: want {:02x}, got {got:02x}", case[0], case[1]);
    }
}

#[test]
fn quantize() {
    for (number, case) in cases("quantize/mxfp8_e4m3.f32.txt").iter().enumerate() {
        let block: Vec<f32> = case[..32].iter().map(|word| f32::from_bits(*word)).collect();
        let (scale, codes) = kernel::quantize(&block);
        assert_eq!(scale as u32, case[32], "the scale of line {}", number + 1);
        let right = codes.iter().zip(&case[33..]).all(|(got, want)| same(*got, *want));
        assert!(scale == 0xff || right, "the codes of line {}: {codes:02x?}", number + 1);
    }
}

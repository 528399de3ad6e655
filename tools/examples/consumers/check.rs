//! Checks the kernel of kernel.rs against plain vectors, without mxref:
//!
//!   rustc --edition 2021 -O check.rs
//!   ./check vectors/plain/encode/e4m3.f32.txt vectors/plain/quantize/mxfp8_e4m3.f32.txt
//!
//! A line is the input words in hex, then the words of each column; the first column is ocp.
//! Exit status: 0 if all cases are right, 1 if one is wrong, 2 if a file is none of these.
mod kernel;

use std::{env, fs, process::exit};

/// Whether a code is right: every NaN of E4M3 is.
fn equal(got: u8, want: u32) -> bool {
    got as u32 == want || (got & 0x7f == 0x7f && want & 0x7f == 0x7f)
}

fn right(input: &[u32], want: &[u32]) -> bool {
    let numbers: Vec<f32> = input.iter().map(|bits| f32::from_bits(*bits)).collect();
    if let [number] = numbers[..] {
        return equal(kernel::encode(number as f64), want[0]);
    }
    let (scale, codes) = kernel::quantize(&numbers);
    if want[0] == 0xff {
        return scale == 0xff; // under a NaN scale no code is compared
    }
    let mut pairs = codes.iter().zip(&want[1..]);
    scale as u32 == want[0] && codes.len() == 32 && pairs.all(|(got, want)| equal(*got, *want))
}

fn main() {
    let (mut cases, mut wrong) = (0, 0);
    for path in env::args().skip(1) {
        let blocks = path.contains("quantize/mxfp8_e4m3.f32");
        let (inputs, outputs) = if blocks { (32, 33) } else { (1, 1) };
        let text = fs::read_to_string(&path).unwrap_or_default();
        if text.is_empty() || (!blocks && !path.contains("encode/e4m3.f32")) {
            eprintln!("{path}: no file of E4M3 from float32");
            exit(2);
        }
        for (number, line) in text.lines().enumerate() {
            let words = line.split(' ').map(|word| u32::from_str_radix(word, 16));
            let words: Vec<u32> = words.collect::<Result<_, _>>().unwrap_or_default();
            if words.len() < inputs + outputs {
                eprintln!("{path}:{}: is no case", number + 1);
                exit(2);
            }
            cases += 1;
            if !right(&words[..inputs], &words[inputs..inputs + outputs]) {
                if wrong == 0 {
                    println!("{path}:{} is wrong: {line}", number + 1);
                }
                wrong += 1;
            }
        }
    }
    println!("{cases} cases, {wrong} wrong");
    exit(if cases == 0 { 2 } else { (wrong != 0) as i32 });
}

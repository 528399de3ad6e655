//! The kernel that check.rs checks: MXFP8 E4M3 from float32, in f64. Put yours in its place.

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

fn exponent_of(magnitude: f64) -> i32 {
    (magnitude.to_bits() >> 52) as i32 - 1023 // every float32 and every quotient is normal here
}

/// The code of a number: ties to even, saturating. An f64 holds every step exactly.
pub fn encode(x: f64) -> u8 {
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    if x.is_nan() {
        return sign | 0x7f;
    }
    let magnitude = x.abs().min(448.0);
    let exponent = exponent_of(magnitude).max(-6);
    let integer = (magnitude * power_of_two(3 - exponent) + power_of_two(52)) - power_of_two(52);
    sign | (8 * (exponent + 6) + integer as i32) as u8 // adding 2^52 rounds to the even integer
}

/// The scale code and the 32 codes of a block: FLOOR, the rule that the standard suggests.
pub fn quantize(x: &[f32]) -> (u8, Vec<u8>) {
    let largest = x.iter().fold(0.0, |all: f64, number| all.max(number.abs() as f64));
    if !x.iter().all(|number| number.is_finite()) {
        return (0xff, vec![0; x.len()]);
    }
    let exponent = (exponent_of(largest) - 8).max(-127);
    let codes = x.iter().map(|number| encode(*number as f64 * power_of_two(-exponent)));
    ((exponent + 127) as u8, codes.collect())
}

//! Numbers as decimal digits, without the formatting machinery: a graph has millions of them.

/// Digits of the largest u64.
const MOST_DIGITS: usize = 20;

/// Appends the digits of `number`.
pub(crate) fn push(number: u64, to: &mut Vec<u8>) {
    let mut digits = [0; MOST_DIGITS];
    let (mut at, mut left) = (MOST_DIGITS, number);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    to.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_standard_library() {
        for number in [0, 9, 10, 4_294_967_295, u64::MAX] {
            let mut bytes = Vec::new();
            push(number, &mut bytes);
            assert_eq!(bytes, number.to_string().as_bytes());
        }
    }
}

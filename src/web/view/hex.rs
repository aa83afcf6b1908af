//! Bytes as a hex dump.

use std::fmt::Write;

const WIDTH: usize = 16;

/// Offset, sixteen bytes, and what of them is ASCII; as `hexdump -C` shows it.
pub fn dump(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 5);
    for (row, chunk) in bytes.chunks(WIDTH).enumerate() {
        // Writing to a string cannot fail.
        let _ = write_row(&mut out, row * WIDTH, chunk);
    }
    out
}

/// The same bytes in one line, and nothing else.
pub fn pairs(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn write_row(out: &mut String, offset: usize, chunk: &[u8]) -> std::fmt::Result {
    write!(out, "{offset:08x} ")?;
    for position in 0..WIDTH {
        let gap = if position == WIDTH / 2 { " " } else { "" };
        match chunk.get(position) {
            Some(byte) => write!(out, "{gap} {byte:02x}")?,
            None => write!(out, "{gap}   ")?,
        }
    }
    let ascii: String = chunk.iter().map(|&b| if b.is_ascii_graphic() || b == b' ' { b.into() } else { '·' }).collect();
    writeln!(out, "  {ascii}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_line_up() {
        let full = "00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  ················\n";
        let rest = "00000010  41 20 ff                                          A ·\n";
        let mut bytes: Vec<u8> = (0..16).collect();
        bytes.extend([0x41, 0x20, 0xff]);
        assert_eq!(dump(&bytes), format!("{full}{rest}"));
        assert_eq!(dump(b""), "");
    }
}

//! Constants as the standards print them.

/// Rows of hexadecimal numbers, with white space between the numbers of `text`.
pub(super) const fn numbers<const ROWS: usize, const COLUMNS: usize>(
    text: &str,
) -> [[u64; COLUMNS]; ROWS] {
    let text = text.as_bytes();
    let mut numbers = [[0; COLUMNS]; ROWS];
    let (mut at, mut count, mut is_inside) = (0, 0, false);
    while at < text.len() {
        let digit = (text[at] as char).to_digit(16);
        if let Some(digit) = digit {
            let number = &mut numbers[count / COLUMNS][count % COLUMNS];
            *number = *number << 4 | digit as u64;
        } else if is_inside {
            count += 1;
        }
        is_inside = digit.is_some();
        at += 1;
    }
    assert!(count + is_inside as usize == ROWS * COLUMNS);
    numbers
}

/// 32 bits of each number of the first rows, from bit `first` on.
pub(super) const fn words<const ROWS: usize, const COLUMNS: usize>(
    numbers: &[[u64; COLUMNS]],
    first: u32,
) -> [[u32; COLUMNS]; ROWS] {
    let mut words = [[0; COLUMNS]; ROWS];
    let mut index = 0;
    while index < ROWS * COLUMNS {
        let (row, column) = (index / COLUMNS, index % COLUMNS);
        words[row][column] = (numbers[row][column] >> first) as u32;
        index += 1;
    }
    words
}

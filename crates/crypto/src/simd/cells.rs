//! Blocks of a buffer that is borrowed for writing as cells.

use std::cell::Cell;
use std::ptr;

use crate::cipher::Block;

/// Sixteen bytes as one block.
#[inline(always)]
pub(crate) fn block_of(cells: &[Cell<u8>]) -> Option<&Cell<Block>> {
    let cells: &[Cell<u8>; 16] = cells.as_array()?;
    // SAFETY: a cell has the layout of what is in it, so that sixteen cells of bytes have that
    // of one cell of sixteen bytes; the result borrows what `cells` borrows.
    Some(unsafe { &*ptr::from_ref(cells).cast() })
}

//! The inverse cipher (FIPS 197 section 5.3), out of the parts of the cipher.

use zeroize::Zeroize;

use super::{
    BLOCKS, Block, PlaneKeys, Planes, ROW_1, ROW_2, ROW_3, add, double, mix_columns, rows_up,
    shift_columns, slice, substitute, unslice,
};

impl PlaneKeys {
    /// Decrypts four blocks.
    pub(crate) fn decrypt(&self, blocks: &mut [Block; BLOCKS]) {
        let mut state = slice(blocks);
        add(&mut state, &self.planes[self.rounds]);
        for key in self.planes[1..self.rounds].iter().rev() {
            shift_rows_back(&mut state);
            substitute_back(&mut state);
            add(&mut state, key);
            mix_columns_back(&mut state);
        }
        shift_rows_back(&mut state);
        substitute_back(&mut state);
        add(&mut state, &self.planes[0]);
        *blocks = unslice(state);
        state.zeroize();
    }
}

/// Round keys for encryption become those of the equivalent inverse cipher
/// (FIPS 197 section 5.3.5), in the order of decryption.
pub(crate) fn invert(round_keys: &mut [Block]) {
    round_keys.reverse();
    let inner = 1..round_keys.len().saturating_sub(1);
    for keys in round_keys[inner].chunks_mut(BLOCKS) {
        let mut four = [[0; 16]; BLOCKS];
        four[..keys.len()].copy_from_slice(keys);
        let mut state = slice(&four);
        mix_columns_back(&mut state);
        four = unslice(state);
        keys.copy_from_slice(&four[..keys.len()]);
        four.zeroize();
        state.zeroize();
    }
}

/// Three columns to the left are one to the right.
fn shift_rows_back(state: &mut Planes) {
    shift_columns(state, [ROW_3, ROW_2, ROW_1]);
}

/// The S-box is an inversion and an affine map A. Its inverse is the inversion
/// after A⁻¹, and the inversion is A⁻¹ after the S-box.
fn substitute_back(state: &mut Planes) {
    affine_back(state);
    substitute(state);
    affine_back(state);
}

/// A⁻¹: bit i becomes the sum of bits i + 2, i + 5 and i + 7, and of bit i of
/// 0x05.
fn affine_back(state: &mut Planes) {
    let b = *state;
    for (i, plane) in state.iter_mut().enumerate() {
        *plane = b[(i + 2) % 8] ^ b[(i + 5) % 8] ^ b[(i + 7) % 8];
    }
    state[0] = !state[0];
    state[2] = !state[2];
}

/// The inverse of MixColumns is MixColumns after a + 4 (a + a″), where a″ is
/// two rows below: the polynomial of FIPS 197 section 5.3.3 factors that way.
fn mix_columns_back(state: &mut Planes) {
    let sums = state.map(|plane| plane ^ rows_up(plane, 2));
    add(state, &double(double(sums)));
    mix_columns(state);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::expand;
    use crate::suite::AesKeySize;
    use weir_simd::Tier;

    #[test]
    fn decryption_undoes_encryption_under_every_key_size() {
        for size in [AesKeySize::Aes128, AesKeySize::Aes192, AesKeySize::Aes256] {
            let key: Vec<u8> = (0..size.key_bytes() as u8)
                .map(|i| i.wrapping_mul(11))
                .collect();
            let round_keys = expand(Tier::Scalar, size, &key).expect("a key");
            let keys = PlaneKeys::new(&round_keys[..=crate::cipher::rounds(size)]);
            for seed in 0..64u8 {
                let before: [Block; BLOCKS] =
                    std::array::from_fn(|b| std::array::from_fn(|i| (b * 16 + i) as u8 ^ seed));
                let mut blocks = before;
                keys.encrypt(&mut blocks);
                assert_ne!(blocks, before);
                keys.decrypt(&mut blocks);
                assert_eq!(blocks, before);
            }
        }
    }

    /// FIPS 197 appendix B backwards.
    #[test]
    fn the_block_of_the_standard_decrypts() {
        let hex = |text| crate::engine::unhex(text).expect("hexadecimal");
        let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
        let round_keys = expand(Tier::Scalar, AesKeySize::Aes128, &key).expect("a key");
        let sealed: Block = hex("3925841d02dc09fbdc118597196a0b32")
            .try_into()
            .expect("a block");
        let mut blocks = [sealed; BLOCKS];
        PlaneKeys::new(&round_keys[..11]).decrypt(&mut blocks);
        assert_eq!(blocks[0][..], hex("3243f6a8885a308d313198a2e0370734"));
    }
}

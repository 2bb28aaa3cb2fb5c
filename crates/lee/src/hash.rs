//! A fast hash for cache keys, the same in every build and on every machine. Not for untrusted
//! keys.

/// FNV-1a with 128 bits, over words of eight bytes: archives of megabytes are hashed at each start.
#[derive(Clone, Copy)]
pub struct Hash(u128);

impl Default for Hash {
    fn default() -> Hash {
        Hash(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Hash {
    /// Mixes in a field; its length too, so that `ab, c` and `a, bc` differ.
    pub fn field(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
        self.bytes(&(bytes.len() as u64).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            self.0 ^= u128::from(u64::from_le_bytes(word));
            self.0 = self.0.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    /// 20 hexadecimal digits: enough for a name in a cache, short in paths.
    pub fn name(self) -> String {
        format!("{:020x}", self.0 >> 48)
    }
}

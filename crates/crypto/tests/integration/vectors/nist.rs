//! NIST's validation vectors, as excerpted in `nist/`.

use std::collections::HashMap;
use std::path::Path;
use weir_crypto::{Aead, AesKeySize, Cipher, Mac, Suite};

use super::case::{AeadVector, Case};
use super::oracle;

/// One record of a response file, with the settings above it.
pub struct Record {
    /// The file and the record's position in it.
    pub source: String,
    /// `Name = value`, of settings and record alike.
    values: HashMap<String, String>,
    /// Lines that stand alone: `FAIL`, `[ENCRYPT]`.
    marks: Vec<String>,
}

impl Record {
    pub fn hex(&self, name: &str) -> Vec<u8> {
        let digits = &self.values[name];
        assert!(digits.len().is_multiple_of(2), "{}", self.source);
        (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal"))
            .collect()
    }

    pub fn number(&self, name: &str) -> usize {
        self.values[name].parse().expect("a number")
    }

    pub fn is_marked(&self, mark: &str) -> bool {
        self.marks.iter().any(|known| known == mark)
    }
}

/// The records of a file, in its order.
pub fn records(file: &str) -> Vec<Record> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/integration/vectors/nist")
        .join(file);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut settings: Vec<&str> = Vec::new();
    let mut records = Vec::new();
    for paragraph in text.split("\n\n").map(str::trim).filter(|p| !p.is_empty()) {
        if paragraph.starts_with('[') {
            settings = paragraph.lines().collect();
            continue;
        }
        let mut record = Record {
            source: format!("NIST {file}, record {}", records.len()),
            values: HashMap::new(),
            marks: Vec::new(),
        };
        for line in settings.iter().copied().chain(paragraph.lines()) {
            match line.trim_matches(['[', ']']).split_once('=') {
                Some((name, value)) => {
                    record
                        .values
                        .insert(name.trim().into(), value.trim().into());
                }
                None => record.marks.push(line.into()),
            }
        }
        records.push(record);
    }
    records
}

/// Every vector of a cipher, AEAD or MAC.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (bits, size) in SIZES {
        cases.extend(gcm(bits, size));
        for name in ["GFSbox", "KeySbox", "VarKey", "VarTxt", "MMT"] {
            let file = format!("CBC{name}{bits}.rsp");
            cases.extend(cbc(&file, Cipher::AesCbc(size), &["KEY"]));
        }
    }
    let keys = ["KEY1", "KEY2", "KEY3"];
    cases.extend(cbc("TCBCMMT3.rsp", Cipher::TripleDesCbc, &keys));
    cases.extend(hmac());
    cases
}

/// Key sizes and their bits, which files are named after.
pub const SIZES: [(usize, AesKeySize); 3] = [
    (128, AesKeySize::Aes128),
    (192, AesKeySize::Aes192),
    (256, AesKeySize::Aes256),
];

fn gcm(bits: usize, size: AesKeySize) -> Vec<Case> {
    let suite = Suite::Aead(Aead::AesGcm16(size));
    ["gcmEncryptExtIV", "gcmDecrypt"]
        .iter()
        .flat_map(|name| records(&format!("{name}{bits}.rsp")))
        .map(|record| {
            let is_authentic = !record.is_marked("FAIL");
            let payload = if is_authentic {
                record.hex("PT")
            } else {
                Vec::new()
            };
            let vector = AeadVector {
                key: &record.hex("Key"),
                nonce: &record.hex("IV"),
                aad: &record.hex("AAD"),
                payload: &payload,
                sealed: &record.hex("CT"),
                tag: &record.hex("Tag"),
                is_authentic,
            };
            Case::of_aead(record.source, suite, &vector).expect("a nonce of 12 bytes")
        })
        .collect()
}

fn cbc(file: &str, cipher: Cipher, keys: &[&str]) -> Vec<Case> {
    records(file)
        .iter()
        .zip(Mac::ALL.iter().cycle())
        .map(|(record, &mac)| {
            let key: Vec<u8> = keys.iter().flat_map(|name| record.hex(name)).collect();
            Case::of_cipher(
                record.source.clone(),
                cipher,
                mac,
                &key,
                &record.hex("IV"),
                &record.hex("PLAINTEXT"),
                &record.hex("CIPHERTEXT"),
            )
        })
        .collect()
}

fn hmac() -> Vec<Case> {
    records("HMAC.rsp")
        .iter()
        .zip(Cipher::ALL.iter().cycle())
        .map(|(record, &cipher)| {
            let mac = match record.number("L") {
                20 => Mac::HmacSha1_96,
                32 => Mac::HmacSha2_256_128,
                48 => Mac::HmacSha2_384_192,
                64 => Mac::HmacSha2_512_256,
                other => panic!("{}: a hash of {other} bytes", record.source),
            };
            let key = oracle::equal_hmac_key(mac, &record.hex("Key")).expect("such keys are kept");
            let message = record.hex("Msg");
            let right = oracle::tag(mac, &key, &[&message]);
            let published = record.hex("Mac");
            let published = &published[..published.len().min(right.len())];
            assert!(right.starts_with(published), "{}", record.source);
            Case::of_mac(
                record.source.clone(),
                cipher,
                mac,
                &key,
                &message,
                &right,
                true,
            )
        })
        .collect()
}

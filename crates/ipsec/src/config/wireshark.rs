//! Keys for Wireshark's ESP dissector.

use std::fmt::Write;
use std::sync::Arc;

use weir_crypto::{Aead, Cipher, Mac, Suite};
use zeroize::Zeroizing;

use super::Secrets;
use crate::outer::TunnelEnds;
use crate::sa::{Mode, Parameters};

/// The contents of Wireshark's `esp_sa` file. Each line also serves tshark
/// after `-o uat:esp_sa:`.
pub struct WiresharkKeys {
    /// One line per association; two for one in transport mode, whose packets
    /// may be of either IP version. Holds the keys.
    pub text: Zeroizing<String>,
    /// Names of the associations whose suite Wireshark does not know.
    pub left_out: Vec<String>,
}

/// Writes the keys of all associations.
pub(super) fn keys(associations: &[Arc<Parameters>], secrets: &[Secrets]) -> WiresharkKeys {
    let mut keys = WiresharkKeys {
        text: Zeroizing::default(),
        left_out: Vec::new(),
    };
    // Grown once, so that no copy stays behind: a line has at most 350
    // characters beside its keys.
    let bytes = secrets
        .iter()
        .map(|secrets| 2 * (350 + 2 * secrets.key.len() + 2 * secrets.integrity_key.len()))
        .sum();
    keys.text.reserve(bytes);
    for (parameters, secrets) in associations.iter().zip(secrets) {
        let Some((encryption, authentication)) = names(parameters.suite) else {
            keys.left_out.push(parameters.name.clone());
            continue;
        };
        let any = || "*".to_owned();
        let ends = match parameters.mode {
            Mode::Transport => vec![("IPv4", any(), any()), ("IPv6", any(), any())],
            Mode::Tunnel(tunnel) => {
                let protocol = match tunnel.ends {
                    TunnelEnds::V4 { .. } => "IPv4",
                    TunnelEnds::V6 { .. } => "IPv6",
                };
                let (source, destination) = (tunnel.ends.source(), tunnel.ends.destination());
                vec![(protocol, source.to_string(), destination.to_string())]
            }
        };
        for (protocol, source, destination) in ends {
            let text = &mut keys.text;
            text.push_str(&format!(
                "\"{protocol}\",\"{source}\",\"{destination}\",\"0x{:08x}\",\"{encryption}\",",
                parameters.spi
            ));
            push_key(text, &secrets.key);
            text.push_str(&format!(",\"{authentication}\","));
            push_key(text, &secrets.integrity_key);
            text.push('\n');
        }
    }
    keys
}

fn push_key(text: &mut String, key: &[u8]) {
    text.push('"');
    if !key.is_empty() {
        text.push_str("0x");
    }
    for byte in key {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push('"');
}

/// Wireshark's names of a suite's parts.
fn names(suite: Suite) -> Option<(&'static str, &'static str)> {
    match suite {
        Suite::Aead(Aead::AesGcm16(_)) => Some(("AES-GCM with 16 octet ICV [RFC4106]", "NULL")),
        Suite::Aead(_) | Suite::Mac(_) => None,
        Suite::EncryptThenMac(cipher, mac) => {
            let encryption = match cipher {
                Cipher::Null => "NULL",
                Cipher::AesCbc(_) => "AES-CBC [RFC3602]",
                Cipher::AesCtr(_) => "AES-CTR [RFC3686]",
                Cipher::TripleDesCbc => "TripleDES-CBC [RFC2451]",
            };
            let authentication = match mac {
                Mac::HmacSha1_96 => "HMAC-SHA-1-96 [RFC2404]",
                Mac::HmacSha2_256_128 => "HMAC-SHA-256-128 [RFC4868]",
                Mac::HmacSha2_384_192 => "HMAC-SHA-384-192 [RFC4868]",
                Mac::HmacSha2_512_256 => "HMAC-SHA-512-256 [RFC4868]",
            };
            Some((encryption, authentication))
        }
    }
}

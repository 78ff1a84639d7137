//! Compiles the C peers that are here. Each is a system package that may be
//! missing: then its rows say so, and nothing else changes.

/// A library with a C header, and the file that calls it.
struct Peer {
    /// Name of the `cfg` that tells that it is here.
    cfg: &'static str,
    source: &'static str,
    /// Where the package puts its header; Cargo looks there for changes.
    header: &'static str,
    library: &'static str,
}

const PEERS: [Peer; 2] = [
    Peer {
        cfg: "ipsec_mb",
        source: "c/ipsec_mb.c",
        header: "/usr/include/intel-ipsec-mb.h",
        library: "IPSec_MB",
    },
    Peer {
        cfg: "openssl",
        source: "c/openssl.c",
        header: "/usr/include/openssl/evp.h",
        library: "crypto",
    },
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for peer in PEERS {
        println!("cargo::rustc-check-cfg=cfg({})", peer.cfg);
        println!("cargo::rerun-if-changed={}", peer.source);
        println!("cargo::rerun-if-changed={}", peer.header);
        let compiled = cc::Build::new()
            .file(peer.source)
            .std("c11")
            .cargo_warnings(false)
            .try_compile(&format!("weir_peers_{}", peer.cfg));
        if compiled.is_ok() {
            println!("cargo::rustc-cfg={}", peer.cfg);
            println!("cargo::rustc-link-lib={}", peer.library);
        }
    }
}

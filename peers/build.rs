//! Compiles the C peers that are here. Each is a system package that may be
//! missing: then its rows say so, and nothing else changes.

/// A library with a C header, and the files that call it.
struct Peer {
    /// Name of the `cfg` that tells that it is here.
    cfg: &'static str,
    sources: &'static [&'static str],
    /// Where the package puts its header; Cargo looks there for changes.
    header: &'static str,
    library: &'static str,
}

const PEERS: [Peer; 4] = [
    Peer {
        cfg: "hyperscan",
        sources: &["c/hyperscan.c"],
        header: "/usr/include/hs/hs.h",
        library: "hs",
    },
    Peer {
        cfg: "ipsec_mb",
        sources: &["c/ipsec_mb.c", "c/ipsec_mb_mac.c"],
        header: "/usr/include/intel-ipsec-mb.h",
        library: "IPSec_MB",
    },
    Peer {
        cfg: "openssl",
        sources: &["c/openssl.c", "c/openssl_mac.c"],
        header: "/usr/include/openssl/evp.h",
        library: "crypto",
    },
    Peer {
        cfg: "nettle",
        sources: &["c/nettle.c"],
        header: "/usr/include/nettle/umac.h",
        library: "nettle",
    },
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=c/mac.h");
    for peer in PEERS {
        println!("cargo::rustc-check-cfg=cfg({})", peer.cfg);
        for source in peer.sources {
            println!("cargo::rerun-if-changed={source}");
        }
        println!("cargo::rerun-if-changed={}", peer.header);
        let compiled = cc::Build::new()
            .files(peer.sources)
            .std("c11")
            .cargo_warnings(false)
            .try_compile(&format!("weir_peers_{}", peer.cfg));
        if compiled.is_ok() {
            println!("cargo::rustc-cfg={}", peer.cfg);
            println!("cargo::rustc-link-lib={}", peer.library);
        }
    }
}

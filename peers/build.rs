//! Compiles the C peers that are installed, and the prototypes in C. Peers are system
//! packages that may be missing, and a compiler may lack AVX-512: rows say so, and
//! nothing else changes.

/// A library with a C header, and the files that call it.
struct Peer {
    /// Name of the `cfg` that is set where it is installed.
    cfg: &'static str,
    sources: &'static [&'static str],
    /// Path of the package's header, which Cargo watches for changes.
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
    compile_prototypes();
}

const PROTOTYPES: [&str; 3] = ["c/gcm_lanes.c", "c/umac64_lanes.c", "c/umac128_lanes.c"];

/// Extensions that the prototypes use, or allow the compiler to use. Which of them
/// the processor has is checked when the program runs.
const EXTENSIONS: [&str; 9] = [
    "-mavx512f",
    "-mavx512bw",
    "-mavx512dq",
    "-mavx512vl",
    "-mavx512ifma",
    "-maes",
    "-mvaes",
    "-mvpclmulqdq",
    "-mbmi2",
];

/// Compiles the prototypes where the compiler has AVX-512. They are always optimised,
/// as prototypes of speed, for the first processors that have all of these extensions
/// and fast ones.
fn compile_prototypes() {
    println!("cargo::rustc-check-cfg=cfg(prototype)");
    for source in PROTOTYPES {
        println!("cargo::rerun-if-changed={source}");
    }
    println!("cargo::rerun-if-changed=c/lanes.h");
    println!("cargo::rerun-if-changed=c/umac_lanes.h");
    let target = std::env::var("CARGO_CFG_TARGET_ARCH");
    if target.as_deref() != Ok("x86_64") {
        return;
    }
    let mut build = cc::Build::new();
    build
        .files(PROTOTYPES)
        .std("c11")
        .opt_level(3)
        .cargo_warnings(false)
        .flag_if_supported("-mtune=sapphirerapids");
    for extension in EXTENSIONS {
        build.flag(extension);
    }
    if build.try_compile("weir_peers_prototype").is_ok() {
        println!("cargo::rustc-cfg=prototype");
    }
}

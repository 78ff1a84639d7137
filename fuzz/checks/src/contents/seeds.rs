//! Contents of every path of the engines, and payloads that hold them.

use crate::{Seed, seed};

/// Contents, parts of them, and runs.
pub const WORDS: &[&[u8]] = &[
    b"\n\n",
    b"\ni",
    b"\n-",
    b"aaaaaaaa",
    b"\0\0\0\0\0",
    b"  \0  ",
    b"abababab",
    b"GET /index",
    b"needle",
    b"NEEDLE",
    b"@`[{",
];

/// One input for each kind of content.
pub fn seeds() -> Vec<Seed> {
    let mut long = b"zz-across the end of a span\n-\0\0\0\0\0\0\n\n".to_vec();
    long.extend([b'.'; 32_760]);
    long.extend(b"across the end of a span");
    long.extend([0; 100]);
    let run = [b"@@-", [b'.'; 5_000].as_slice(), b"\n\n", &[b'.'; 5_100]].concat();
    vec![
        seed("empty", []),
        seed("no_payload", "@@-content\n\n"),
        seed(
            "words",
            "U\x02-needle\niHayStack\n-GET /\n\na neEdle, a needle in a hAYSTACK, GET /needle",
        ),
        seed(
            "short",
            b"\x80\x80-a\niB\n-ab\n-abc\niabcd\n-\0\n-\0\0\n\nxABCDabc b\0\0\0a",
        ),
        seed(
            "runs",
            "@@-aaaaa\niaaaaaaa\n-AAAAAA\n-     \n-\0\0\0\0\0\0\n-\0 \0 \0\n\naaaaAAAAAAa     \0\0\0\0\0\0 \0 \0",
        ),
        seed(
            "equal_grams",
            b"\xc0@-ababa\n-abababa\n-babababab\niABABABABAB\n-ababaBABA\n\nabababababaBABABAB",
        ),
        seed(
            "near_misses",
            b"@\x80-one content\n-one conten\n-ne content\n\none conteone contentone conten",
        ),
        seed("across_a_span", long),
        seed("long_run", run),
    ]
}

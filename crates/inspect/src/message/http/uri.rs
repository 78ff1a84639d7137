//! The normal form of a request's target.
//!
//! Of `http://host/a/%2e/b//c?x=%41`, it is `/a/b/c?x=A`: escapes are resolved
//! once; in the path, backslashes are slashes, slashes in a row are one, `.`
//! and `..` are resolved (RFC 3986, section 5.2.4).

/// Writes the normal form, and says whether there is one.
pub(super) fn write_normal(target: &[u8], out: &mut Vec<u8>) -> bool {
    let target = without_origin(target);
    let path_end = memchr::memchr2(b'?', b'#', target).unwrap_or(target.len());
    let (path, rest) = target.split_at(path_end);
    let start = out.len();
    for byte in resolved(path) {
        match byte {
            b'/' | b'\\' => {
                end_segment(out, start);
                if out[start..].last() != Some(&b'/') {
                    out.push(b'/');
                }
            }
            _ => out.push(byte),
        }
    }
    end_segment(out, start);
    out.extend(resolved(rest));
    !target.is_empty()
}

/// Bytes with their escapes (RFC 3986, section 2.1) resolved once; what is no
/// escape stays.
fn resolved(mut left: &[u8]) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let (first, after) = left.split_first()?;
        if let [b'%', high, low, after @ ..] = left
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            left = after;
            return Some(high << 4 | low);
        }
        left = after;
        Some(*first)
    })
}

/// Resolves a last segment of one dot or two.
fn end_segment(out: &mut Vec<u8>, start: usize) {
    match &out[start..] {
        [b'/', b'.'] | [.., b'/', b'.'] => {
            out.pop();
        }
        [b'/', b'.', b'.'] => out.truncate(start + 1),
        [before @ .., b'/', b'.', b'.'] => {
            let parent = memchr::memrchr(b'/', before).map_or(0, |slash| slash + 1);
            out.truncate(start + parent);
        }
        _ => {}
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|digit| digit as u8)
}

/// What follows `scheme://`.
fn after_scheme(target: &[u8]) -> Option<&[u8]> {
    let scheme_end = memchr::memmem::find(target, b"://")?;
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let is_absolute = scheme_end > 0 && target[..scheme_end].iter().all(is_scheme);
    is_absolute.then(|| &target[scheme_end + 3..])
}

fn without_origin(target: &[u8]) -> &[u8] {
    match after_scheme(target) {
        Some(rest) => {
            let path = rest
                .iter()
                .position(|byte| matches!(byte, b'/' | b'?' | b'#'));
            path.map_or(&[], |path| &rest[path..])
        }
        None => target,
    }
}

/// The host and port of an absolute target, without a user's name.
pub(super) fn authority(target: &[u8]) -> Option<&[u8]> {
    let rest = after_scheme(target)?;
    let end = rest
        .iter()
        .position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    let authority = &rest[..end.unwrap_or(rest.len())];
    let host = memchr::memrchr(b'@', authority).map_or(0, |at| at + 1);
    Some(&authority[host..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_one_normal_form() {
        let cases: &[(&str, &str)] = &[
            ("/", "/"),
            ("/a/b?c=%41&d=../e+%", "/a/b?c=A&d=../e+%"),
            ("/%61/./b//c/../d", "/a/b/d"),
            ("/a\\b%5cc", "/a/b/c"),
            ("/../../etc/passwd", "/etc/passwd"),
            ("/a/..", "/"),
            ("/a/.", "/a/"),
            ("/a..b/.c/", "/a..b/.c/"),
            ("/%zz%4", "/%zz%4"),
            ("/%2e%2e/x", "/x"),
            ("/%252e", "/%2e"),
            ("http://u@h.example:80/a", "/a"),
            ("*", "*"),
            ("host.example:443", "host.example:443"),
        ];
        for (target, normal) in cases {
            let mut out = b"kept".to_vec();
            assert!(write_normal(target.as_bytes(), &mut out));
            assert_eq!(String::from_utf8_lossy(&out[4..]), *normal, "{target}");
        }
        assert_eq!(
            authority(b"http://u@h.example:80/a"),
            Some(&b"h.example:80"[..])
        );
        assert_eq!(authority(b"/a?b=http://c"), None);
        assert!(!write_normal(b"", &mut Vec::new()));
    }
}

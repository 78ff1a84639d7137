//! The normal form of a request's target.
//!
//! Of `http://host/a/%2e/b//c?x=%41`, it is `/a/b/c?x=A`: escapes are resolved
//! once; in the path, backslashes are slashes, slashes in a row are one, `.`
//! and `..` are resolved (RFC 3986, section 5.2.4).
//!
//! Escapes such as `%u0041`, which IIS knows and other servers refuse, are resolved in the path.
//! Overlong UTF-8 stays as it is: servers other than old ones of IIS see other characters in it,
//! and no slash that ends a segment.

/// Writes the normal form, and says whether there is one.
pub(super) fn write_normal(target: &[u8], out: &mut Vec<u8>) -> bool {
    let target = without_origin(target);
    let path_end = memchr::memchr2(b'?', b'#', target).unwrap_or(target.len());
    let (path, rest) = target.split_at(path_end);
    let start = out.len();
    for byte in resolved(path, unicode) {
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
    out.extend(resolved(rest, |_| None));
    !target.is_empty()
}

/// The byte of an escape, and what follows it.
type Resolved<'a> = (u8, &'a [u8]);

/// Bytes with their escapes (RFC 3986, section 2.1) resolved once, and those that `others` knows:
/// it takes what follows a percent sign. What is no escape stays.
fn resolved(
    mut left: &[u8],
    others: fn(&[u8]) -> Option<Resolved<'_>>,
) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let (first, after) = left.split_first()?;
        if *first == b'%' {
            let escape = match after {
                [high, low, after @ ..] => hex(*high)
                    .zip(hex(*low))
                    .map(|(high, low)| (high << 4 | low, after)),
                _ => None,
            };
            if let Some((byte, after)) = escape.or_else(|| others(after)) {
                left = after;
                return Some(byte);
            }
        }
        left = after;
        Some(*first)
    })
}

/// `u` and four digits: a character of Unicode. IIS replaces those that a system of one byte per
/// character lacks by similar ones; of these, full-width forms and slashes are known here.
fn unicode(escape: &[u8]) -> Option<Resolved<'_>> {
    let [b'u' | b'U', digits @ ..] = escape else {
        return None;
    };
    let (digits, after) = digits.split_at_checked(4)?;
    let shift = |code: u16, digit: &u8| Some(code << 4 | u16::from(hex(*digit)?));
    let byte = match digits.iter().try_fold(0, shift)? {
        code @ ..0x80 => code as u8,
        code @ 0xff01..=0xff5e => (code - 0xfee0) as u8,
        0x2044 | 0x2215 | 0x2216 => b'/',
        _ => b'?',
    };
    Some((byte, after))
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
            ("/%u0041%U0042%u002fc%u005Cd?%u0041", "/AB/c/d?%u0041"),
            ("/a%u2215..%uff0f%uff42%u00e9", "/b?"),
            ("/%u00", "/%u00"),
            ("/%u00zz", "/%u00zz"),
            ("/%u", "/%u"),
            ("/a/%c0%af../..", "/a/"),
            ("http://u@h.example:80/a", "/a"),
            ("*", "*"),
            ("host.example:443", "host.example:443"),
        ];
        for (target, normal) in cases {
            let mut out = b"kept".to_vec();
            assert!(write_normal(target.as_bytes(), &mut out));
            assert_eq!(out[4..].escape_ascii().to_string(), *normal, "{target}");
        }
        assert_eq!(
            authority(b"http://u@h.example:80/a"),
            Some(&b"h.example:80"[..])
        );
        assert_eq!(authority(b"/a?b=http://c"), None);
        assert!(!write_normal(b"", &mut Vec::new()));
    }
}

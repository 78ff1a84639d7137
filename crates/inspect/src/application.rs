//! Application protocols that are recognised.

/// Protocols that a rule's header can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AppProtocol {
    /// HTTP/1 (RFC 9112), and HTTP/2 without TLS by its preface (RFC 9113).
    Http,
    /// TLS and SSL from version 2 on (RFC 8446, section 5.1).
    Tls,
    /// DNS (RFC 1035) over UDP and TCP, its multicast kin included.
    Dns,
    /// SSH (RFC 4253, section 4.2).
    Ssh,
    /// SMTP (RFC 5321).
    Smtp,
    /// FTP control connections (RFC 959).
    Ftp,
    /// SMB 1 to 3 over TCP.
    Smb,
}

impl AppProtocol {
    /// Its name in rules and logs.
    pub fn name(self) -> &'static str {
        match self {
            AppProtocol::Http => "http",
            AppProtocol::Tls => "tls",
            AppProtocol::Dns => "dns",
            AppProtocol::Ssh => "ssh",
            AppProtocol::Smtp => "smtp",
            AppProtocol::Ftp => "ftp",
            AppProtocol::Smb => "smb",
        }
    }
}

//! Clients and servers of rustls that agree on one cipher suite. The server is known by its raw
//! public key (RFC 7250), so that no certificate is needed.

use std::sync::{Arc, Mutex};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::Ed25519KeyPair;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs as provider,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::{
    CipherSuite, ClientConfig, DigitallySignedStruct, Error, KeyLog, ServerConfig, SignatureScheme,
    version,
};

/// The suites of TLS 1.3 that QUIC has too, and their names in Weir.
pub const SUITES: [(CipherSuite, &str); 3] = [
    (CipherSuite::TLS13_AES_128_GCM_SHA256, "aes-128-gcm-16"),
    (CipherSuite::TLS13_AES_256_GCM_SHA384, "aes-256-gcm-16"),
    (
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        "chacha20-poly1305",
    ),
];

/// The traffic secrets of a connection, by their labels in key logs.
#[derive(Debug, Default)]
pub struct Secrets(Mutex<Vec<(String, Vec<u8>)>>);

impl Secrets {
    pub fn of(&self, label: &str) -> Vec<u8> {
        let secrets = self.0.lock().expect("no panics");
        let secret = secrets.iter().find(|(name, _)| name == label);
        secret.expect("a secret").1.clone()
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, _: &[u8], secret: &[u8]) {
        let mut secrets = self.0.lock().expect("no panics");
        secrets.push((label.to_owned(), secret.to_vec()));
    }
}

/// Configurations of a client and a server that know `suite` alone; the client logs secrets.
pub fn configs(suite: CipherSuite) -> (Arc<ClientConfig>, Arc<ServerConfig>, Arc<Secrets>) {
    let mut provider = provider::default_provider();
    provider
        .cipher_suites
        .retain(|known| known.suite() == suite);
    let provider = Arc::new(provider);

    let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
    let key = PrivatePkcs8KeyDer::from(key.as_ref().to_vec());
    let key = provider
        .key_provider
        .load_private_key(key.into())
        .expect("a key");
    let public_key = key.public_key().expect("a public key").to_vec();
    let known = CertificateDer::from(public_key);
    let certified = CertifiedKey::new(vec![known.clone()], key);
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::new(
            certified,
        ))));
    server.enable_secret_extraction = true;

    let algorithms = provider.signature_verification_algorithms;
    let mut client = ClientConfig::builder_with_provider(provider as Arc<CryptoProvider>)
        .with_protocol_versions(&[&version::TLS13])
        .expect("TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(KnownKey { known, algorithms }))
        .with_no_client_auth();
    client.enable_secret_extraction = true;
    let secrets = Arc::new(Secrets::default());
    client.key_log = secrets.clone();
    (Arc::new(client), Arc::new(server), secrets)
}

pub fn server_name() -> ServerName<'static> {
    ServerName::try_from("weir.test").expect("a name")
}

/// Trusts one public key.
#[derive(Debug)]
struct KnownKey {
    known: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for KnownKey {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match *end_entity == self.known {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(Error::General("an unknown key".to_owned())),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not offered".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(cert.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

//! Clients that behave, and clients that do not.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use weir_processes::Folder;

use super::*;
use crate::{Config, Gateway, Options};

const CONFIG: &str = "
    [input]
    pcap = \"traffic.pcapng\"
    [pipeline]
    stages = [\"filter\", \"inspect\"]
    [inspect]
    rules = \"my.rules\"
    [filter]
    default = \"allow\"
";

/// A gateway that is not started, and its socket.
struct Served {
    folder: Folder,
    socket: ControlSocket,
    _gateway: Gateway,
}

impl Served {
    fn new() -> Served {
        let folder = Folder::new();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        for (name, of) in [
            ("traffic.pcapng", "traffic.pcapng"),
            ("example.rules", "my.rules"),
        ] {
            std::fs::copy(examples.join(name), folder.path(of)).expect("a copy");
        }
        let path = folder.write("weir.toml", CONFIG);
        let config = Config::load(path.as_ref()).expect("a configuration");
        let gateway = Gateway::from_config(config, &Options::default()).expect("a gateway");
        let socket = ControlSocket::serve(&folder.path("control"), gateway.handle());
        Served {
            socket: socket.expect("a socket"),
            folder,
            _gateway: gateway,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path("control")
    }

    fn client(&self) -> ControlClient {
        ControlClient::connect(&self.path()).expect("connected")
    }
}

fn line(reader: &mut impl BufRead) -> Value {
    let mut text = String::new();
    reader.read_line(&mut text).expect("a line");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_client_asks_as_often_as_it_likes() {
    let served = Served::new();
    let mode = served.path().metadata().expect("a socket").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let mut client = served.client();
    for generation in 1..=3 {
        let reloaded = client.request(&Request::Reload {}).expect("reloaded");
        assert_eq!(reloaded["generation"], generation);
        assert_eq!(reloaded["rules"]["loaded"], 20);
        assert_eq!(reloaded["filter_rules"], 0);
        let status = client.request(&Request::Status {}).expect("a status");
        assert_eq!(status["generation"], generation);
        assert_eq!(status["inspection"]["rules"], 20);
        assert_eq!(status["pipelines"][0], "main");
    }
    let path = served.path();
    let again = ControlSocket::serve(&path, served._gateway.handle());
    let error = again.err().expect("it is served already").to_string();
    assert!(error.contains("another gateway serves it"), "{error}");
    drop(served.socket);
    assert!(!path.exists());
}

#[test]
fn a_wrong_configuration_changes_nothing() {
    let served = Served::new();
    let mut client = served.client();
    let cases = [
        (
            CONFIG.replace("my.rules", "no.rules"),
            "cannot read the rules",
        ),
        (CONFIG.replace("allow", "maybe"), "unknown value \"maybe\""),
        (
            CONFIG.replace("[\"filter\", \"inspect\"]", "\"filter\""),
            "pipeline has changed: only [filter], the rules of [inspect]",
        ),
        ("[".to_owned(), "weir.toml:1"),
    ];
    for (text, expected) in cases {
        served.folder.write("weir.toml", &text);
        let error = client
            .request(&Request::Reload {})
            .expect_err("a wrong file");
        assert!(error.to_string().contains(expected), "{error}");
        let status = client.request(&Request::Status {}).expect("a status");
        assert_eq!(status["generation"], 0);
    }
    let rule = "[[filter.rule]]\naction = \"deny\"\nprotocol = \"udp\"\n";
    served.folder.write("weir.toml", format!("{CONFIG}{rule}"));
    let reloaded = client.request(&Request::Reload {}).expect("reloaded");
    assert_eq!(reloaded["filter_rules"], 1);
}

#[test]
fn what_is_no_request_gets_an_error() {
    let served = Served::new();
    let mut stream = UnixStream::connect(served.path()).expect("connected");
    let mut reader = BufReader::new(stream.try_clone().expect("a copy"));
    for garbage in [
        &b"\n"[..],
        b"\xff\x00\xfe\n",
        b"{\"command\":\"dance\"}\n",
        b"{\"command\":\"status\",\"more\":1}\n",
        b"[[[[[[[[\n",
    ] {
        stream.write_all(garbage).expect("sent");
        let response = line(&mut reader);
        let error = response["error"].as_str().expect("an error");
        assert!(error.starts_with("not a request"), "{error}");
    }
    // Two at once, and one in parts.
    stream
        .write_all(b"{\"command\":\"status\"}\n{\"command\":")
        .expect("sent");
    assert_eq!(line(&mut reader)["result"]["packets"], 0);
    stream.write_all(b"\"status\"}\n").expect("sent");
    assert_eq!(line(&mut reader)["result"]["packets"], 0);
    // One that does not end.
    stream
        .write_all(&vec![b'x'; MAX_REQUEST_BYTES])
        .expect("sent");
    let error = line(&mut reader)["error"].to_string();
    assert!(error.contains("more than 64 KiB"), "{error}");
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest);
    assert!(rest.is_empty());
}

#[test]
fn a_thousand_clients_get_a_response_or_a_refusal() {
    let served = Served::new();
    // They are silent until all are there.
    let held: Vec<_> = (0..MOST_CLIENTS).map(|_| served.client()).collect();
    let path = served.path();
    let refused: usize = thread::scope(|scope| {
        let crowd: Vec<_> = (0..8)
            .map(|_| {
                let path = &path;
                scope.spawn(move || {
                    let refused = (0..125).filter(|_| {
                        let mut client = ControlClient::connect(path).expect("connected");
                        let error = client.request(&Request::Status {}).expect_err("refused");
                        assert!(error.to_string().contains("too many clients"), "{error}");
                        true
                    });
                    refused.count()
                })
            })
            .collect();
        crowd
            .into_iter()
            .map(|one| one.join().expect("counted"))
            .sum()
    });
    assert_eq!(refused, 1000);
    // Those that were there first are served still, and make room when they go.
    for mut client in held {
        client.request(&Request::Status {}).expect("a status");
    }
    let is_served = || served.client().request(&Request::Status {}).ok();
    weir_processes::until(is_served);
}

#[test]
fn a_text_behind_a_request_is_taken_or_refused() {
    let served = Served::new();
    let mut client = served.client();
    let add = |text_bytes: usize| {
        Request::SaAdd(AddSa {
            text_bytes,
            ..AddSa::default()
        })
    };
    // This gateway reads captures. The text is taken all the same, and the next request found.
    let list = client.request(&Request::SaList {});
    let error = list.expect_err("no associations").to_string();
    assert!(error.contains("no live pipeline"), "{error}");
    for bytes in [0, 1, PART_BYTES, 3 * MAX_REQUEST_BYTES] {
        let text = vec![b'\n'; bytes];
        let added = client.request_with(&add(bytes), &text);
        let error = added.expect_err("no associations").to_string();
        assert!(error.contains("no live pipeline"), "{error}");
        client.request(&Request::Status {}).expect("a status");
    }
    let no_text = client.request_with(&add(2), b"\xff\xfe");
    let error = no_text.expect_err("no text").to_string();
    assert!(error.contains("not a text"), "{error}");
    client.request(&Request::Status {}).expect("a status");
    let too_long = client.request(&add(MAX_TEXT_BYTES + 1));
    let error = too_long.expect_err("too long").to_string();
    assert!(error.contains("more than 1 MiB"), "{error}");

    // One that is cut off.
    let mut stream = UnixStream::connect(served.path()).expect("connected");
    let request = serde_json::to_string(&add(100)).expect("JSON");
    stream
        .write_all(format!("{request}\nhalf").as_bytes())
        .expect("sent");
    shutdown(&stream, Shutdown::Write).expect("the end");
    let mut reader = BufReader::new(stream);
    let error = line(&mut reader)["error"].to_string();
    assert!(error.contains("shorter than the request says"), "{error}");
}

//! Network namespaces and the virtual cables in and between them.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A network namespace; it is deleted when dropped, with the interfaces in it.
pub struct Namespace {
    name: String,
}

/// A pair of connected interfaces (veth).
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// Queues of each end, in each direction.
    pub queues: u32,
}

impl Default for Cable {
    /// One queue.
    fn default() -> Cable {
        Cable { queues: 1 }
    }
}

/// Runs a test in a thread inside a new namespace with a cable between the interfaces `a` and
/// `b`, or says why it is skipped.
///
/// # Panics
/// As the test; and where a namespace is required and there is none.
pub fn inside(cable: Cable, test: impl FnOnce(&Namespace) + Send) {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(reason) => {
            let required = std::env::var("WEIR_REQUIRE_PEERS").is_ok_and(|value| value == "1");
            assert!(!required, "required, but there are no namespaces: {reason}");
            println!("skipped: there are no network namespaces: {reason}");
            return;
        }
    };
    namespace.enter(|| {
        namespace.add_cable(cable);
        test(&namespace);
    });
}

impl Namespace {
    /// A namespace with nothing in it, and without IPv6, so that there are no packets but those
    /// of the test.
    ///
    /// # Errors
    /// Why there is none: no right to make it, or no program `ip`.
    pub fn new() -> Result<Namespace, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-test-{}-{number}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).output();
        match made {
            Ok(output) if output.status.success() => {}
            Ok(output) => return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => return Err(format!("ip: {error}")),
        }
        let namespace = Namespace { name };
        namespace.set("net/ipv6/conf/default/disable_ipv6", "1");
        Ok(namespace)
    }

    /// Its name, for `ip netns exec`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs something in a thread inside the namespace, which what it opens belongs to.
    ///
    /// # Panics
    /// As what is run.
    pub fn enter<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        // A thread of its own: a namespace is a thread's.
        let entered = || {
            move_into(&self.name);
            run()
        };
        thread::scope(|scope| match scope.spawn(entered).join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }

    /// Sets a value below `/proc/sys` of the namespace.
    ///
    /// # Panics
    /// There is no such value.
    pub fn set(&self, path: &str, value: &str) {
        self.enter(|| std::fs::write(format!("/proc/sys/{path}"), value).expect("a value is set"));
    }

    /// A program to be started inside the namespace.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// `ip` with arguments, in the namespace: what it prints.
    ///
    /// # Panics
    /// It fails.
    pub fn ip(&self, arguments: &str) -> String {
        let output = Command::new("ip")
            .args(["-n", &self.name])
            .args(arguments.split(' '))
            .output()
            .expect("ip runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ip {arguments}: {error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Connects two new interfaces of the namespace, `a` and `b`, and switches them on.
    ///
    /// # Panics
    /// They exist.
    pub fn add_cable(&self, cable: Cable) {
        cable.connect((self, "a"), (self, "b"));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let deleted = Command::new("ip")
            .args(["netns", "delete", &self.name])
            .status();
        if !deleted.is_ok_and(|status| status.success()) {
            println!("the network namespace {} is left behind", self.name);
        }
    }
}

impl Cable {
    /// Connects new interfaces of two namespaces, switches them on, and waits for the carrier.
    ///
    /// # Panics
    /// They exist.
    pub fn connect(self, one: (&Namespace, &str), other: (&Namespace, &str)) {
        let queues = format!("numrxqueues {0} numtxqueues {0}", self.queues);
        one.0.ip(&format!(
            "link add name {} {queues} type veth peer name {} netns {} {queues}",
            one.1, other.1, other.0.name
        ));
        for (namespace, name) in [one, other] {
            namespace.ip(&format!("link set dev {name} up"));
        }
        // The kernel notices some time later that each end has a carrier.
        for (namespace, name) in [one, other] {
            let show = format!("-o link show dev {name}");
            until(|| namespace.ip(&show).contains("state UP"));
        }
    }
}

/// Moves the calling thread into a namespace.
fn move_into(name: &str) {
    let file = File::open(format!("/run/netns/{name}")).expect("a namespace");
    let network = Some(LinkNameSpaceType::Network);
    move_into_link_name_space(file.as_fd(), network).expect("moved into it");
}

/// Repeats until it is true.
///
/// # Panics
/// It is not within a minute: what is waited for will not come.
pub fn until(mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "not within a minute"
        );
    }
}

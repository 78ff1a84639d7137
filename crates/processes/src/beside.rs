//! Commands that run beside a test.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::said::Said;

/// A command that runs beside the test; killed when dropped.
pub struct Beside(Option<Child>);

impl Beside {
    /// Starts a command without standard input.
    pub fn start(mut command: Command) -> Beside {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Beside(Some(child.expect("the program starts")))
    }

    /// The process.
    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("not waited for yet")
    }

    /// Sends it a signal.
    pub fn signal(&mut self, signal: Signal) {
        let pid = Pid::from_child(self.child());
        kill_process(pid, signal).expect("signalled");
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Said {
        Said::of(self.0.take().expect("not waited for yet"))
    }

    /// Ends it at once.
    pub fn kill(mut self) -> ExitStatus {
        self.signal(Signal::KILL);
        let mut child = self.0.take().expect("not waited for yet");
        child.wait().expect("it ends")
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Looks again and again until something is there. The limit is for a defect
/// only: nothing depends on how long it takes.
#[track_caller]
pub fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "waited in vain");
        thread::sleep(Duration::from_millis(20));
    }
}

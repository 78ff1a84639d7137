//! Mailboxes: commands for stages that run.
//!
//! The owner of a pipeline posts commands to the stages of one kind, and every instance of
//! the stage takes them between two batches, all in the same order. Commands have numbers, the
//! *generations*: what a stage does after it took a command, it does under its generation. An
//! instance that has nothing to take finds that out by one relaxed load.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The end to which commands are posted. Clones post to the same mailboxes.
///
/// ```
/// use weir_stream::Commands;
///
/// let commands = Commands::new(4);
/// let (mut first, mut second) = (commands.subscribe(), commands.subscribe());
/// let generation = commands.post("block 192.0.2.1").expect("space");
///
/// assert_eq!(first.take(), Some("block 192.0.2.1"));
/// assert_eq!((first.take(), first.generation()), (None, generation));
/// assert_eq!(commands.adopted(), 0, "the second has not taken it yet");
/// while second.take().is_some() {}
/// assert_eq!(commands.adopted(), generation);
/// ```
#[derive(Debug)]
pub struct Commands<C> {
    shared: Arc<Shared<C>>,
}

/// The end from which one instance of a stage takes commands.
#[derive(Debug)]
pub struct Mailbox<C> {
    shared: Arc<Shared<C>>,
    /// The last command that was taken.
    generation: u64,
    /// The last one whose effects are complete.
    adopted: Arc<AtomicU64>,
}

/// The commands that were not taken yet are as many as there may be: an instance has stopped
/// taking them, or they are posted faster than batches pass. The command comes back.
#[derive(Debug, thiserror::Error)]
#[error("the stages have not taken the commands so far: try again")]
pub struct MailboxFull<C>(pub C);

#[derive(Debug)]
struct Shared<C> {
    /// Of the last command.
    latest: AtomicU64,
    /// Without a bound, a command takes the place of those before it.
    capacity: Option<usize>,
    posted: Mutex<Posted<C>>,
}

#[derive(Debug)]
struct Posted<C> {
    /// The last commands, the last one of the generation `latest`.
    commands: VecDeque<C>,
    /// What each instance that is still there has adopted.
    instances: Vec<Weak<AtomicU64>>,
}

impl<C> Posted<C> {
    /// The least generation that all instances have adopted; `latest` where there are none.
    fn adopted(&mut self, latest: u64) -> u64 {
        self.instances
            .retain(|instance| instance.strong_count() > 0);
        let instances = self.instances.iter().filter_map(Weak::upgrade);
        let adopted = instances.map(|adopted| adopted.load(Ordering::Acquire));
        adopted.min().unwrap_or(latest)
    }
}

impl<C> Shared<C> {
    fn lock(&self) -> MutexGuard<'_, Posted<C>> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Clone> Commands<C> {
    /// Mailboxes that keep up to `capacity` commands until all instances have taken them.
    pub fn new(capacity: usize) -> Commands<C> {
        Commands::with_capacity(Some(capacity.max(1)))
    }

    /// Mailboxes of commands that say a whole state, such as all rules: each takes the place of
    /// those before it that were not taken, and there is always space.
    pub fn of_states() -> Commands<C> {
        Commands::with_capacity(None)
    }

    fn with_capacity(capacity: Option<usize>) -> Commands<C> {
        Commands {
            shared: Arc::new(Shared {
                latest: AtomicU64::new(0),
                capacity,
                posted: Mutex::new(Posted {
                    commands: VecDeque::new(),
                    instances: Vec::new(),
                }),
            }),
        }
    }

    /// Posts a command to all instances, and returns its generation, from 1 on.
    ///
    /// # Errors
    /// There is no space for it.
    pub fn post(&self, command: C) -> Result<u64, MailboxFull<C>> {
        let mut posted = self.shared.lock();
        let latest = self.shared.latest.load(Ordering::Relaxed);
        let waiting = match self.shared.capacity {
            Some(capacity) => {
                let waiting = (latest - posted.adopted(latest)) as usize;
                if waiting >= capacity {
                    return Err(MailboxFull(command));
                }
                waiting
            }
            None => 0,
        };
        let adopted = posted.commands.len().saturating_sub(waiting);
        posted.commands.drain(..adopted);
        posted.commands.push_back(command);
        self.shared.latest.store(latest + 1, Ordering::Relaxed);
        Ok(latest + 1)
    }

    /// The mailbox of another instance: it gets what is posted from now on. An instance that
    /// begins with the state at some moment subscribes first and reads the state then, so
    /// that it misses nothing; it may get a command whose effect it has read.
    pub fn subscribe(&self) -> Mailbox<C> {
        let mut posted = self.shared.lock();
        let generation = self.shared.latest.load(Ordering::Relaxed);
        let adopted = Arc::new(AtomicU64::new(generation));
        posted.instances.push(Arc::downgrade(&adopted));
        Mailbox {
            shared: Arc::clone(&self.shared),
            generation,
            adopted,
        }
    }

    /// The generation of the last command, 0 before the first.
    pub fn latest(&self) -> u64 {
        self.shared.latest.load(Ordering::Relaxed)
    }

    /// The generation up to which all instances have taken the commands and done what they say.
    pub fn adopted(&self) -> u64 {
        self.shared.lock().adopted(self.latest())
    }
}

impl<C> Clone for Commands<C> {
    fn clone(&self) -> Commands<C> {
        Commands {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<C: Clone> Mailbox<C> {
    /// The next command. A stage takes all there are at the beginning of a batch, until `None`,
    /// which says that it has done what they say.
    #[inline]
    pub fn take(&mut self) -> Option<C> {
        if self.shared.latest.load(Ordering::Relaxed) == self.generation {
            if self.adopted.load(Ordering::Relaxed) != self.generation {
                self.adopted.store(self.generation, Ordering::Release);
            }
            return None;
        }
        self.take_posted()
    }

    #[cold]
    fn take_posted(&mut self) -> Option<C> {
        let posted = self.shared.lock();
        let latest = self.shared.latest.load(Ordering::Relaxed);
        let behind = (latest - self.generation) as usize;
        // A command leaves the list when all instances have adopted it, or when another one has
        // taken its place.
        let kept = posted.commands.len();
        let at = kept.saturating_sub(behind);
        let command = posted.commands.get(at).cloned();
        self.generation = latest + 1 - (kept - at) as u64;
        command
    }

    /// The generation of the last command that was taken: that under which batches are
    /// processed.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_full_mailbox_gives_the_command_back() {
        let commands = Commands::new(2);
        let mut mailbox = commands.subscribe();
        assert_eq!(commands.post('a').expect("space"), 1);
        assert_eq!(commands.post('b').expect("space"), 2);
        assert_eq!(commands.post('c').expect_err("full").0, 'c');
        assert_eq!(mailbox.take(), Some('a'));
        // It is taken, but not done.
        assert_eq!(commands.adopted(), 0);
        assert_eq!((mailbox.take(), mailbox.take()), (Some('b'), None));
        assert_eq!(commands.adopted(), 2);
        assert_eq!(commands.post('c').expect("space"), 3);
        assert_eq!((mailbox.take(), mailbox.generation()), (Some('c'), 3));
    }

    #[test]
    fn a_state_takes_the_place_of_those_before_it() {
        let commands = Commands::of_states();
        let (mut first, mut second) = (commands.subscribe(), commands.subscribe());
        commands.post('a').expect("space");
        assert_eq!((first.take(), first.generation()), (Some('a'), 1));
        commands.post('b').expect("space");
        commands.post('c').expect("space");
        assert_eq!((first.take(), first.generation()), (Some('c'), 3));
        assert_eq!((second.take(), second.generation()), (Some('c'), 3));
        assert_eq!((first.take(), second.take()), (None, None));
        assert_eq!(commands.adopted(), 3);
    }

    #[test]
    fn instances_come_and_go() {
        let commands = Commands::new(1);
        // Nobody is there: nothing waits for anybody.
        assert_eq!(commands.post(1).expect("space"), 1);
        assert_eq!(commands.post(2).expect("space"), 2);
        let gone = commands.subscribe();
        let mut late = commands.subscribe();
        assert_eq!((late.take(), late.generation()), (None, 2));
        assert_eq!(commands.post(3).expect("space"), 3);
        assert_eq!((late.take(), late.take()), (Some(3), None));
        assert_eq!(commands.adopted(), 2);
        commands
            .post(4)
            .expect_err("one instance has taken nothing");
        drop(gone);
        assert_eq!(commands.adopted(), 3);
        commands.post(4).expect("space");
    }

    #[test]
    fn every_instance_takes_every_command_in_order() {
        const COMMANDS: u64 = 2_000;
        let commands = Commands::new(8);
        let mailboxes: Vec<_> = (0..3).map(|_| commands.subscribe()).collect();
        thread::scope(|scope| {
            for mut mailbox in mailboxes {
                scope.spawn(move || {
                    let mut last = 0;
                    while last < COMMANDS {
                        while let Some(command) = mailbox.take() {
                            assert_eq!(command, last + 1);
                            assert_eq!(mailbox.generation(), command);
                            last = command;
                        }
                        thread::yield_now();
                    }
                });
            }
            for command in 1..=COMMANDS {
                while commands.post(command).is_err() {
                    thread::yield_now();
                }
            }
        });
        assert_eq!(commands.latest(), COMMANDS);
    }
}

//! Associations that are listed, added and removed one by one.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use weir_ledger::NewKeys;

use super::{ReplaceError, Replaced, Running};
use crate::report::{AssociationReport, Retired};
use crate::sa::{Parameters, SaDirection};

/// An association that is in force.
#[derive(Clone, Debug)]
pub struct Present {
    /// Its parameters.
    pub parameters: Arc<Parameters>,
    /// What it did; `None` where no stage has it, since no policy or no pipeline needs it, and
    /// where its worker stands still. An association that follows another one of its name goes on
    /// with that one's counts.
    pub report: Option<AssociationReport>,
}

/// Which association is meant: the one that has all of this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// Its name.
    pub name: Option<String>,
    /// Its SPI.
    pub spi: Option<u32>,
    /// Its direction.
    pub direction: Option<SaDirection>,
}

impl Which {
    fn has(&self, parameters: &Parameters) -> bool {
        (self.name.as_ref()).is_none_or(|name| *name == parameters.name)
            && self.spi.is_none_or(|spi| spi == parameters.spi)
            && (self.direction).is_none_or(|direction| Some(direction) == parameters.direction)
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = self.direction.map(|direction| match direction {
            SaDirection::Outbound => "direction outbound".to_owned(),
            SaDirection::Inbound => "direction inbound".to_owned(),
        });
        let name = self.name.as_ref().map(|name| format!("name {name:?}"));
        let spi = self.spi.map(|spi| format!("SPI {spi:#x}"));
        let parts: Vec<String> = [name, spi, direction].into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

impl Running {
    /// The associations in force and what they did, in the order of the SA file.
    pub fn list(&self) -> Vec<Present> {
        let in_force: Vec<(u32, Arc<Parameters>)> = {
            let present = self.lock();
            let slots = present.file.slots.by_place().iter().copied();
            slots.zip(present.file.associations().to_vec()).collect()
        };
        let mut by_name: HashMap<String, Vec<AssociationReport>> = HashMap::new();
        for report in self.reports_of_stages() {
            let name = report.parameters.name.clone();
            by_name.entry(name).or_default().push(report);
        }
        let in_force = in_force.into_iter();
        in_force
            .map(|(slot, parameters)| {
                let mut reports = by_name.remove(&parameters.name).unwrap_or_default();
                // The one in force comes last, so that the number is its own.
                reports.sort_by_key(|report| report.association == slot);
                let is_known = (reports.last()).is_some_and(|last| last.association == slot);
                let all = Retired::default().with(reports.into_iter().filter(|_| is_known));
                Present {
                    parameters,
                    report: all.into_iter().next(),
                }
            })
            .collect()
    }

    /// How many associations are in force, and how often some were added or removed since the SA
    /// file was read. `None` while they are being changed.
    pub fn extent(&self) -> Option<(usize, u64)> {
        let present = self.try_lock().ok()?;
        Some((present.file.associations().len(), present.edits))
    }

    /// Adds the associations and policies of a text in the form of an SA file, which has no
    /// settings and names no files, to those in force, in the way that
    /// [`replace`](Running::replace) does. `path` is for messages, `new_keys` are those that the
    /// ledger may learn by it. Returns what a person should know too.
    ///
    /// # Errors
    /// Why they cannot be; nothing has changed.
    pub fn add(
        &self,
        path: &Path,
        text: &str,
        new_keys: NewKeys,
    ) -> Result<(Replaced, Vec<String>), ReplaceError> {
        let mut present = self.try_lock()?;
        let file = present.file.with_added(path, text)?;
        file.require_directions()?;
        let warnings = file.warnings().to_vec();
        let replaced = self.put(&mut present, file, new_keys, |switch| switch())?;
        present.edits += 1;
        Ok((replaced, warnings))
    }

    /// Removes one association, in the same way. Policies that named it alone stay, and drop what
    /// they match until another one is added for them.
    ///
    /// # Errors
    /// Why it cannot be; nothing has changed.
    pub fn remove(&self, which: &Which) -> Result<(Arc<Parameters>, Replaced), ReplaceError> {
        let mut present = self.try_lock()?;
        let associations = (0..).zip(present.file.associations());
        let meant: Vec<(u32, Arc<Parameters>)> = associations
            .filter(|(_, parameters)| which.has(parameters))
            .map(|(place, parameters)| (place, Arc::clone(parameters)))
            .collect();
        let (place, parameters) = match meant.as_slice() {
            [] => return Err(ReplaceError::Absent(which.clone())),
            [one] => one.clone(),
            several => {
                let names = several.iter().take(10);
                let names: Vec<&str> = names.map(|(_, one)| one.name.as_str()).collect();
                let (which, names) = (which.clone(), names.join(", "));
                return Err(ReplaceError::Ambiguous(which, names));
            }
        };
        let file = present.file.without(place);
        let replaced = self.put(&mut present, file, NewKeys::NONE, |switch| switch())?;
        present.edits += 1;
        Ok((parameters, replaced))
    }
}

//! Variables of rule headers: `$HOME_NET` and its kin.

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;

use weir_select::{AddressSet, PortSet, SetError};

use super::fault::FaultKind;

/// Longest list, in bytes, once its variables are filled in.
pub(super) const MAX_LIST_BYTES: usize = 1 << 20;

/// Variables in variables in variables: each level is a list in a list, of
/// which the reader of sets takes no more.
const MAX_NESTING: usize = 16;

/// Values that rules expect to be set, as in Suricata's `suricata.yaml`; then
/// those that only Snort's `snort.conf` has.
const DEFAULTS: &[(&str, &str)] = &[
    ("HOME_NET", "[192.168.0.0/16,10.0.0.0/8,172.16.0.0/12]"),
    ("EXTERNAL_NET", "!$HOME_NET"),
    ("HTTP_SERVERS", "$HOME_NET"),
    ("SMTP_SERVERS", "$HOME_NET"),
    ("SQL_SERVERS", "$HOME_NET"),
    ("DNS_SERVERS", "$HOME_NET"),
    ("TELNET_SERVERS", "$HOME_NET"),
    ("AIM_SERVERS", "$EXTERNAL_NET"),
    ("DC_SERVERS", "$HOME_NET"),
    ("DNP3_SERVER", "$HOME_NET"),
    ("DNP3_CLIENT", "$HOME_NET"),
    ("MODBUS_CLIENT", "$HOME_NET"),
    ("MODBUS_SERVER", "$HOME_NET"),
    ("ENIP_CLIENT", "$HOME_NET"),
    ("ENIP_SERVER", "$HOME_NET"),
    ("HTTP_PORTS", "80"),
    ("SHELLCODE_PORTS", "!80"),
    ("ORACLE_PORTS", "1521"),
    ("SSH_PORTS", "22"),
    ("DNP3_PORTS", "20000"),
    ("MODBUS_PORTS", "502"),
    ("FILE_DATA_PORTS", "[$HTTP_PORTS,110,143]"),
    ("FTP_PORTS", "21"),
    ("GENEVE_PORTS", "6081"),
    ("VXLAN_PORTS", "4789"),
    ("TEREDO_PORTS", "3544"),
    ("SIP_PORTS", "[5060,5061]"),
    ("FTP_SERVERS", "$HOME_NET"),
    ("SSH_SERVERS", "$HOME_NET"),
    ("SIP_SERVERS", "$HOME_NET"),
];

/// Values of the variables that rules use in place of addresses and ports.
///
/// A value is what could stand in a rule: an address, a prefix, a port, a
/// range, `any`, another variable, a list in brackets with exclusions. It is
/// read where it is used, so that the order of definitions does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

/// Why a definition is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    /// Not of the form `NAME=value`.
    #[error("{0:?} is not of the form NAME=value, as in HOME_NET=[10.0.0.0/8,fd00::/8]")]
    Form(String),
    /// The value is neither a list of addresses nor a list of ports.
    #[error("{name}={value} is neither a list of addresses ({address}) nor of ports ({port})")]
    Value {
        /// The variable.
        name: String,
        /// Its value.
        value: String,
        /// Why it is not a list of addresses.
        address: String,
        /// Why it is not a list of ports.
        port: String,
    },
}

impl Default for Variables {
    /// The values of Suricata's `suricata.yaml`: `HOME_NET` is the private
    /// IPv4 networks, `EXTERNAL_NET` all that is not in it, server groups are
    /// `HOME_NET`, ports are the well-known ones.
    fn default() -> Variables {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Variables(DEFAULTS.iter().map(owned).collect())
    }
}

impl Variables {
    /// Sets a variable from `NAME=value`, as on the command line. The last
    /// definition of a name counts.
    ///
    /// # Errors
    /// A definition that is not of this form. What the value means is checked
    /// by [`check`](Variables::check), when all are set.
    pub fn define(&mut self, definition: &str) -> Result<(), VariableError> {
        let form = || VariableError::Form(definition.to_owned());
        let (name, value) = definition.split_once('=').ok_or_else(form)?;
        let name = name.trim().trim_start_matches('$');
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_name) || value.trim().is_empty() {
            return Err(form());
        }
        self.0.insert(name.to_owned(), value.trim().to_owned());
        Ok(())
    }

    /// The value of a variable as it was written.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Checks that every value can be read as addresses or as ports. A value
    /// that matches nothing is in order: it only silences the rules that use
    /// it.
    ///
    /// # Errors
    /// The first value, by name, that is neither; one that stands on its own
    /// before those that would repeat its fault.
    pub fn check(&self) -> Result<(), VariableError> {
        let mut sets = HeaderSets::new(self);
        let (referring, plain): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|(_, value)| value.contains('$'));
        for (name, value) in plain.into_iter().chain(referring) {
            let readable =
                |fault: &FaultKind| matches!(fault, FaultKind::Set(SetError::Nothing { .. }));
            let address = match sets.addresses(value) {
                Err(fault) if !readable(&fault) => fault,
                _ => continue,
            };
            let port = match sets.ports(value) {
                Err(fault) if !readable(&fault) => fault,
                _ => continue,
            };
            return Err(VariableError::Value {
                name: name.clone(),
                value: value.clone(),
                address: address.to_string(),
                port: port.to_string(),
            });
        }
        Ok(())
    }

    /// The text with every variable replaced by its value, in brackets.
    fn fill_in(&self, text: &str) -> Result<String, FaultKind> {
        let mut filled = String::new();
        self.fill_into(text, &mut Vec::new(), &mut filled)?;
        Ok(filled)
    }

    fn fill_into<'a>(
        &'a self,
        text: &'a str,
        inside: &mut Vec<&'a str>,
        filled: &mut String,
    ) -> Result<(), FaultKind> {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            filled.push_str(before);
            let name_bytes = after
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(after.len());
            let (name, after) = after.split_at(name_bytes);
            let value = self
                .value(name)
                .ok_or_else(|| FaultKind::UndefinedVariable(name.to_owned()))?;
            if inside.contains(&name) {
                return Err(FaultKind::CircularVariable(name.to_owned()));
            }
            if inside.len() == MAX_NESTING {
                return Err(FaultKind::Set(SetError::TooDeep));
            }
            inside.push(name);
            // Brackets keep `!$A` whole where A is `!$B` or a list.
            filled.push('[');
            self.fill_into(value, inside, filled)?;
            filled.push(']');
            inside.pop();
            if filled.len() > MAX_LIST_BYTES {
                return Err(FaultKind::LongList);
            }
            rest = after;
        }
        filled.push_str(rest);
        Ok(())
    }
}

/// The address and port sets of rule headers. Rules repeat few words, so each
/// is read once and shared.
pub(super) struct HeaderSets<'v> {
    variables: &'v Variables,
    addresses: HashMap<String, Result<AddressSet, FaultKind>>,
    ports: HashMap<String, Result<PortSet, FaultKind>>,
}

impl<'v> HeaderSets<'v> {
    pub(super) fn new(variables: &'v Variables) -> HeaderSets<'v> {
        HeaderSets {
            variables,
            addresses: HashMap::new(),
            ports: HashMap::new(),
        }
    }

    pub(super) fn addresses(&mut self, text: &str) -> Result<AddressSet, FaultKind> {
        read_once(self.variables, &mut self.addresses, text)
    }

    pub(super) fn ports(&mut self, text: &str) -> Result<PortSet, FaultKind> {
        read_once(self.variables, &mut self.ports, text)
    }
}

fn read_once<S: Clone + FromStr<Err = SetError>>(
    variables: &Variables,
    known: &mut HashMap<String, Result<S, FaultKind>>,
    text: &str,
) -> Result<S, FaultKind> {
    if let Some(set) = known.get(text) {
        return set.clone();
    }
    let set = variables
        .fill_in(text)
        .and_then(|filled| filled.parse().map_err(FaultKind::Set));
    known.insert(text.to_owned(), set.clone());
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(variables: &Variables, text: &str) -> Result<String, FaultKind> {
        let set = HeaderSets::new(variables).addresses(text)?;
        Ok(set.to_string())
    }

    #[test]
    fn defaults_are_those_of_suricata() {
        let defaults = Variables::default();
        assert_eq!(defaults.check(), Ok(()));
        assert_eq!(
            addresses(&defaults, "$HTTP_SERVERS").as_deref(),
            Ok("[10.0.0.0/8,172.16.0.0/12,192.168.0.0/16]")
        );
        // Not outside is inside.
        assert_eq!(
            addresses(&defaults, "!$AIM_SERVERS"),
            addresses(&defaults, "$HOME_NET")
        );
        let ports = HeaderSets::new(&defaults).ports("[$FILE_DATA_PORTS,!110]");
        assert_eq!(ports.map(|p| p.to_string()).as_deref(), Ok("[80,143]"));
    }

    #[test]
    fn lists_nest_with_exclusions() {
        let mut variables = Variables::default();
        variables
            .define("HOME_NET=[10.0.0.0/8, ![10.1.0.0/16,10.2.0.0/16], fd00::/8]")
            .expect("a definition");
        assert_eq!(
            addresses(&variables, "[$HOME_NET,!10.3.0.0/16,10.1.1.1]").as_deref(),
            Ok("[10.0.0.0/16,10.1.1.1,10.4.0.0-10.255.255.255,fd00::/8]")
        );
    }

    #[test]
    fn wrong_definitions_are_refused() {
        let mut variables = Variables::default();
        for wrong in ["HOME_NET", "=10.0.0.0/8", "A B=1", "X="] {
            assert!(variables.define(wrong).is_err(), "{wrong}");
        }
        variables
            .define("X=[1.2.3.4,banana]")
            .expect("the form is right");
        let error = variables.check().expect_err("neither addresses nor ports");
        assert_eq!(
            error.to_string(),
            "X=[1.2.3.4,banana] is neither a list of addresses (\"banana\" is not an address, a \
             prefix or a range of addresses) nor of ports (\"1.2.3.4\" is not a port (0 to 65535) \
             or a range of ports)"
        );
        // Other variables refer to it; the fault is its own.
        variables.define("X=1").expect("the form is right");
        variables
            .define("HOME_NET=[1.2.3.4")
            .expect("the form is right");
        let error = variables.check().expect_err("brackets that stay open");
        assert!(
            error.to_string().starts_with("HOME_NET=[1.2.3.4 is"),
            "{error}"
        );
    }

    #[test]
    fn circles_and_explosions_end() {
        let mut variables = Variables::default();
        variables.define("A=[$B]").expect("a definition");
        variables.define("B=[$A]").expect("a definition");
        assert_eq!(
            addresses(&variables, "$A"),
            Err(FaultKind::CircularVariable("A".into()))
        );
        assert_eq!(
            addresses(&variables, "$C"),
            Err(FaultKind::UndefinedVariable("C".into()))
        );
        for n in 0..64 {
            let definition = format!("V{}=[$V{n},$V{n}]", n + 1);
            variables.define(&definition).expect("a definition");
        }
        variables.define("V0=10.0.0.1").expect("a definition");
        assert_eq!(
            addresses(&variables, "$V64"),
            Err(FaultKind::Set(SetError::TooDeep))
        );
        let wide = vec!["$V15"; 64].join(",");
        assert_eq!(addresses(&variables, &wide), Err(FaultKind::LongList));
    }
}

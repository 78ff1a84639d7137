//! Reference documentation that is generated from the types of configuration files: JSON Schemas
//! for editors, and the tables of keys in the pages of `docs/`. For tests only.
//!
//! A test describes a file by its types and compares the description with what is committed. With
//! `WEIR_WRITE_DOCS=1` it writes the files anew first, from which a page keeps all but its tables:
//!
//! ```text
//! <!-- keys of ipsec: generated -->
//! | key | meaning | type | default |
//! …
//! <!-- end of keys -->
//! ```
//!
//! Everything that a table says has its place in the type: the meaning of a key is the comment
//! of its field, its default the default of serde. Where a default is no constant, the comment
//! ends with it, as in "Default: the whole run." or "Required in tunnel mode."
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use weir_reference::Reference;
//!
//! /// A door.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Door {
//!     /// Who may pass.
//!     guest: String,
//!     /// Width in cm.
//!     #[serde(default = "usual")]
//!     #[schemars(range(min = 60, max = 200))]
//!     width: u32,
//! }
//!
//! fn usual() -> u32 {
//!     90
//! }
//!
//! let page = "<!-- keys of the file: generated -->\n<!-- end of keys -->\n";
//! let reference = Reference::of::<Door>("A door");
//! assert_eq!(
//!     reference.page(page),
//!     "<!-- keys of the file: generated -->\n\
//!      | key | meaning | type | default |\n\
//!      | --- | --- | --- | --- |\n\
//!      | `guest` | Who may pass | string | required |\n\
//!      | `width` | Width in cm | integer from 60 to 200 | `90` |\n\
//!      <!-- end of keys -->\n"
//! );
//! ```

mod fields;
mod schema;
pub mod shapes;
mod table;
mod words;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The environment variable that lets tests write the files of `docs/` anew.
const WRITE: &str = "WEIR_WRITE_DOCS";

/// A configuration file, as its types describe it.
pub struct Reference {
    schema: Value,
    /// The keys of each type, in the order of its fields.
    orders: Vec<&'static [&'static str]>,
}

impl Reference {
    /// A file that is read as a `T`.
    pub fn of<T: JsonSchema + DeserializeOwned>(title: &str) -> Reference {
        let reference = Reference {
            schema: schema::schema_of::<T>(title),
            orders: Vec::new(),
        };
        reference.with::<T>()
    }

    /// Names a table within the file, whose keys are listed in the order of the fields of `T`.
    pub fn with<T: DeserializeOwned>(mut self) -> Reference {
        self.orders.extend(fields::fields_of::<T>());
        self
    }

    /// The text of the JSON Schema.
    pub fn schema_text(&self) -> String {
        let mut schema = self.schema.clone();
        words::without_links(&mut schema);
        format!("{schema:#}\n")
    }

    /// A page with its tables written anew.
    ///
    /// # Panics
    /// Where the page lacks the table of a key, or has one that the file does not have.
    pub fn page(&self, text: &str) -> String {
        table::replace(text, &self.schema, &self.orders)
    }

    /// Compares `docs/schemas/NAME.schema.json` and the tables of `docs/NAME.md` with the types.
    ///
    /// # Panics
    /// Where they differ.
    pub fn assert_documented(&self, name: &str) {
        assert_page(&format!("schemas/{name}.schema.json"), &self.schema_text());
        let page = format!("{name}.md");
        let text = read_page(&page);
        assert_page(&page, &self.page(&text));
    }
}

fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

/// The text of a file in `docs/`.
///
/// # Panics
/// Where it cannot be read.
pub fn read_page(name: &str) -> String {
    let path = path_of(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares a file in `docs/` with what it is to be, or writes it anew.
///
/// # Panics
/// Where they differ.
pub fn assert_page(name: &str, expected: &str) {
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path_of(name), expected).expect("written");
    }
    let found = std::fs::read_to_string(path_of(name)).unwrap_or_default();
    let differing =
        (found.lines().zip(expected.lines())).find(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "docs/{name} is not up to date: {WRITE}=1 cargo test references writes it anew. The first \
         difference: {differing:#?}"
    );
}

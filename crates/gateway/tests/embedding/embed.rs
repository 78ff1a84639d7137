//! `embed.rs`: a sensor inside another program.

use weir_netlab::{Cable, inside};

use crate::{run, target, watched};

#[test]
fn another_program_is_a_sensor() {
    let program = target().join("examples/embed");
    let of_file = run(&program, &[]);
    let of_file = of_file.text();
    assert!(
        of_file.starts_with("3564 packets, 12 alerts\n"),
        "{of_file}"
    );
    assert_eq!(of_file.lines().count(), 4, "{of_file}");
    inside(Cable::default(), |namespace| {
        let live = watched(namespace, &program, &["b"]);
        let head = |text: &str| text.lines().next().map(str::to_owned);
        assert_eq!(head(&live), head(of_file));
    });
}

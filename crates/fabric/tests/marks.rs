//! Traceback over walks through topologies: adaptive routes, detours and rounds, spoofed sources.

use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use weir_fabric::marks::{
    Arrival, FatTree, Grid, Hypercube, MarkingField, Topology, TraceError, TreePort,
};

const PACKETS: usize = 100_000;
/// For further shapes of a kind.
const FEWER_PACKETS: usize = 10_000;
const SEED: u64 = 38;

/// Hops of a packet that do not lead towards its destination.
const DETOURS: u32 = 24;

fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    random.next_u64() % bound
}

/// A packet as its source sends it: with the address of another node, and with a field of its own.
struct Packet {
    claimed_source: u64,
    field: MarkingField,
}

fn spoofed(random: &mut ChaCha8Rng, nodes: u64, source: u64) -> Packet {
    let field = random.next_u64() >> (u64::BITS - MarkingField::BITS);
    Packet {
        claimed_source: (source + 1 + below(random, nodes - 1)) % nodes,
        field: MarkingField::new(field).expect("38 bits"),
    }
}

/// Sends packets between random nodes, `walk` from switch to switch, and traces each from what arrives.
fn trace_every_packet(
    topology: &Topology,
    packets: usize,
    mut walk: impl FnMut(&mut ChaCha8Rng, MarkingField, u64, u64) -> MarkingField,
) {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let nodes = topology.nodes();
    for _ in 0..packets {
        let source = below(&mut random, nodes);
        let victim = (source + 1 + below(&mut random, nodes - 1)) % nodes;
        let packet = spoofed(&mut random, nodes, source);
        let arrived = walk(&mut random, packet.field, source, victim);
        let traced = topology.source(arrived, victim);
        assert_eq!(traced, Ok(source), "{topology}: {source} to {victim}");
        assert_ne!(traced, Ok(packet.claimed_source));
    }
}

/// Coordinates with the first the most significant, written down again for the test.
fn coordinates(mut node: u64, sides: &[u64]) -> Vec<u64> {
    let mut coordinates = vec![0; sides.len()];
    for (coordinate, side) in coordinates.iter_mut().zip(sides).rev() {
        *coordinate = node % side;
        node /= side;
    }
    coordinates
}

fn node_at(coordinates: &[u64], sides: &[u64]) -> u64 {
    let places = coordinates.iter().zip(sides);
    places.fold(0, |node, (coordinate, side)| node * side + coordinate)
}

/// A walk over a mesh or torus: in any order of dimensions, with steps in any direction, and on a torus
/// also the long way round.
fn walk_grid(
    random: &mut ChaCha8Rng,
    grid: &Grid,
    mut field: MarkingField,
    (source, victim): (u64, u64),
) -> MarkingField {
    let sides: Vec<u64> = grid.sides().collect();
    let (mut place, goal) = (coordinates(source, &sides), coordinates(victim, &sides));
    // On a torus either direction leads to the destination.
    let upwards: Vec<bool> = sides.iter().map(|_| below(random, 2) == 0).collect();
    let mut detours = DETOURS;
    let mut arrival = Arrival::Node;
    while place != goal {
        let at = node_at(&place, &sides);
        let dimension = below(random, sides.len() as u64) as usize;
        let (side, from, to) = (sides[dimension], place[dimension], goal[dimension]);
        let up = if detours > 0 && below(random, 3) == 0 {
            detours -= 1;
            below(random, 2) == 0
        } else if from == to {
            continue;
        } else if grid.wraps() {
            upwards[dimension]
        } else {
            to > from
        };
        place[dimension] = match (up, grid.wraps()) {
            (true, true) => (from + 1) % side,
            (false, true) => (from + side - 1) % side,
            (true, false) => (from + 1).min(side - 1),
            (false, false) => from.saturating_sub(1),
        };
        let next = node_at(&place, &sides);
        if next == at {
            continue;
        }
        field = grid.mark(field, arrival, at, next).expect("neighbours");
        arrival = Arrival::Switch;
    }
    field
}

fn walk_hypercube(
    random: &mut ChaCha8Rng,
    cube: &Hypercube,
    mut field: MarkingField,
    (source, victim): (u64, u64),
) -> MarkingField {
    let (mut at, mut detours, mut arrival) = (source, DETOURS, Arrival::Node);
    while at != victim {
        let dimension = below(random, cube.dimensions().into());
        let leads_on = (at ^ victim) >> dimension & 1 != 0;
        if !leads_on {
            if detours == 0 {
                continue;
            }
            detours -= 1;
        }
        let next = at ^ 1 << dimension;
        field = cube.mark(field, arrival, at, next).expect("neighbours");
        (at, arrival) = (next, Arrival::Switch);
    }
    field
}

/// A walk over a k-ary n-tree of basic switches. A switch on level l is named by `word`: its digits from
/// l on are the addresses of the nodes below it, those under l say which of the equal switches it is.
/// Packets go up by any of these, higher than they must, and down and up again.
fn walk_fat_tree(
    random: &mut ChaCha8Rng,
    tree: &FatTree,
    mut field: MarkingField,
    (source, victim): (u64, u64),
) -> MarkingField {
    let sides = vec![tree.ports(); tree.levels() as usize];
    // The lowest digit first: `word[l]` is the port of a level l + 1 switch.
    let lowest_first = |node| {
        let mut digits = coordinates(node, &sides);
        digits.reverse();
        digits
    };
    let (mut word, goal) = (lowest_first(source), lowest_first(victim));
    let top = sides.len();
    let mut level = 1;
    let mut arrival = TreePort::Down(word[0]);
    let mut detours = DETOURS;
    loop {
        let is_above_victim = word[level..] == goal[level..];
        let is_detour = detours > 0 && below(random, 3) == 0;
        detours -= u32::from(is_detour);
        let departure = match (is_above_victim, is_detour) {
            (true, true) | (false, false) if level < top => TreePort::Up,
            (false, true) if level > 1 => TreePort::Down(below(random, tree.ports())),
            (false, _) => TreePort::Up,
            (true, _) => TreePort::Down(goal[level - 1]),
        };
        let mark = tree.mark(field, level as u32, arrival, departure);
        field = mark.expect("ports of the switch");
        match departure {
            TreePort::Up => {
                // The port of the upper switch is the digit that the lower one has there.
                arrival = TreePort::Down(word[level]);
                word[level] = below(random, tree.ports());
                level += 1;
            }
            TreePort::Down(port) => {
                word[level - 1] = port;
                level -= 1;
                if level == 0 {
                    assert_eq!(word, goal, "the walk went astray");
                    return field;
                }
                arrival = TreePort::Up;
            }
        }
    }
}

fn trace_on(description: &str, packets: usize) {
    let topology: Topology = description.parse().expect("a topology");
    trace_every_packet(&topology, packets, |random, field, source, victim| {
        let ends = (source, victim);
        match &topology {
            Topology::FatTree(tree) => walk_fat_tree(random, tree, field, ends),
            Topology::Grid(grid) => walk_grid(random, grid, field, ends),
            Topology::Hypercube(cube) => walk_hypercube(random, cube, field, ends),
        }
    });
}

#[test]
fn fat_trees() {
    trace_on("fat-tree:4^3", PACKETS);
    for description in ["fat-tree:3^4", "fat-tree:24^2", "fat-tree:4^19"] {
        trace_on(description, FEWER_PACKETS);
    }
}

#[test]
fn meshes() {
    trace_on("mesh:16x16", PACKETS);
    for description in ["mesh:7x5x3", "mesh:2x2x2x2"] {
        trace_on(description, FEWER_PACKETS);
    }
}

#[test]
fn tori() {
    trace_on("torus:8x8x8", PACKETS);
    for description in ["torus:16x16", "torus:5x2x3"] {
        trace_on(description, FEWER_PACKETS);
    }
}

#[test]
fn hypercubes() {
    trace_on("hypercube:10", PACKETS);
    trace_on("hypercube:38", FEWER_PACKETS);
}

/// The largest networks, from corner to corner and back: every difference is at its limit once.
#[test]
fn the_ends_of_the_largest_networks() {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for description in ["mesh:262144x262144", "torus:2048x2048x2048"] {
        let topology: Topology = description.parse().expect("a topology");
        let Topology::Grid(grid) = &topology else {
            unreachable!("a grid");
        };
        let last = topology.nodes() - 1;
        for ends in [(0, last), (last, 0)] {
            let field = walk_grid(&mut random, grid, MarkingField::ZERO, ends);
            assert_eq!(topology.source(field, ends.1), Ok(ends.0));
        }
    }
}

/// The rule as printed writes on the way up only, and the victim reads the field as an address.
#[test]
fn the_printed_rule_needs_packets_that_reach_the_top() {
    let tree = FatTree::new(4, 3).expect("a tree");
    let (source, victim) = (0b01_10_11, 0b01_10_01);
    // Both are below one switch of the lowest level: it writes 11, and nothing above it.
    let printed = 0b00_00_11;
    assert_ne!(printed, source);
    let (arrival, departure) = (TreePort::Down(0b11), TreePort::Down(0b01));
    let field = tree.mark(MarkingField::ZERO, 1, arrival, departure);
    assert_eq!(tree.source(field.expect("ports"), victim), Ok(source));
}

/// In small topologies, all fields: one for each source, and a refusal for every other.
#[test]
fn every_source_has_one_field() {
    for description in ["fat-tree:3^2", "mesh:3x2", "torus:4x5", "hypercube:4"] {
        let topology: Topology = description.parse().expect("a topology");
        for victim in 0..topology.nodes() {
            let mut sources: Vec<u64> = (0..1 << 10)
                .filter_map(|bits| topology.source(MarkingField::new(bits)?, victim).ok())
                .collect();
            sources.sort_unstable();
            let others: Vec<u64> = (0..topology.nodes())
                .filter(|&node| node != victim)
                .collect();
            assert_eq!(sources, others, "{description}, {victim}");
        }
    }
}

#[test]
fn fields_that_no_switch_leaves_are_refused() {
    let mesh: Topology = "mesh:3x2".parse().expect("a mesh");
    let source = |bits, victim| mesh.source(MarkingField::new(bits).expect("38 bits"), victim);
    // Three bits for the first dimension, two for the second.
    let first = |difference: u64| (difference & 0b111) << 2;
    assert_eq!(source(0, 0), Err(TraceError::NotMarked));
    assert_eq!(source(first(1), 0), Err(TraceError::Outside));
    assert_eq!(source(first(3), 5), Err(TraceError::Outside));
    assert_eq!(source(first(4), 5), Err(TraceError::Outside));
    let spare_bits = Err(TraceError::SpareBits { used_bits: 5 });
    assert_eq!(source(1 << 5, 0), spare_bits);
    assert_eq!(source(1 << 37, 0), spare_bits);
    let minus_one = first(u64::MAX);
    assert_eq!(source(minus_one, 6), Err(TraceError::NoSuchVictim(6)));
    assert_eq!(source(minus_one, 0), Ok(2));
}

fn topology() -> impl Strategy<Value = Topology> {
    prop_oneof![
        (2u64..40, 1u32..38).prop_filter_map("fits", |(ports, levels)| {
            FatTree::new(ports, levels).ok().map(Topology::FatTree)
        }),
        proptest::collection::vec(2u64..600, 1..5).prop_filter_map("fits", |sides| {
            Grid::mesh(&sides).ok().map(Topology::Grid)
        }),
        proptest::collection::vec(2u64..600, 1..5).prop_filter_map("fits", |sides| {
            Grid::torus(&sides).ok().map(Topology::Grid)
        }),
        (1u32..39).prop_filter_map("fits", |dimensions| {
            Hypercube::new(dimensions).ok().map(Topology::Hypercube)
        }),
    ]
}

proptest! {
    #[test]
    fn any_field_names_a_node_or_is_refused(
        topology in topology(),
        bits in any::<u64>(),
        victim in any::<u64>(),
        width in 0u32..=MarkingField::BITS,
    ) {
        let field = MarkingField::new(bits & ((1 << width) - 1)).expect("38 bits");
        match topology.source(field, victim % topology.nodes()) {
            Ok(source) => {
                prop_assert!(source < topology.nodes());
                prop_assert_ne!(source, victim % topology.nodes());
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
        if victim >= topology.nodes() {
            prop_assert_eq!(topology.source(field, victim), Err(TraceError::NoSuchVictim(victim)));
        }
    }

    #[test]
    fn a_topology_is_its_description(topology in topology(), node in any::<u64>()) {
        prop_assert_eq!(topology.to_string().parse(), Ok(topology.clone()));
        let node = node % topology.nodes();
        let name = topology.node_name(node).expect("a node");
        prop_assert_eq!(topology.parse_node(&name), Some(node));
    }

    #[test]
    fn no_description_panics(description in "(fat-tree|mesh|torus|hypercube|x)?:?[0-9x^,:+-]{0,24}") {
        if let Ok(topology) = description.parse::<Topology>() {
            prop_assert!(topology.nodes() <= 1 << 38);
        }
    }
}

//! Batches: bytes, room, fates and accounts.

use std::sync::Arc;

use proptest::prelude::*;
use weir_packet::file::Block;
use weir_packet::wire::{FlowKey, LinkType, Network};

use super::*;
use crate::arrival::Arrival;
use crate::disposition::DropCode;
use crate::vocabulary::Vocabulary;
use crate::word::Word;
use crate::work::Work;

fn received(records: &[&[u8]]) -> Batch {
    let mut batch = Batch::new(BatchLimits::default());
    let block = Arc::new(Block::from(records.concat()));
    let mut offset = 0;
    let rows = records.iter().map(|record| {
        let bytes = record.len() as u32;
        let arrival = Arrival {
            timestamp_ns: 1,
            wire_bytes: bytes,
            interface: 0,
            link: LinkType::RawIp,
            ..Arrival::default()
        };
        offset += bytes;
        (offset - bytes, bytes, arrival)
    });
    assert_eq!(batch.receive(&block, 0, rows), Ok(records.len()));
    batch
}

#[test]
fn a_rewritten_record_grows_both_ways_and_others_stay() {
    let mut batch = received(&[b"first", b"second"]);
    let grown = batch.grow(1, 3, 2);
    assert_eq!(grown.len(), 11);
    assert_eq!(&grown[3..9], b"second");
    grown[..3].copy_from_slice(b"<<<");
    grown[9..].copy_from_slice(b">>");
    // Beyond the head- and tailroom: moved, not lost.
    let moved = batch.grow(1, 1000, 1000);
    assert_eq!(&moved[1000..1011], b"<<<second>>");
    batch.shrink(1, 1003, 1002);
    assert_eq!(batch.record(1), b"second");
    assert_eq!(batch.record(0), b"first");
    batch.shrink(1, 4, 4);
    assert_eq!(batch.record(1), b"");
}

crate::drop_reasons! {
    /// Why the tests drop records.
    enum Dropped {
        /// Nobody wants it.
        Unwanted = "unwanted",
    }
}

fn unwanted() -> DropCode {
    let codes = Vocabulary::default().drop_reasons().expect("a number");
    codes.code(Dropped::Unwanted)
}

#[test]
fn a_fate_is_decided_once() {
    let mut batch = received(&[b"a", b"b", b"c", b"d"]);
    let unwanted = unwanted();
    batch.drop_record(1, unwanted);
    batch.absorb(1);
    let held = batch.hold(2);
    assert_eq!(held.bytes(), b"c");
    assert_eq!(batch.live().collect::<Vec<_>>(), [0, 3]);
    let tally = batch.settle_accounts();
    assert_eq!((tally.forwarded, tally.held, tally.absorbed), (2, 1, 0));
    assert!(tally.drops_by_code().eq([(unwanted.index(), 1)]));

    batch.clear();
    batch.release(held).expect("room in an empty batch");
    let tally = batch.settle_accounts();
    assert_eq!((tally.packets, tally.released, tally.forwarded), (0, 1, 1));
}

#[test]
fn a_full_batch_gives_records_back() {
    let mut batch = received(&[b"x".as_slice(); BATCH_RECORDS]);
    assert_eq!(batch.room(), (0, 0));
    assert_eq!(batch.create(0, b"y"), Err(BatchFull));
    let held = batch.hold(0);
    let held = batch.release(held).expect_err("full");
    assert_eq!(held.bytes(), b"x");
}

/// With flows kept or not, whatever became of a record: received, cut in its
/// block, handed over, rewritten, or made by a stage.
#[test]
fn kept_flows_give_the_flow_keys_that_the_records_have() {
    let ipv4 = |host: u8, bytes: usize| {
        let mut packet = vec![0; bytes];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
        packet[9] = 253;
        packet[12..20].copy_from_slice(&[198, 18, 0, host, 198, 19, 0, 1]);
        packet
    };
    let mut inside = ipv4(1, 20);
    inside.extend(ipv4(2, 30));
    inside[2..4].copy_from_slice(&50u16.to_be_bytes());
    let mut ipv6 = vec![7; 40];
    ipv6[0] = 0x60;
    ipv6[4..6].fill(0);
    let memory = [inside, ipv6, ipv4(3, 40), ipv4(4, 40), vec![0; 40]].concat();
    let ranges = [(0, 50), (50, 40), (90, 40), (130, 40), (170, 40)];
    let arrival = Arrival {
        link: LinkType::RawIp,
        ..Arrival::default()
    };
    let mut batches = [false, true].map(|keeps_flows| {
        let limits = BatchLimits::default().keep_flows(keeps_flows);
        let mut intake = Batch::new(limits);
        let block = Arc::new(Block::from(memory.clone()));
        let records = ranges.map(|(offset, bytes)| (offset, bytes, arrival));
        assert_eq!(intake.receive(&block, 0, records), Ok(5));
        let mut batch = Batch::new(limits);
        for index in 0..5 {
            batch.take_over(&intake, index).expect("room");
        }
        batch
    });
    let mut sources = Vec::new();
    for change in 0..4 {
        for batch in &mut batches {
            match change {
                1 => {
                    batch.shrink(0, 20, 0);
                    batch.reparse(0);
                }
                2 => {
                    batch.record_mut(2)[15] = 9;
                    batch.reparse(2);
                }
                3 => {
                    let made = batch.record(3).to_vec();
                    batch.create(0, &made).expect("room");
                }
                _ => {}
            }
        }
        let keys = |batch: &Batch| -> Vec<Option<FlowKey>> {
            (0..batch.len())
                .map(|index| batch.flow_key(index))
                .collect()
        };
        assert_eq!(keys(&batches[0]), keys(&batches[1]), "change {change}");
        sources = keys(&batches[1]);
    }
    let hosts: Vec<_> = sources
        .iter()
        .map(|key| key.map(|key| key.source as u8))
        .collect();
    assert_eq!(hosts, [Some(2), Some(7), Some(9), Some(4), None, Some(4)]);
}

#[test]
fn a_range_outside_its_block_is_refused() {
    let mut batch = received(&[b"abc"]);
    let block = Arc::new(Block::from(b"abc".to_vec()));
    for (offset, bytes) in [(0, 4), (4, 0), (u32::MAX, 1), (2, u32::MAX)] {
        let row = (offset, bytes, Arrival::default());
        let good = (0, 1, Arrival::default());
        let outcome = batch.receive(&block, 0, [good, row, good]);
        assert_eq!(outcome, Err(BatchFull), "{offset}+{bytes}");
    }
    assert_eq!(batch.len(), 1 + 4, "what came before the bad one stays");
}

#[test]
fn bytes_close_a_batch_but_one_record_always_fits() {
    let limits = BatchLimits::new(256, 100);
    let batch = Batch::new(limits);
    assert_eq!(batch.room(), (256, 100));
    let mut batch = received(&[[0; 300].as_slice()]);
    batch.limits = limits;
    assert_eq!(batch.room(), (0, 0));
}

/// A record of IPv4 with so many bytes of payload, and two of link padding.
fn ipv4(payload_bytes: u8) -> Vec<u8> {
    let mut record = vec![0x45, 0, 0, 20 + payload_bytes, 0, 0, 0, 0, 64, 99, 0, 0];
    record.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    record.extend((0..payload_bytes).map(|byte| byte ^ 0x5a));
    record.extend([0, 0]);
    record
}

/// The shape of a copy whose second part is all that follows the kept bytes.
fn around(kept_bytes: usize, gap_bytes: usize, to: usize, back_bytes: usize) -> CopyShape {
    CopyShape {
        kept_bytes,
        gap_bytes,
        from: kept_bytes,
        to,
        back_bytes,
        aligned_at: 0,
    }
}

#[test]
fn copies_are_rewritten_together_and_other_records_stay() {
    let packets = [ipv4(30), ipv4(40), ipv4(0), ipv4(50)];
    let mut batch = received(&packets.each_ref().map(Vec::as_slice));
    // One that was rewritten before lies in the slab already.
    batch.record_mut(1)[21] = 0xee;
    let expected = |index: usize, gap_bytes: usize, back_bytes: usize| {
        let mut packet = packets[index].clone();
        packet.truncate(packet.len() - 2);
        if index == 1 {
            packet[21] = 0xee;
        }
        let (kept, rest) = packet.split_at(3);
        [kept, &vec![1; gap_bytes], rest, &vec![2; back_bytes]].concat()
    };
    let outer = OuterHeader {
        network: Network::Ipv4,
        protocol: 50,
        header_bytes: 20,
        flow_hash: 77,
    };
    let mut into_line = Vec::new();
    {
        let (mut copies, memory) = batch.copies(3, 52 + 20 + 60 + 24 + 70 + 301);
        for (index, gap_bytes, back_bytes) in [(0, 36, 20), (1, 24, 0), (3, 300, 1)] {
            let row = copies.row(memory, index).expect("a record");
            let to = row.headers.end_offset as usize;
            assert_eq!(row.record[to..], [0, 0]);
            let shape = around(3, gap_bytes, to, back_bytes);
            let copy = copies.copy(memory, index, &shape).expect("memory");
            assert_eq!(copy.range().len(), shape.bytes());
            let copied = &mut memory[copy.range()];
            into_line.push(copied[3 + gap_bytes..].as_ptr().addr() % 64);
            copied[3..3 + gap_bytes].fill(1);
            let back = copied.len() - back_bytes;
            copied[back..].fill(2);
            copies.adopt(index, &copy, &outer);
        }
    }
    assert_eq!(into_line, [into_line[0]; 3]);
    assert_eq!(batch.record(0), expected(0, 36, 20));
    assert_eq!(batch.record(1), expected(1, 24, 0));
    assert_eq!(batch.record(2), packets[2]);
    assert_eq!(batch.record(3), expected(3, 300, 1));
    assert_eq!((batch.headers(0).protocol, batch.flow_hash(0)), (50, 77));
    assert_eq!(batch.arrival(0).wire_bytes, 36 + 50 + 20);
    assert!(batch.is_as_parsed(2));
    assert!(!batch.is_as_parsed(0), "there is no IP header in front");
    // They grow as other records do.
    let grown = batch.grow(0, 7, 3);
    assert_eq!(grown[7..113], expected(0, 36, 20));
}

#[test]
fn records_that_cannot_be_copied_are_left_as_they_are() {
    let packet = ipv4(60);
    let mut batch = received(&[&packet, &packet]);
    batch.record_mut(1);
    {
        let (mut copies, memory) = batch.copies(1, 82);
        assert!(copies.row(memory, 2).is_none(), "no such record");
        for index in 0..2 {
            let mut refuses = |shape: &CopyShape| copies.copy(memory, index, shape).is_none();
            assert!(refuses(&around(0, 36, 83, 0)), "it is shorter");
            assert!(refuses(&around(83, 0, 83, 0)), "it is shorter");
            assert!(
                refuses(&around(4, 0, 3, 0)),
                "the second part ends before it begins"
            );
            assert!(refuses(&around(0, 36, 82, 1000)), "too long");
        }
        assert!(copies.copy(memory, 2, &around(0, 0, 0, 0)).is_none());
        assert!(copies.copy(memory, 0, &around(0, 0, 82, 0)).is_some());
        assert!(
            copies.copy(memory, 0, &around(0, 0, 82, 0)).is_none(),
            "one was reserved"
        );
    }
    assert_eq!(
        (batch.record(0), batch.record(1)),
        (&packet[..], &packet[..])
    );
    assert!(batch.is_as_parsed(0) && batch.is_as_parsed(1));
}

#[test]
fn a_record_is_replaced_by_what_was_inside_it() {
    let inner = &ipv4(40)[..60];
    let wrapped = |link: &[u8]| [link, &[0x45; 36], inner, &[1, 1, 4, 0, 0]].concat();
    let mut batch = Batch::new(BatchLimits::default());
    let link = [vec![0xaa; 12], vec![0x08, 0x00]].concat();
    let records = [wrapped(&link), wrapped(&link)].concat();
    let bytes = records.len() as u32 / 2;
    let arrival = Arrival {
        wire_bytes: bytes,
        link: LinkType::Ethernet,
        ..Arrival::default()
    };
    let rows = [(0, bytes, arrival), (bytes, bytes, arrival)];
    batch
        .receive(&Arc::new(Block::from(records)), 0, rows)
        .expect("room");
    // One lies in a block, the other in the slab.
    batch.record_mut(1);
    // The inner packet with 16 bytes in front of it and two behind it.
    let shape = CopyShape {
        kept_bytes: 0,
        gap_bytes: 14,
        from: 34,
        to: 14 + 36 + 62,
        back_bytes: 0,
        aligned_at: 16,
    };
    let (mut copies, memory) = batch.copies(2, 2 * (shape.bytes() + 16));
    let copies = [0, 1].map(|index| {
        let row = copies.row(memory, index).expect("a record");
        assert_eq!(row.record, wrapped(&link));
        assert_eq!(usize::from(row.headers.network_offset), link.len());
        assert_eq!(row.arrival.wire_bytes, bytes);
        let copy = copies.copy(memory, index, &shape).expect("memory");
        let text = &mut memory[copy.range()][30..];
        assert_eq!(&text[..60], inner);
        text[59] = index as u8;
        copy
    });
    assert_eq!(batch.record(0), wrapped(&link), "nothing is replaced yet");
    for (index, copy) in copies.iter().enumerate() {
        let (header, text) = batch
            .put_in_front(index, 14, copy, 30..92)
            .expect("a record");
        assert_eq!((&*header, text.len()), (&link[..], 62));
        let (headers, record) = batch.replace(index, copy, 16..92).expect("a record");
        assert_eq!((headers.network_offset, record.len()), (14, 74));
        record[22] = 1;
        let mut expected = [&link[..], inner].concat();
        (expected[22], expected[73]) = (1, index as u8);
        assert_eq!(batch.record(index), expected);
        assert!(batch.is_as_parsed(index));
        // There is room around it.
        assert_eq!(batch.grow(index, 100, 50)[100..174], expected);
    }
}

#[test]
fn a_record_that_cannot_be_replaced_is_left_as_it_is() {
    let packet = ipv4(38);
    let mut batch = received(&[&packet]);
    let (mut copies, memory) = batch.copies(1, 60);
    let copy = copies
        .copy(memory, 0, &around(0, 0, 60, 0))
        .expect("memory");
    assert!(batch.replace(1, &copy, 0..60).is_none(), "no such record");
    assert!(
        batch.replace(0, &copy, 0..61).is_none(),
        "the copy is shorter"
    );
    assert!(
        batch.put_in_front(1, 0, &copy, 0..60).is_none(),
        "no such record"
    );
    assert!(
        batch.put_in_front(0, 7, &copy, 6..60).is_none(),
        "not enough space in front"
    );
    assert!(
        batch.put_in_front(0, 0, &copy, 6..61).is_none(),
        "the copy is shorter"
    );
    let mut other = received(&[&packet]);
    assert!(
        other.put_in_front(0, 0, &copy, 0..60).is_none(),
        "of another batch"
    );
    assert!(other.replace(0, &copy, 0..60).is_none());
    assert_eq!(
        (batch.record(0), other.record(0)),
        (&packet[..], &packet[..])
    );
    // What is no IP packet replaces a record whole.
    let (headers, record) = batch.replace(0, &copy, 0..7).expect("a record");
    assert!(!headers.is_ip());
    assert_eq!(record, &packet[..7]);
}

const MARK: Word = Word::new("tests", "mark", "It is to be marked with a number.");
const TURN: Word = Word::new("tests", "turn", "It is to be turned by an angle.");

#[test]
fn work_is_taken_off_live_records() {
    let mut vocabulary = Vocabulary::default();
    let [mark, turn] = [&MARK, &TURN].map(|word| vocabulary.work_argument(word).expect("a number"));
    let mut batch = received(&[b"a", b"b", b"c", b"d"]);
    for index in [0, 1, 3] {
        let work = batch.work(index).with_argument(mark, 10 + index as u32);
        batch.set_work(index, work);
    }
    batch.drop_record(1, unwanted());
    let mut list = vec![(9, 9)];
    batch.take_work(turn, &mut list);
    assert_eq!(list, []);
    batch.take_work(mark, &mut list);
    assert_eq!(list, [(0, 10), (3, 13)]);
    assert_eq!(batch.work(0), Work::UNCLASSIFIED);
    batch.take_work(mark, &mut list);
    assert_eq!(list, []);
}

proptest! {
    /// Any sequence of growth and cuts leaves what a vector would hold.
    #[test]
    fn growth_and_cuts_equal_a_vector(
        steps in proptest::collection::vec((any::<bool>(), 0usize..200, 0usize..200), 1..20),
    ) {
        let mut batch = received(&[b"neighbour", b"record"]);
        let mut model = b"record".to_vec();
        for (grow, front, back) in steps {
            if grow {
                let bytes = batch.grow(1, front, back);
                bytes[..front].fill(1);
                let end = bytes.len();
                bytes[end - back..].fill(2);
                model = [vec![1; front], model, vec![2; back]].concat();
            } else {
                batch.shrink(1, front, back);
                let front = front.min(model.len());
                let back = back.min(model.len() - front);
                model = model[front..model.len() - back].to_vec();
            }
            prop_assert_eq!(batch.record(1), &model[..]);
        }
        prop_assert_eq!(batch.record(0), b"neighbour");
    }

    /// A copy consists of what its shape says, of a record in a block and in the slab.
    #[test]
    fn a_copy_has_its_shape(
        kept in 0usize..12,
        gap in 0usize..300,
        range in (0usize..12, 0usize..12),
        back in 0usize..100,
        aligned_at in 0usize..100,
        is_writable: bool,
    ) {
        let record = b"a record";
        let mut batch = received(&[b"neighbour", record, b"another"]);
        if is_writable {
            batch.record_mut(1);
        }
        let shape = CopyShape {
            kept_bytes: kept,
            gap_bytes: gap,
            from: range.0,
            to: range.1,
            back_bytes: back,
            aligned_at,
        };
        let (mut copies, memory) = batch.copies(1, shape.bytes() + aligned_at);
        let copy = copies.copy(memory, 1, &shape);
        let parts = record.get(..kept).zip(record.get(range.0..range.1));
        prop_assert_eq!(copy.is_some(), parts.is_some());
        if let (Some(copy), Some((first, second))) = (copy, parts) {
            let copied = &mut memory[copy.range()];
            copied[kept..kept + gap].fill(1);
            let end = copied.len() - back;
            copied[end..].fill(2);
            copies.adopt_unparsed(1, &copy);
            let expected = [first, &vec![1; gap], second, &vec![2; back]].concat();
            prop_assert_eq!(batch.record(1), expected);
        }
        prop_assert_eq!((batch.record(0), batch.record(2)), (&b"neighbour"[..], &b"another"[..]));
    }
}

//! Traffic against what its plan promises.
//!
//! Counts are compared with their expectation `np` by Bernstein's inequality:
//! `|count - np| >= sqrt(2 np L) + 2 L / 3` has a probability below `2 e^-L`.
//! With L = 35 that is 1.3e-15 for one count, and all counts of this file
//! together, fewer than a thousand, stay below 1.3e-12.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::wire::views::Tcp;
use crate::wire::{FlowKey, Headers, LinkType, build, internet_checksum, protocol};

fn plan() -> Plan {
    Plan {
        packets: 20_000,
        flows: 500,
        ..Plan::default()
    }
}

/// Calls `visit` for every packet of a plan.
fn each(plan: &Plan, mut visit: impl FnMut(&Generator, Generated, &[u8])) {
    let mut generator = Generator::new(plan).expect("a good plan");
    let mut frame = Vec::new();
    while let Some(packet) = generator.fill(&mut frame) {
        visit(&generator, packet, &frame);
    }
}

#[track_caller]
fn assert_expected(count: u64, trials: u64, share: f64, what: &str) {
    const L: f64 = 35.0;
    let expected = trials as f64 * share;
    let bound = (2.0 * expected * L).sqrt() + 2.0 * L / 3.0;
    let distance = (count as f64 - expected).abs();
    assert!(
        distance < bound,
        "{what}: {count}, expected {expected} ± {bound}"
    );
}

/// FNV-1a over times and frames.
fn digest(plan: &Plan) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325u64;
    each(plan, |_, packet, frame| {
        for byte in packet.timestamp_ns.to_le_bytes().iter().chain(frame) {
            digest = (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    });
    digest
}

/// Known answers: they may change with a version of Weir, but never with the
/// machine or the run.
#[test]
fn the_same_plan_gives_the_same_bytes_everywhere() {
    let planted = Plan {
        sizes: SizeModel::Imix,
        payload: PayloadModel::Http,
        planted: vec![b"/etc/passwd".to_vec(), b"cmd.exe".to_vec()],
        planted_per_mille: 10,
        handshakes: true,
        zipf: 1.3,
        ..plan()
    };
    assert_eq!(digest(&plan()), 0x3baa_3a4d_d38e_2962);
    assert_eq!(digest(&planted), 0x1c0f_bd5d_d935_296b);
    assert_ne!(digest(&plan()), digest(&Plan { seed: 2, ..plan() }));
}

#[test]
fn payload_does_not_change_who_talks_when_and_how_much() {
    let headers = |payload| {
        let mut all = Vec::new();
        each(&Plan { payload, ..plan() }, |_, packet, frame| {
            all.push((packet, frame.len()));
        });
        all
    };
    let random = headers(PayloadModel::Random);
    assert_eq!(random, headers(PayloadModel::Zero));
    assert_eq!(random, headers(PayloadModel::Http));
}

#[test]
fn packets_are_whole_and_their_checksums_right() {
    for payload in [PayloadModel::Random, PayloadModel::Zero, PayloadModel::Http] {
        let plan = Plan {
            payload,
            handshakes: true,
            ..plan()
        };
        let mut last_ns = plan.start_ns;
        let mut count = 0;
        each(&plan, |generator, packet, frame| {
            let headers = Headers::parse(LinkType::Ethernet, frame);
            assert_eq!(headers.fault, None);
            let key = FlowKey::from_headers(&headers, frame).expect("IP");
            let flow_key = generator.flow_key(packet.flow);
            let expected = if packet.is_reply {
                flow_key.reversed()
            } else {
                flow_key
            };
            assert_eq!(key, expected);
            assert_eq!(build::transport_checksum(headers.transport(frame), &key), 0);
            let ip_packet = headers.ip_packet(frame);
            if key.ip_version == 4 {
                assert_eq!(internet_checksum(&ip_packet[..20]), 0);
                assert_eq!(
                    (flow_key.source >> 16, flow_key.destination >> 16),
                    (0xc612, 0xc613)
                );
            } else {
                assert_eq!(
                    (flow_key.source >> 96, flow_key.destination >> 96),
                    (0xfd00_0018, 0xfd00_0019)
                );
            }
            assert!(flow_key.source_port >= 49_152);
            assert!(
                frame.len() >= 60 && frame[headers.end_offset as usize..].iter().all(|b| *b == 0)
            );
            assert!(packet.timestamp_ns >= last_ns);
            last_ns = packet.timestamp_ns;
            count += 1;
        });
        assert_eq!(count, plan.packets);
        // 20,000 gaps, uniform on 0 to 20 µs, last 0.2 s; Hoeffding's
        // inequality puts a tenth more or less at 2 e^-100.
        assert!((180_000_000..220_000_000).contains(&(last_ns - plan.start_ns)));
    }
}

/// What each flow's endpoints would see: nothing missing, nothing twice.
#[test]
fn tcp_sequences_go_on() {
    for handshakes in [false, true] {
        let plan = Plan {
            handshakes,
            udp_share: 0.0,
            ..plan()
        };
        let mut next: Vec<Option<[u32; 2]>> = vec![None; plan.flows as usize];
        let mut segments = vec![0; plan.flows as usize];
        each(&plan, |_, packet, frame| {
            let headers = Headers::parse(LinkType::Ethernet, frame);
            let tcp = Tcp::new(headers.transport(frame)).expect("TCP");
            let side = usize::from(packet.is_reply);
            let flow = packet.flow as usize;
            let (sequence, acknowledgment) = (tcp.sequence_number(), tcp.acknowledgment_number());
            let place = if handshakes { segments[flow] } else { 3 };
            segments[flow] += 1;
            match (place, &mut next[flow]) {
                (0, next) => {
                    assert_eq!(
                        (tcp.flags(), side, acknowledgment),
                        (build::flags::SYN, 0, 0)
                    );
                    *next = Some([sequence.wrapping_add(1), 0]);
                }
                (1, Some(next)) => {
                    assert_eq!(
                        (tcp.flags(), side),
                        (build::flags::SYN | build::flags::ACK, 1)
                    );
                    assert_eq!(acknowledgment, next[0]);
                    next[1] = sequence.wrapping_add(1);
                }
                (place, next) => {
                    assert!(place > 2 || (side == 0 && tcp.payload().is_empty()));
                    assert_eq!(tcp.flags() & !build::flags::PSH, build::flags::ACK);
                    let next = next.get_or_insert_with(|| {
                        let mut first = [sequence; 2];
                        first[1 - side] = acknowledgment;
                        first
                    });
                    assert_eq!((sequence, acknowledgment), (next[side], next[1 - side]));
                    next[side] = sequence.wrapping_add(tcp.payload().len() as u32);
                }
            }
            if place < 3 {
                assert!(tcp.payload().is_empty());
            }
        });
    }
}

#[test]
fn flows_have_keys_of_their_own_and_the_asked_kinds() {
    let plan = Plan {
        flows: 200_000,
        ipv6_share: 0.25,
        udp_share: 0.5,
        ..plan()
    };
    let generator = Generator::new(&plan).expect("a good plan");
    let keys: HashSet<FlowKey> = (0..plan.flows)
        .map(|flow| generator.flow_key(flow))
        .collect();
    assert_eq!(keys.len(), plan.flows as usize);
    let count = |is: &dyn Fn(&FlowKey) -> bool| keys.iter().filter(|key| is(key)).count() as u64;
    let flows = u64::from(plan.flows);
    assert_expected(count(&|key| key.ip_version == 6), flows, 0.25, "IPv6");
    assert_expected(
        count(&|key| key.protocol == protocol::UDP),
        flows,
        0.5,
        "UDP",
    );
    for (share, expected) in [(0.0, 0), (1.0, flows)] {
        let plan = Plan {
            ipv6_share: share,
            udp_share: share,
            ..plan.clone()
        };
        let generator = Generator::new(&plan).expect("a good plan");
        let keys = (0..plan.flows).map(|flow| generator.flow_key(flow));
        let six = keys.filter(|key| key.ip_version == 6 && key.protocol == protocol::UDP);
        assert_eq!(six.count() as u64, expected);
    }
}

#[test]
fn packets_over_flows_follow_zipf() {
    for zipf in [0.0, 0.8, 1.0, 1.5] {
        let plan = Plan {
            packets: 200_000,
            flows: 1000,
            zipf,
            sizes: SizeModel::Fixed(60),
            payload: PayloadModel::Zero,
            reply_share: 0.3,
            ..Plan::default()
        };
        let mut counts = vec![0u64; plan.flows as usize];
        let mut replies = 0;
        each(&plan, |_, packet, _| {
            counts[packet.flow as usize] += 1;
            replies += u64::from(packet.is_reply);
        });
        assert_expected(replies, plan.packets, 0.3, "replies");
        let weight = |rank: usize| f64::powf(rank as f64, -zipf);
        let total: f64 = (1..=counts.len()).map(weight).sum();
        for rank in 1..=20 {
            let what = format!("rank {rank}, exponent {zipf}");
            assert_expected(counts[rank - 1], plan.packets, weight(rank) / total, &what);
        }
        for half in [1..=100, 101..=500, 501..=1000usize] {
            let count = counts[half.start() - 1..*half.end()].iter().sum();
            let share: f64 = half.clone().map(weight).sum::<f64>() / total;
            assert_expected(
                count,
                plan.packets,
                share,
                &format!("{half:?}, exponent {zipf}"),
            );
        }
    }
}

/// Bytes of the IP packets of a plan with the given sizes.
fn ip_sizes(sizes: SizeModel) -> Vec<usize> {
    let mut all = Vec::new();
    each(
        &Plan {
            sizes,
            payload: PayloadModel::Zero,
            ..plan()
        },
        |_, _, frame| {
            let headers = Headers::parse(LinkType::Ethernet, frame);
            all.push(headers.ip_packet(frame).len());
        },
    );
    all
}

#[test]
fn sizes_follow_their_model() {
    let count = |sizes: &[usize], of: std::ops::Range<usize>| {
        sizes.iter().filter(|bytes| of.contains(bytes)).count() as u64
    };
    let sizes = ip_sizes(SizeModel::Internet);
    let packets = sizes.len() as u64;
    // Headers over IPv6 take up to 60 bytes, still below 64.
    assert_expected(count(&sizes, 0..64), packets, 0.446, "below 64");
    assert_expected(count(&sizes, 0..128), packets, 0.496, "below 128");
    assert_expected(count(&sizes, 576..577), packets, 0.05, "576");
    assert_expected(count(&sizes, 1500..1501), packets, 0.219, "1500");
    let sizes = ip_sizes(SizeModel::Imix);
    assert_expected(count(&sizes, 0..61), packets, 7.0 / 12.0, "small");
    assert_expected(count(&sizes, 576..577), packets, 4.0 / 12.0, "576");
    assert_expected(count(&sizes, 1500..1501), packets, 1.0 / 12.0, "1500");
    assert_eq!(count(&ip_sizes(SizeModel::Fixed(100)), 100..101), packets);
    assert_eq!(count(&ip_sizes(SizeModel::Frame(128)), 110..111), packets);
    assert_eq!(count(&ip_sizes(SizeModel::Fixed(28)), 28..61), packets);
}

#[test]
fn contents_are_where_they_are_said_to_be() {
    let plan = Plan {
        packets: 50_000,
        payload: PayloadModel::Zero,
        planted: vec![b"short".to_vec(), vec![0xff; 1400], b"other".to_vec()],
        planted_per_mille: 20,
        handshakes: true,
        ..plan()
    };
    let mut planted = [0u64; 3];
    each(&plan, |_, packet, frame| {
        let headers = Headers::parse(LinkType::Ethernet, frame);
        let mut payload = headers.payload(frame).to_vec();
        if let Some(Plant {
            pattern,
            frame_offset,
        }) = packet.plant
        {
            planted[pattern] += 1;
            let start = frame_offset - usize::from(headers.payload_offset);
            let place = &mut payload[start..start + plan.planted[pattern].len()];
            assert_eq!(place, &plan.planted[pattern][..]);
            place.fill(0);
        }
        assert!(
            payload.iter().all(|byte| *byte == 0),
            "nothing else is in it"
        );
    });
    // Turns that are left for want of room are taken soon after.
    assert_expected(planted.iter().sum(), plan.packets, 0.02, "planted");
    assert!(planted.iter().all(|count| *count > 0), "{planted:?}");
    // A content that never fits is never planted, and hinders no other.
    let small = Plan {
        sizes: SizeModel::Fixed(100),
        ..plan
    };
    let mut planted = [0u64; 3];
    each(&small, |_, packet, _| {
        if let Some(plant) = packet.plant {
            planted[plant.pattern] += 1;
        }
    });
    assert_eq!(planted[1], 0);
    assert_expected(planted.iter().sum(), small.packets, 0.02, "planted");
}

#[test]
fn http_reads_as_http() {
    let plan = Plan {
        payload: PayloadModel::Http,
        sizes: SizeModel::Fixed(1500),
        ..plan()
    };
    each(&plan, |_, packet, frame| {
        let headers = Headers::parse(LinkType::Ethernet, frame);
        let payload = headers.payload(frame);
        let text = std::str::from_utf8(payload).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        if packet.is_reply {
            assert!(head.starts_with("HTTP/1.1 ") && head.contains("\r\nContent-Type: "));
        } else {
            let line = head.lines().next().unwrap_or_default();
            assert!(
                line.ends_with(" HTTP/1.1") && head.contains("\r\nHost: www."),
                "{head}"
            );
        }
        assert!(!body.is_empty());
    });
}

/// A tenth of a second of 5,000 packets per second, 20 ms into the traffic.
fn surge() -> Surge {
    Surge {
        start_ns: 20_000_000,
        length_ns: 100_000_000,
        packets_per_second: 5000,
        ip_bytes: 400,
    }
}

#[test]
fn surges_read_as_they_are_written_down() {
    assert_eq!("0.02,0.1,5000,400".parse(), Ok(surge()));
    for text in [
        "",
        "1,2,3",
        "1,2,3,4,5",
        "-1,2,3,4",
        "1,nan,3,4",
        "1,2,3,70000",
    ] {
        let error = text.parse::<Surge>().expect_err(text).to_string();
        assert!(error.contains("START,SECONDS,RATE,BYTES"), "{error}");
    }
}

/// The traffic is the same but for the surges' packets, which come when, from
/// whom and as large as is said, in order of time with the others.
#[test]
fn surges_come_beside_the_traffic() {
    let late = Surge {
        start_ns: 900_000_000,
        ..surge()
    };
    let with_surges = Plan {
        surges: vec![surge(), late],
        ..plan()
    };
    let ordinary = |plan: &Plan| {
        let mut packets = Vec::new();
        each(plan, |_, packet, frame| {
            if packet.flow < plan.flows {
                packets.push((packet.timestamp_ns, packet.flow, frame.len()));
            }
        });
        packets
    };
    assert_eq!(ordinary(&plan()), ordinary(&with_surges));
    let mut times = [Vec::new(), Vec::new()];
    let mut last_ns = 0;
    each(&with_surges, |generator, packet, frame| {
        assert!(packet.timestamp_ns >= last_ns);
        last_ns = packet.timestamp_ns;
        if let Some(number) = packet.flow.checked_sub(with_surges.flows) {
            let headers = Headers::parse(LinkType::Ethernet, frame);
            assert_eq!(headers.fault, None);
            let key = FlowKey::from_headers(&headers, frame).expect("an IP packet");
            assert_eq!(key, generator.flow_key(packet.flow));
            assert_eq!(
                key.to_string(),
                format!("203.0.113.{0}:9 > 198.19.113.{0}:9 udp", number + 1)
            );
            assert_eq!(frame.len(), 14 + 400);
            times[number as usize].push(packet.timestamp_ns - with_surges.start_ns);
        }
    });
    let even: Vec<u64> = (0..500).map(|n| 20_000_000 + n * 200_000).collect();
    assert_eq!(times[0], even);
    // The traffic of 0.2 s is over by then.
    let after: Vec<u64> = even.iter().map(|time| time + 880_000_000).collect();
    assert_eq!(times[1], after);
}

#[test]
fn impossible_plans_are_refused() {
    let refused = |plan: Plan| match Generator::new(&plan) {
        Ok(_) => panic!("{plan:?} was accepted"),
        Err(error) => error.to_string(),
    };
    let cases = [
        (Plan { flows: 0, ..plan() }, "0 flows"),
        (
            Plan {
                flows: Plan::MAX_FLOWS + 1,
                ..plan()
            },
            "16777217 flows",
        ),
        (
            Plan {
                zipf: -0.1,
                ..plan()
            },
            "Zipf exponent -0.1",
        ),
        (
            Plan {
                zipf: f64::NAN,
                ..plan()
            },
            "Zipf exponent NaN",
        ),
        (
            Plan {
                ipv6_share: 1.1,
                ..plan()
            },
            "share of IPv6 1.1",
        ),
        (
            Plan {
                udp_share: f64::NAN,
                ..plan()
            },
            "share of UDP NaN",
        ),
        (
            Plan {
                reply_share: -1.0,
                ..plan()
            },
            "share of replies -1",
        ),
        (
            Plan {
                planted_per_mille: 1,
                ..plan()
            },
            "nothing to plant",
        ),
        (
            Plan {
                planted: vec![vec![]],
                planted_per_mille: 1,
                ..plan()
            },
            "nothing to plant",
        ),
        (
            Plan {
                planted_per_mille: 1001,
                ..plan()
            },
            "1001 planted packets",
        ),
        (
            Plan {
                packets_per_second: 0,
                ..plan()
            },
            "0 packets per second",
        ),
        (
            Plan {
                sizes: SizeModel::Fixed(1),
                ..plan()
            },
            "sizes fixed:1",
        ),
        (
            Plan {
                surges: vec![surge(); 255],
                ..plan()
            },
            "255 surges",
        ),
        (
            Plan {
                surges: vec![Surge {
                    ip_bytes: 27,
                    ..surge()
                }],
                ..plan()
            },
            "surge of packets of 27 bytes",
        ),
        (
            Plan {
                surges: vec![Surge {
                    packets_per_second: 0,
                    ..surge()
                }],
                ..plan()
            },
            "0 packets per second",
        ),
    ];
    for (plan, complaint) in cases {
        let error = refused(plan);
        assert!(error.starts_with(complaint), "{error}");
    }
    assert_eq!(
        "text".parse::<PayloadModel>().map_err(|e| e.to_string()),
        Err("unknown payload \"text\": use random, zero or http".to_owned())
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any plan that is accepted gives packets without fault.
    #[test]
    fn every_plan_gives_whole_packets(
        flows in 1u32..50,
        zipf in 0f64..16.0,
        sizes in prop_oneof![
            Just(SizeModel::Imix),
            Just(SizeModel::Internet),
            (28u16..=SizeModel::MAX_IP_BYTES).prop_map(SizeModel::Fixed),
            Just(SizeModel::Fixed(SizeModel::MAX_IP_BYTES)),
            (64u16..=u16::MAX).prop_map(SizeModel::Frame),
        ],
        payload in prop_oneof![
            Just(PayloadModel::Random),
            Just(PayloadModel::Zero),
            Just(PayloadModel::Http),
        ],
        planted in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..2000), 1..4),
        planted_per_mille in 0u32..=1000,
        seed: u64,
        shares in (0f64..=1.0, 0f64..=1.0, 0f64..=1.0),
        handshakes: bool,
        packets_per_second in 1u64..=1_000_000_000,
        start_ns: u64,
        surges in proptest::collection::vec(Just(surge()), 0..2),
    ) {
        let plan = Plan {
            packets: 50, flows, zipf, sizes, payload, planted, planted_per_mille, seed,
            ipv6_share: shares.0, udp_share: shares.1, reply_share: shares.2,
            handshakes, packets_per_second, start_ns, surges,
        };
        let mut faults = Vec::new();
        each(&plan, |_, packet, frame| {
            let headers = Headers::parse(LinkType::Ethernet, frame);
            faults.extend(headers.fault);
            if let Some(plant) = packet.plant {
                let content = &plan.planted[plant.pattern];
                faults.extend((!frame[plant.frame_offset..].starts_with(content)).then_some(
                    crate::wire::Fault::BadTransportHeader,
                ));
            }
        });
        prop_assert_eq!(faults, vec![]);
    }
}

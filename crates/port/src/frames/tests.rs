//! Frames come from their pool, are changed in place, and go back.

use super::*;

fn pool(frames: u32) -> FramePool {
    let layout = FrameLayout {
        frames,
        frame_bytes: 256,
        headroom_bytes: 64,
    };
    FramePool::new(layout).expect("memory")
}

#[test]
fn frames_go_back_however_they_end() {
    let pool = pool(4);
    let mut frames = Frames::of(&pool);
    for number in 0..4 {
        let pushed = frames.push(&[number; 60], Arrival::default());
        assert_eq!(pushed, Some(usize::from(number)));
    }
    assert_eq!(frames.push(&[4; 60], Arrival::default()), None);
    assert_eq!(pool.free_frames(), 0);
    let taken = frames.take(1).expect("packet 1");
    assert_eq!(taken.bytes(), [1; 60]);
    assert!(frames.take(1).is_none() && !frames.contains(1));
    assert!(frames.bytes(1).is_empty() && frames.bytes_mut(1).is_empty());
    frames.discard(2);
    frames.discard(2);
    // The numbers of the others are still theirs.
    assert_eq!(frames.bytes(3), [3; 60]);
    let lengths = frames.packets().map(|packet| packet.bytes[0]);
    assert_eq!(lengths.collect::<Vec<_>>(), [0, 3]);
    frames.clear();
    assert_eq!((pool.free_frames(), frames.len()), (3, 0));
    drop(taken);
    assert_eq!(pool.free_frames(), 4);
    frames.push(&[9; 60], Arrival::default());
    drop(frames);
    assert_eq!(pool.free_frames(), 4);
}

#[test]
fn packets_grow_into_their_own_frame() {
    let pool = pool(2);
    let mut frames = Frames::of(&pool);
    let index = frames.push(&[5; 100], Arrival::default()).expect("a frame");
    assert_eq!((frames.headroom(index), frames.tailroom(index)), (64, 92));
    assert!(frames.extend_front(index, 64) && !frames.extend_front(index, 1));
    assert!(!frames.extend_back(index, 93) && frames.extend_back(index, 92));
    assert_eq!((frames.headroom(index), frames.tailroom(index)), (0, 0));
    assert_eq!(frames.bytes(index)[64..164], [5; 100]);
    frames.bytes_mut(index).fill(6);
    assert!(frames.cut_front(index, 200) && frames.cut_back(index, 55));
    assert!(!frames.cut_front(index, 2) && !frames.cut_back(index, 2));
    assert_eq!(frames.bytes(index), [6]);
    for (_, bytes) in frames.iter_mut() {
        bytes[0] = 7;
    }
    assert_eq!(frames.bytes(index), [7]);
}

#[test]
fn what_is_too_long_is_cut_and_keeps_its_length_on_the_wire() {
    let pool = pool(2);
    let mut frames = Frames::of(&pool);
    let index = frames.push(&[5; 300], Arrival::default()).expect("a frame");
    assert_eq!(frames.bytes(index), [5; 192]);
    assert_eq!(frames.arrival(index).wire_bytes, 300);
    let index = frames.push_parts(&[&[1; 2], &[], &[2; 3]], Arrival::default());
    assert_eq!(frames.bytes(index.expect("a frame")), [1, 1, 2, 2, 2]);
}

#[test]
fn pools_are_kept_apart() {
    let (one, other) = (pool(2), pool(2));
    let mut frames = Frames::of(&one);
    assert_eq!(frames.reserve(&other, 2), 2);
    frames.push(&[1; 60], Arrival::default());
    assert_eq!((one.free_frames(), other.free_frames()), (2, 0));
    assert_eq!(frames.reserve(&one, 1), 0);
    let mut foreign = Frames::of(&one);
    foreign.push(&[2; 60], Arrival::default());
    let frame = foreign.take(0).expect("a packet");
    let frame = frames.put(frame).expect_err("a frame of another pool");
    frames.clear();
    assert_eq!(frames.put(frame).ok(), Some(0));
    assert_eq!((frames.bytes(0), other.free_frames()), (&[2; 60][..], 2));
}

#[test]
fn frames_are_held_by_other_threads() {
    let pool = pool(16);
    let mut frames = Frames::of(&pool);
    for number in 0..16 {
        frames.push(&[number; 60], Arrival::default());
    }
    std::thread::scope(|scope| {
        for number in 0..16 {
            let frame = frames.take(number).expect("a packet");
            scope.spawn(move || assert_eq!(frame.bytes(), [number as u8; 60]));
        }
    });
    assert_eq!(pool.free_frames(), 16);
}

#[test]
fn layouts_that_cannot_be_are_refused() {
    for (frames, frame_bytes, headroom_bytes) in
        [(0, 256, 0), (1, 0, 0), (1, 64, 64), (1, 1 << 33, 64)]
    {
        let layout = FrameLayout {
            frames,
            frame_bytes,
            headroom_bytes,
        };
        assert!(FramePool::new(layout.clone()).is_err(), "{layout:?}");
    }
}

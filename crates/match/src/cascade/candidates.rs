//! The later stages: candidates of a whole batch against the entries of their
//! buckets, and what survives against the patterns themselves.

use weir_simd::Tier;

use super::buckets::{Buckets, ENTRY_WORDS, GROUP, Meta};
use super::filter::Passed;
use super::gram::eight_bytes;
use super::report::{Occurrence, Report};
use super::simd;
use super::table::Table;
use super::units::Records;
use crate::Haystack;

/// Candidates that are worth a pass of the later stages.
const ENOUGH: usize = 512;
/// Survivors after which the last stage comes in between.
const MOST_SURVIVORS: usize = 1 << 14;

/// What candidates go through.
pub(super) struct Stages<'a> {
    pub(super) tier: Tier,
    pub(super) table: &'a Table,
    pub(super) records: &'a Records,
    pub(super) texts: &'a [Haystack<'a>],
}

/// Places that passed a filter, of the haystacks of a batch.
pub(super) struct Candidates {
    pub(super) passed: Passed,
    pub(super) spans: Vec<Span>,
    /// Heads of the candidates' buckets, once these were found.
    pub(super) heads: Vec<u32>,
    pub(super) survivors: Survivors,
}

/// The places of one span of a haystack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) haystack: u32,
    /// Where the span begins in the haystack.
    pub(super) from: u32,
    /// Where its places end; they begin where those of the span before end.
    pub(super) end: usize,
    /// The haystack's number, by which it is known whether a unit was reported.
    pub(super) epoch: u32,
}

/// Entries that are like the text at a candidate's place.
#[derive(Default)]
pub(super) struct Survivors {
    /// What they stand for; then room for one vector.
    pub(super) metas: Vec<u64>,
    /// Index of the span, and in the low half the place in the haystack.
    pub(super) places: Vec<u64>,
    pub(super) count: usize,
}

/// Up to which candidate the work is done.
#[derive(Clone, Copy, Default)]
pub(super) struct Progress {
    pub(super) span: usize,
    pub(super) candidate: usize,
}

/// What the stages had to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanStatistics {
    /// Places that passed the first stage.
    pub passed: u64,
    /// Of these, places whose gram some pattern is entered at.
    pub candidates: u64,
    /// Entries that such places were compared with.
    pub entries: u64,
    /// Of these, entries that are like the text around the place.
    pub survivors: u64,
    /// Of these, patterns that occur and, where each is reported once per
    /// haystack, were not reported before.
    pub hits: u64,
}

impl Default for Candidates {
    fn default() -> Candidates {
        Candidates {
            passed: Passed::new(ENOUGH),
            spans: Vec::new(),
            heads: Vec::new(),
            survivors: Survivors::default(),
        }
    }
}

impl Candidates {
    /// Whether the later stages should have their turn.
    pub(super) fn are_enough(&self) -> bool {
        self.passed.count >= ENOUGH || self.spans.len() >= ENOUGH
    }

    /// Ends a span.
    pub(super) fn end_span(&mut self, haystack: u32, from: usize, epoch: u32) {
        self.spans.push(Span {
            haystack,
            from: from as u32,
            end: self.passed.count,
            epoch,
        });
    }

    /// Tries all candidates, and forgets them.
    pub(super) fn settle(
        &mut self,
        stages: &Stages<'_>,
        statistics: &mut ScanStatistics,
        report: &mut impl Report,
    ) {
        let Stages {
            tier,
            table,
            records,
            texts,
        } = *stages;
        statistics.passed += self.passed.count as u64;
        statistics.entries += self.find_buckets(&table.buckets, texts);
        statistics.candidates += self.passed.count as u64;
        let mut progress = Progress::default();
        // A bucket may be of any size: there is room for the largest.
        let room = MOST_SURVIVORS + table.buckets.largest() + 8;
        if self.survivors.metas.len() < room {
            self.survivors.metas.resize(room, 0);
            self.survivors.places.resize(room, 0);
        }
        while progress.candidate < self.passed.count {
            self.survivors.count = 0;
            if !simd::compare(tier, &table.buckets, texts, self, &mut progress) {
                self.compare_scalar(&table.buckets, texts, &mut progress);
            }
            statistics.survivors += self.survivors.count as u64;
            let mut verify = Verify {
                records,
                texts,
                spans: &self.spans,
                hits: 0,
            };
            if !simd::verify(tier, &mut verify, &self.survivors, report) {
                verify.all(&self.survivors, equal, report);
            }
            statistics.hits += verify.hits;
        }
        self.passed.count = 0;
        self.spans.clear();
    }

    /// Finds the buckets of all candidates, so that these do not wait for the
    /// memory one after the other, and forgets candidates that have none.
    /// Returns how many entries the buckets have.
    fn find_buckets(&mut self, buckets: &Buckets, texts: &[Haystack<'_>]) -> u64 {
        let places = &mut self.passed.places[..self.passed.count];
        if self.heads.len() < places.len() {
            self.heads.resize(places.len(), 0);
        }
        let heads = &mut self.heads[..places.len()];
        let (mut first, mut kept) = (0, 0);
        for span in &mut self.spans {
            let text = &texts[span.haystack as usize].bytes()[span.from as usize..];
            for candidate in first..span.end {
                let place = places[candidate];
                let hash = buckets.grams.hash(&text[usize::from(place)..]);
                places[kept] = place;
                heads[kept] = buckets.find(hash);
                kept += usize::from(heads[kept] != 0);
            }
            first = span.end;
            span.end = kept;
        }
        let mut entries = 0;
        for head in &heads[..kept] {
            buckets.fetch(*head);
            let (_, own) = buckets.bucket(*head);
            entries += own as u64;
        }
        self.passed.count = kept;
        entries
    }

    /// The definition: the entries that are like the eight bytes around each
    /// candidate's place, until all are done or the survivors are many.
    pub(super) fn compare_scalar(
        &mut self,
        buckets: &Buckets,
        texts: &[Haystack<'_>],
        progress: &mut Progress,
    ) {
        self.for_each_group(buckets, texts, progress, |group, survivors| {
            for entry in 0..group.width {
                if group.eight & group.words[group.width + entry] == group.words[entry] {
                    survivors.push(&group, entry);
                }
            }
        });
    }

    /// Calls `keep` for each group of entries of each candidate's bucket, until
    /// all are done or the survivors are many.
    #[inline(always)]
    pub(super) fn for_each_group(
        &mut self,
        buckets: &Buckets,
        texts: &[Haystack<'_>],
        progress: &mut Progress,
        mut keep: impl FnMut(Group<'_>, &mut Survivors),
    ) {
        let Candidates {
            passed,
            spans,
            heads,
            survivors,
        } = self;
        for (index, span) in spans.iter().enumerate().skip(progress.span) {
            let text = texts[span.haystack as usize].bytes();
            let own = progress.candidate..span.end;
            for (place, head) in passed.places[own.clone()].iter().zip(&heads[own]) {
                if survivors.are_many() {
                    return;
                }
                let place = span.from as usize + usize::from(*place);
                let (mut start, mut left) = buckets.bucket(*head);
                let eight = eight_bytes(text, place);
                let place = (index as u64) << 32 | place as u64;
                while left > 0 {
                    let width = left.min(GROUP);
                    let words = &buckets.words[start..start + 2 * width + GROUP];
                    let group = Group {
                        words,
                        width,
                        eight,
                        place,
                    };
                    keep(group, survivors);
                    start += ENTRY_WORDS * width;
                    left -= width;
                }
                progress.candidate += 1;
            }
            progress.span = index + 1;
        }
    }
}

/// Up to [`GROUP`] entries, and what they are compared with.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    /// As many values as there are entries, as many masks, and at least as many
    /// metas: of these as if the group were full.
    pub(super) words: &'a [u64],
    /// How many entries there are.
    pub(super) width: usize,
    /// Of the text, around the candidate's place.
    pub(super) eight: u64,
    /// As in [`Survivors`].
    pub(super) place: u64,
}

impl Survivors {
    /// Room for a vector of metas, and for one of places.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn room(&mut self) -> (&mut [u64; 8], &mut [u64; 8]) {
        let rest = self.count..self.count + 8;
        let (metas, places) = (&mut self.metas[rest.clone()], &mut self.places[rest]);
        let (metas, _) = metas.as_chunks_mut();
        let (places, _) = places.as_chunks_mut();
        (&mut metas[0], &mut places[0])
    }

    /// An entry survives.
    #[inline(always)]
    fn push(&mut self, group: &Group<'_>, entry: usize) {
        self.metas[self.count] = group.words[2 * group.width + entry];
        self.places[self.count] = group.place;
        self.count += 1;
    }

    /// The entries survive that `alike` has bits for, but what lies behind the
    /// last one.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[inline(always)]
    pub(super) fn push_alike(&mut self, group: &Group<'_>, alike: u32) {
        let mut alike = alike & ((1 << group.width) - 1);
        while alike != 0 {
            self.push(group, alike.trailing_zeros() as usize);
            alike &= alike - 1;
        }
    }

    /// Whether the last stage should have its turn.
    #[inline(always)]
    pub(super) fn are_many(&self) -> bool {
        self.count > MOST_SURVIVORS
    }
}

/// The last stage.
pub(super) struct Verify<'a> {
    records: &'a Records,
    texts: &'a [Haystack<'a>],
    spans: &'a [Span],
    hits: u64,
}

impl Verify<'_> {
    /// Reports what occurs and is wanted. `equal` compares a text with a pattern of its length, whose
    /// case may not matter.
    #[inline(always)]
    pub(super) fn all(
        &mut self,
        survivors: &Survivors,
        equal: impl Fn(&[u8], &[u8], bool) -> bool,
        report: &mut impl Report,
    ) {
        let metas = &survivors.metas[..survivors.count];
        for (meta, place) in metas.iter().zip(&survivors.places) {
            let meta = Meta(*meta);
            let span = &self.spans[(place >> 32) as usize];
            if !report.wants(meta.slot(), span.epoch) {
                continue;
            }
            let text = self.texts[span.haystack as usize];
            let start = (*place as u32 as usize).wrapping_sub(meta.place());
            let end = start.wrapping_add(meta.bytes());
            let Some(found) = text.bytes().get(start..end) else {
                continue;
            };
            if end <= text.carried() {
                continue;
            }
            if !meta.is_whole() {
                let pattern = self.records.pattern(meta.slot(), found.len());
                if !equal(found, pattern, meta.is_nocase()) {
                    continue;
                }
            }
            self.hits += 1;
            report.add(Occurrence {
                slot: meta.slot(),
                haystack: span.haystack,
                epoch: span.epoch,
                start,
                end,
            });
        }
    }
}

/// Whether a text is the pattern, which is in lower case where case does not
/// matter.
pub(super) fn equal(text: &[u8], pattern: &[u8], is_nocase: bool) -> bool {
    if is_nocase {
        text.eq_ignore_ascii_case(pattern)
    } else {
        text == pattern
    }
}

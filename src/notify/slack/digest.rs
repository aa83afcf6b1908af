//! A digest as a message.

use serde_json::Value;

use super::{block, clean, envelope};
use crate::domain::{
    digest::{
        group::DigestGroup,
        report::{DigestReport, DigestSection, SectionKind},
        wording,
    },
    group::GroupId,
};

/// Where a message can lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Digest,
    Section(SectionKind),
    Group(GroupId),
}

/// Groups shown of one section, and of all. Slack takes 50 blocks, but who has to scroll does not read.
const MOST_OF_A_SECTION: usize = 10;
const MOST_OF_ALL: usize = 20;
/// How long all blocks may be together. Slack does not say how much it takes. What it refused as `msg_blocks_too_long`
/// had 13,200 characters and more (<https://github.com/slackapi/bolt-js/issues/2509>,
/// <https://github.com/slackapi/bolt-js/issues/2867>).
const LONGEST_BLOCKS: usize = 12_000;
/// Characters of the lines of a group. Its place has two names of up to 255 bytes, its error can have thousands.
const LONGEST_PLACE: usize = 150;
const LONGEST_CAUSE: usize = 200;
const LONGEST_NOTE: usize = 150;
const LONGEST_LABEL: usize = 200;

/// The biggest groups of each section, as many as fit, and how many more there are. `links` gives an absolute address;
/// without one, its words are shown alone.
pub fn message(report: &DigestReport, links: &dyn Fn(Link) -> Option<String>) -> Value {
    let writer = Writer { report, links, with_broker: wording::has_several_brokers(report) };
    let mut shown = writer.groups(&share_out(report));
    let mut blocks = writer.blocks(&shown);
    while weight(&blocks) > LONGEST_BLOCKS {
        let Some(_) = shown.iter_mut().max_by_key(|groups| groups.len()).and_then(Vec::pop) else { break };
        blocks = writer.blocks(&shown);
    }
    envelope(&writer.summary(), blocks)
}

/// How many groups of each section to show: in turns, so that no section pushes the others out.
fn share_out(report: &DigestReport) -> Vec<usize> {
    let mut shown = vec![0; report.sections.len()];
    for turn in 0..MOST_OF_A_SECTION {
        for (position, section) in report.sections.iter().enumerate() {
            if section.groups.len() > turn && shown.iter().sum::<usize>() < MOST_OF_ALL {
                shown[position] = turn + 1;
            }
        }
    }
    shown
}

/// The length of blocks as JSON, in the longest way to write it, as nothing says how Slack counts: with `\/` and `\u`.
fn weight(blocks: &[Value]) -> usize {
    let json: String = blocks.iter().map(|block| format!("{block},")).collect();
    let weigh = |c: char| match c {
        '/' => 2,
        _ if c.is_ascii() => 1,
        _ => 6 * c.len_utf16(),
    };
    json.chars().map(weigh).sum()
}

struct Writer<'a> {
    report: &'a DigestReport,
    links: &'a dyn Fn(Link) -> Option<String>,
    /// Whether a group's broker has to be named.
    with_broker: bool,
}

impl Writer<'_> {
    /// Whole in itself, as screen readers read nothing else.
    fn summary(&self) -> String {
        let report = self.report;
        let words = if report.is_quiet() { report.quiet_words() } else { report.figures().join(", ") };
        format!("{}: {words}", report.name)
    }

    /// The first groups of each section, as many as `shares` says.
    fn groups(&self, shares: &[usize]) -> Vec<Vec<Value>> {
        let sections = self.report.sections.iter().zip(shares);
        sections
            .map(|(section, share)| section.groups.iter().take(*share).map(|group| self.group(group)).collect())
            .collect()
    }

    /// With these groups of each section.
    fn blocks(&self, shown: &[Vec<Value>]) -> Vec<Value> {
        let report = self.report;
        let mut blocks = vec![
            block::header(&report.name),
            block::context(block::plain(&report.period_words(), LONGEST_LABEL)),
            self.figures(),
        ];
        for (section, shown) in report.sections.iter().zip(shown) {
            self.push_section(&mut blocks, section, shown);
        }
        if let Some(href) = (self.links)(Link::Digest) {
            blocks.push(block::context(block::markup(clean::link(Some(&href), "Open the digest"))));
        }
        blocks
    }

    fn figures(&self) -> Value {
        let report = self.report;
        if report.is_quiet() {
            return block::section(block::markup(report.quiet_words()));
        }
        block::fields(report.figures().into_iter().map(|figure| block::markup(with_bold_number(&figure))).collect())
    }

    fn push_section(&self, blocks: &mut Vec<Value>, section: &DigestSection, shown: &[Value]) {
        let kind = section.kind;
        let heading = format!("*{}:* {}\n_{}_", kind.title(), section.size(), kind.meaning());
        blocks.push(block::section(block::markup(heading)));
        blocks.extend_from_slice(shown);
        let (groups, letters) = section.beyond(shown.len());
        if groups > 0 {
            let [and, more, with] = wording::rest_words(groups, letters, shown.len());
            let more = clean::link((self.links)(Link::Section(kind)).as_deref(), &more);
            blocks.push(block::context(block::markup(format!("{and}{more}{with}"))));
        }
    }

    fn group(&self, group: &DigestGroup) -> Value {
        let note = group.note.as_ref().map(|note| format!("Note: {note}")).unwrap_or_default();
        let text = block::plain_lines(&[
            (&group.place(self.with_broker), LONGEST_PLACE),
            (group.cause(), LONGEST_CAUSE),
            (&note, LONGEST_NOTE),
        ]);
        let figures = group.figures(self.report.period.until);
        let figures: Vec<String> = figures.iter().map(|figure| with_bold_number(figure)).collect();
        let mut fields = vec![block::markup(figures.join(", "))];
        if let Some(href) = (self.links)(Link::Group(group.id)) {
            fields.push(block::markup(clean::link(Some(&href), "Open the group")));
        }
        block::section_with_fields(text, fields)
    }
}

/// `*12* open` of `12 open`. What begins with a word stays as it is.
fn with_bold_number(figure: &str) -> String {
    match figure.split_once(' ') {
        Some((number, words)) if number.starts_with(|c: char| c.is_ascii_digit()) => format!("*{number}* {words}"),
        _ => figure.to_owned(),
    }
}

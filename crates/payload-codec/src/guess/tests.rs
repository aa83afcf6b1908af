use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::{Duration, Instant},
};

use prost::Message as _;
use prost_reflect::DescriptorPool;
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};

use super::{
    corpus::{self, Measure, Sample},
    likelihood::OUT_OF_ORDER,
    search::{HOPELESS, search},
    sheet::{Sheet, WHOLE},
    *,
};
use crate::wire::{fields, varint};

/// A message by its name and its fields: number, name and type.
type Shape<'a> = (&'a str, &'a [(i32, &'a str, Type)]);

fn pool(messages: &[Shape]) -> DescriptorPool {
    let message = |&(name, fields): &Shape| DescriptorProto {
        name: Some(name.to_owned()),
        field: fields.iter().map(field).collect(),
        ..DescriptorProto::default()
    };
    let file = FileDescriptorProto {
        name: Some("test.proto".to_owned()),
        package: Some("test".to_owned()),
        syntax: Some("proto3".to_owned()),
        message_type: messages.iter().map(message).collect(),
        ..FileDescriptorProto::default()
    };
    DescriptorPool::decode(&FileDescriptorSet { file: vec![file] }.encode_to_vec()[..]).unwrap()
}

fn field(&(number, name, kind): &(i32, &str, Type)) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some(kind.into()),
        ..FieldDescriptorProto::default()
    }
}

fn texts(fields: &[(u64, &str)]) -> Vec<u8> {
    let mut body = vec![];
    for (number, text) in fields {
        varint::write(&mut body, number << 3 | 2);
        varint::write(&mut body, text.len() as u64);
        body.extend(text.as_bytes());
    }
    body
}

const USER: Shape = ("User", &[(1, "id", Type::String), (2, "email", Type::String), (3, "age", Type::Int32)]);
const PARCEL: Shape = ("Parcel", &[(1, "id", Type::String), (2, "weight", Type::Double), (3, "place", Type::String)]);
const LINK: Shape = ("Link", &[(1, "id", Type::String), (2, "url", Type::String), (3, "age", Type::Int32)]);
const TWIN: Shape = ("Twin", USER.1);

fn names(guess: &Guess) -> Vec<Vec<&str>> {
    let short = |name: &TypeName| name.full_name.len().min("test.".len());
    guess.candidates.iter().map(|c| c.types().map(|name| &name.full_name[short(name)..]).collect()).collect()
}

fn check(index: &TypeIndex, body: &[u8], hints: &Hints, expected: &[&[&str]]) {
    assert_eq!(names(&index.guess(body, hints)), expected, "{body:02x?}");
}

#[test]
fn takes_the_type_that_would_have_written_it() {
    let index = TypeIndex::new(&[pool(&[USER, PARCEL, LINK])]);
    assert_eq!(index.len(), 3);
    let email = texts(&[(1, "u-1"), (2, "ann@example.org")]);
    let url = texts(&[(1, "u-1"), (2, "https://example.org/x")]);
    check(&index, &email, &Hints::default(), &[&["User"], &["Link"]]);
    check(&index, &url, &Hints::default(), &[&["Link"], &["User"]]);
}

#[test]
fn does_not_choose_between_types_that_look_the_same() {
    let index = TypeIndex::new(&[pool(&[USER, TWIN, PARCEL])]);
    let body = texts(&[(1, "0525af50-e6e9-4d58-b5ab-af0b98531052"), (2, "ann@example.org")]);
    let guess = index.guess(&body, &Hints::default());
    assert_eq!(names(&guess)[0], ["User", "Twin"]);
    assert!(guess.candidates[0].confidence > 0.9);
    assert!(guess.strong().is_none());
    let confirmed = Hints { confirmed: &[("test.Twin", 5)], ..Hints::default() };
    check(&index, &body, &confirmed, &[&["Twin"], &["User"]]);
}

#[test]
fn believes_history_and_address() {
    let index = TypeIndex::new(&[pool(&[USER, LINK])]);
    let body = texts(&[(1, "u-1")]);
    check(&index, &body, &Hints { confirmed: &[("test.Link", 3)], ..Hints::default() }, &[&["Link"], &["User"]]);
    check(&index, &body, &Hints { confirmed: &[("test.User", 3)], ..Hints::default() }, &[&["User"], &["Link"]]);
    check(&index, &body, &Hints { address: &["crm.link-changes"], ..Hints::default() }, &[&["Link"], &["User"]]);
    check(&index, &body, &Hints { address: &["crm", "userChanges"], ..Hints::default() }, &[&["User"], &["Link"]]);
    check(&index, &body, &Hints { confirmed: &[("test.Gone", 3)], ..Hints::default() }, &[&["User"], &["Link"]]);
}

#[test]
fn believes_the_other_messages_of_an_address() {
    let index = TypeIndex::new(&[pool(&[USER, LINK])]);
    let (vague, email) = (texts(&[(1, "u-1")]), texts(&[(1, "u-1"), (2, "ann@example.org")]));
    let url = texts(&[(1, "u-1"), (2, "https://example.org/x")]);
    let first = |others: &[u8]| {
        let guesses = index.guess_jointly(&[&vague, others, others, &[0x0a]], &Hints::default());
        assert_eq!((guesses.len(), names(&guesses[3]).len()), (4, 0));
        names(&guesses[0])[0][0].to_owned()
    };
    assert_eq!([first(&email), first(&url)], ["User", "Link"]);
}

/// Sets that agree about a type have it once; sets that disagree once each.
#[test]
fn tells_sets_apart_only_if_they_disagree() {
    let other_user: Shape = ("User", &[(1, "id", Type::String), (2, "email", Type::String), (3, "age", Type::Double)]);
    fn check(pools: &[DescriptorPool], expected: &[usize]) {
        let guess = TypeIndex::new(pools).guess(&texts(&[(1, "u-1"), (2, "ann@example.org")]), &Hints::default());
        let mut pools: Vec<_> = guess.candidates.iter().flat_map(Candidate::types).map(|name| name.pool).collect();
        pools.sort_unstable();
        assert_eq!(pools, expected);
    }
    check(&[pool(&[USER]), pool(&[USER])], &[0]);
    check(&[pool(&[USER]), pool(&[other_user])], &[0, 1]);
    check(&[pool(&[]), pool(&[USER]), pool(&[USER])], &[1]);
}

#[test]
fn says_why() {
    let index = TypeIndex::new(&[pool(&[USER, LINK])]);
    let hints = Hints { address: &["user-events"], confirmed: &[("test.User", 3)] };
    let body = texts(&[(2, "ann@example.org"), (9, "x")]);
    let explained = index.explain(&body, &hints, &index.guess(&body, &hints));
    let why = |place: usize| explained[place].iter().map(Evidence::to_string).collect::<Vec<_>>();
    assert_eq!(
        why(0),
        [
            "3 messages of this address were confirmed as this type",
            "its name shares the word `user` with the address",
            "field 2 reads as an email address, as its name `email` suggests",
            "field 9 is unknown to it",
            "field 1, `id`, is nearly always there and missing",
            "1 of its 3 fields are there",
        ]
    );
    let apart = "field 2 fits worse as string `url` than, as in the likeliest type, as string `email`";
    assert!(why(1).iter().any(|reason| reason == apart));
}

#[test]
fn has_nothing_to_say_of_what_is_no_protobuf() {
    let index = TypeIndex::new(&[pool(&[USER])]);
    check(&index, b"{\"a\": 1}", &Hints::default(), &[]);
    check(&index, &[0x0a], &Hints::default(), &[]);
    check(&TypeIndex::new(&[]), &texts(&[(1, "u-1")]), &Hints::default(), &[]);
    assert!(TypeIndex::new(&[]).is_empty());
}

#[test]
fn is_shared_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<TypeIndex>();
}

fn measure(index: &TypeIndex, samples: &[Sample]) -> Measure {
    let mut measure = Measure::default();
    for sample in samples {
        measure.add(&index.guess(&sample.body, &Hints::default()), &sample.full_name);
    }
    measure
}

fn by_queue(samples: &[Sample]) -> BTreeMap<&str, Vec<&Sample>> {
    let mut queues: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        if let Some(queue) = &sample.queue {
            queues.entry(queue).or_default().push(sample);
        }
    }
    queues
}

/// The messages of each queue after the first `times`, which are taken as confirmed.
fn measure_history(index: &TypeIndex, samples: &[Sample], times: usize) -> Measure {
    let mut measure = Measure::default();
    for samples in by_queue(samples).values().filter(|samples| samples.len() > times) {
        let (before, after) = samples.split_at(times);
        let mut confirmed: HashMap<&str, u64> = HashMap::new();
        before.iter().for_each(|sample| *confirmed.entry(&sample.full_name).or_default() += 1);
        let confirmed: Vec<_> = confirmed.into_iter().collect();
        for sample in after {
            let hints = Hints { confirmed: &confirmed, ..Hints::default() };
            measure.add(&index.guess(&sample.body, &hints), &sample.full_name);
        }
    }
    measure
}

/// The messages of each queue, ten at a time.
fn measure_jointly(index: &TypeIndex, samples: &[Sample]) -> Measure {
    let mut measure = Measure::default();
    for samples in by_queue(samples).values().flat_map(|samples| samples.chunks(10)) {
        let bodies: Vec<&[u8]> = samples.iter().map(|sample| &sample.body[..]).collect();
        for (guess, sample) in index.guess_jointly(&bodies, &Hints::default()).iter().zip(samples) {
            measure.add(guess, &sample.full_name);
        }
    }
    measure
}

fn at_least(what: &str, found: (f64, f64), expected: (f64, f64)) {
    assert!(found.0 >= expected.0 && found.1 >= expected.1, "{what}: {found:.1?}, not {expected:?}");
}

#[test]
fn is_as_good_as_promised_on_the_small_corpus() {
    let (pool, samples) = corpus::small();
    let index = TypeIndex::new(&[pool]);
    let plain = measure(&index, &samples);
    at_least("ranks", plain.ranks(), (72.0, 90.0));
    at_least("strong", plain.strong(), (30.0, 98.0));
    at_least("ten jointly", measure_jointly(&index, &samples).ranks(), (79.0, 97.0));
    at_least("one confirmed", measure_history(&index, &samples, 1).ranks(), (94.0, 98.0));
    at_least("five confirmed", measure_history(&index, &samples, 5).ranks(), (96.0, 99.0));
}

#[test]
fn is_as_good_as_promised_on_the_large_corpus() {
    let Some((pool, samples)) = corpus::large() else { return };
    let index = TypeIndex::new(&[pool]);
    let plain = measure(&index, &samples);
    at_least("ranks", plain.ranks(), (35.0, 46.0));
    at_least("strong", plain.strong(), (14.0, 98.0));
    let jointly = measure_jointly(&index, &samples);
    at_least("ten jointly", jointly.ranks(), (48.0, 62.0));
    at_least("strong of ten jointly", jointly.strong(), (14.0, 98.0));
    at_least("one confirmed", measure_history(&index, &samples, 1).ranks(), (81.0, 85.0));
    at_least("three confirmed", measure_history(&index, &samples, 3).ranks(), (90.0, 92.0));
    at_least("five confirmed", measure_history(&index, &samples, 5).ranks(), (96.0, 97.0));

    // Of types that were never uploaded next to none is named.
    let (_, strangers) = corpus::small();
    let named = strangers.iter().filter(|stranger| index.guess(&stranger.body, &Hints::default()).strong().is_some());
    assert!(named.count() * 25 <= strangers.len());
}

/// The log likelihood of a body by each class, field by field.
fn plain_scores(index: &TypeIndex, body: &[u8]) -> Vec<f64> {
    let mut sheet = Sheet::new(body).unwrap();
    let numbers: Vec<u32> = sheet.span(WHOLE).tokens.clone().map(|at| sheet.token(at).number).collect();
    // The order of a body's own fields is the same for all classes, and a search leaves it out.
    let back = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count() as f64;
    let score = |&id: &u32| index.likelihood().message(&mut sheet, id, WHOLE, 0) + OUT_OF_ORDER * back;
    index.schema.exemplars.iter().map(score).collect()
}

/// A search scores no class otherwise than by itself, and leaves out none that is worth it and declares all numbers.
fn check_search(index: &TypeIndex, body: &[u8]) {
    let plain = plain_scores(index, body);
    let mut sheet = Sheet::new(body).unwrap();
    let found = search(&index.likelihood(), &index.columns, &mut sheet, &[]);
    for &(class, score) in &found {
        let expected = plain[class as usize];
        assert!((score - expected).abs() < 1e-9, "{class}: {score}, not {expected} {body:02x?}");
    }
    let best = found.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
    let found: HashSet<u32> = found.into_iter().map(|(class, _)| class).collect();
    for class in index.columns.candidates.iter().filter(|class| !found.contains(class)) {
        let message = index.schema.message(index.schema.exemplars[class as usize]);
        let lacks_one = fields(body).flatten().any(|field| message.field(field.number).is_none());
        let hopeless = plain[class as usize] <= best - HOPELESS + 1e-9;
        assert!(lacks_one || hopeless, "{class} {body:02x?}");
    }
}

#[test]
fn finds_what_scoring_each_type_finds() {
    let (pool, samples) = corpus::small();
    let index = TypeIndex::new(&[pool]);
    samples.iter().for_each(|sample| check_search(&index, &sample.body));
    let Some((pool, samples)) = corpus::large() else { return };
    let index = TypeIndex::new(&[pool]);
    samples.iter().step_by(40).for_each(|sample| check_search(&index, &sample.body));
}

fn check_sane(index: &TypeIndex, body: &[u8]) -> Guess {
    let guess = index.guess(body, &Hints::default());
    let confidence: f64 = guess.candidates.iter().map(|candidate| candidate.confidence).sum();
    assert!((0.0..=1.0 + 1e-9).contains(&confidence), "{confidence} {body:02x?}");
    assert!(guess.candidates.len() <= 8 && !guess.evidence.is_nan());
    guess
}

#[test]
fn stands_any_bytes() {
    let (pool, samples) = corpus::small();
    let index = TypeIndex::new(&[pool]);
    arbtest::arbtest(|u| {
        check_sane(&index, u.arbitrary()?);
        Ok(())
    });
    arbtest::arbtest(|u| {
        let mut body = samples[u.choose_index(samples.len())?].body.clone();
        for _ in 0..u.int_in_range(1..=4)? {
            let at = u.int_in_range(0..=body.len())?;
            match u.int_in_range(0..=2)? {
                0 => body.insert(at, u.arbitrary()?),
                1 if at < body.len() => body[at] ^= 1 << u.int_in_range(0..=7)?,
                _ => body.truncate(at.max(1)),
            }
        }
        check_sane(&index, &body);
        Ok(())
    });
}

fn nested(depth: usize, mut body: Vec<u8>) -> Vec<u8> {
    for _ in 0..depth {
        let mut outer = vec![0x0a];
        varint::write(&mut outer, body.len() as u64);
        outer.extend(body);
        body = outer;
    }
    body
}

#[test]
fn stands_hostile_bodies() {
    let (pool, _) = corpus::small();
    let index = TypeIndex::new(&[pool]);
    let started = Instant::now();
    let numbers = |count: u64| {
        (1..=count).fold(vec![], |mut body, number| {
            varint::write(&mut body, number << 3);
            body.push(1);
            body
        })
    };
    assert!(check_sane(&index, &[0x08, 1].repeat(500_000)).is_partial);
    assert!(check_sane(&index, &[0x0a, 0].repeat(500_000)).is_partial);
    assert!(check_sane(&index, &numbers(100_000)).is_partial);
    check_sane(&index, &nested(5000, vec![]));
    check_sane(&index, &nested(200, vec![b'a'; 100_000]));
    check_sane(&index, &nested(20, [0x0a, 0].repeat(50_000)));
    check_sane(&index, &texts(&[(1, &"x".repeat(1_000_000))]));
    check_sane(&index, &[&[0x0b; 100][..], &[0x0c; 100]].concat());
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

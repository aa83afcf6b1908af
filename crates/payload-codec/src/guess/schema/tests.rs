use super::{super::corpus, *};

fn schema() -> Schema {
    let (pool, _) = corpus::small();
    Schema::new(&[pool.clone(), pool])
}

#[test]
fn reads_fields() {
    let schema = schema();
    for message in &schema.messages {
        assert_eq!(message.fields.len(), message.descriptor.fields().len() + message.descriptor.extensions().len());
        assert!(message.fields.is_sorted_by_key(|field| field.number));
        for field in &message.fields {
            assert_eq!(message.field(field.number).map(|found| found.number), Some(field.number));
        }
        assert!(message.field(message.last_number() + 1).is_none() && message.field(0).is_none());
    }
}

#[test]
fn leaves_out_helpers_and_repetitions() {
    let schema = schema();
    let candidates: Vec<_> = schema.messages.iter().filter(|message| message.is_candidate).collect();
    assert!(!candidates.is_empty() && candidates.iter().all(|message| message.pool == 0));
    assert!(candidates.iter().all(|message| !message.descriptor.is_map_entry()));
    assert!(candidates.iter().all(|message| !message.descriptor.full_name().starts_with("google.protobuf.")));
}

/// The second pool adds no class.
#[test]
fn puts_twins_into_one_class() {
    let schema = schema();
    let half = schema.classes.len() / 2;
    let (first, second) = schema.classes.split_at(half);
    assert_eq!(first, second);
    assert!(schema.exemplars.len() <= half);
    for (id, &class) in (0..).zip(first) {
        assert!(schema.exemplars[class as usize] <= id);
    }
}

#[test]
fn knows_what_enums_declare() {
    fn check(numbers: &[i32], declared: &[i64], undeclared: &[i64], choices: f64) {
        let enumeration = Enumeration::new(numbers.to_vec());
        assert!(declared.iter().all(|&number| enumeration.declares(number)), "{numbers:?}");
        assert!(!undeclared.iter().any(|&number| enumeration.declares(number)), "{numbers:?}");
        assert_eq!(enumeration.log_choices, choices.ln(), "{numbers:?}");
    }
    check(&[], &[], &[0, 1], 1.0);
    check(&[0], &[0], &[-1, 1, 1 << 32], 1.0);
    check(&[1, 0, 1], &[0, 1], &[2], 1.0);
    check(&[-1, 0, 5], &[-1, 0, 5], &[-2, 1, 4, 6], 2.0);
    check(&[3, 1, 2], &[1, 2, 3], &[0, 4], 3.0);
}

//! Examples are accepted as they are written.

use std::io::Write;

use dead_letter_office::config::rules_of;
use rule_language::Expression;

use super::{blocks, configuration::accept, pages, read};

#[tokio::test]
async fn every_example_of_a_configuration_is_accepted() {
    let mut n_examples = 0;
    for page in pages() {
        for example in blocks(&read(&page), "toml") {
            let outcome = if example.contains("[[rule]]") { rules(&example).await } else { configuration(&example) };
            assert_eq!(outcome, Ok(()), "{page}:\n{example}");
            n_examples += 1;
        }
    }
    assert!(n_examples > 5, "{n_examples}");
}

#[test]
fn every_example_of_a_rule_is_one() {
    let mut n_examples = 0;
    for page in pages() {
        for example in blocks(&read(&page), "cel").iter().flat_map(|block| block.lines()) {
            let rule = example.split("//").next().unwrap_or_default();
            assert_eq!(Expression::compile(rule).err(), None, "{page}: {rule}");
            n_examples += 1;
        }
    }
    assert!(n_examples > 3, "{n_examples}");
}

fn configuration(example: &str) -> Result<(), String> {
    accept(example, &[]).map(drop)
}

async fn rules(example: &str) -> Result<(), String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(example.as_bytes()).unwrap();
    for standing in rules_of(file.path()).await? {
        Expression::compile(&standing.rule.expression).map_err(|mistakes| format!("{mistakes:?}"))?;
    }
    Ok(())
}

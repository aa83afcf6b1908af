use super::*;

/// Of each mistake its columns and what it says.
#[track_caller]
fn check(text: &str, expected: &[(usize, usize, &str)]) {
    let mistakes = LANGUAGE.parse(text).expect_err(text);
    let told: Vec<_> = mistakes.iter().map(|it| (it.column, it.end_column, &*it.message)).collect();
    assert_eq!(told.len(), expected.len(), "{text}: {told:?}");
    for (told, expected) in told.iter().zip(expected) {
        assert_eq!((told.0, told.1), (expected.0, expected.1), "{text}: {told:?}");
        assert!(told.2.contains(expected.2), "{text}: {told:?}");
    }
}

#[test]
fn a_mistake_is_told_with_its_place() {
    check("quue:x", &[(1, 5, "there is no field quue; did you mean queue?")]);
    check("é http://x", &[(3, 7, "there are queue, status, attempts, error, payload.…; put a text with a colon")]);
    check("payload:1", &[(1, 8, "payload takes a path behind it, as in payload.id")]);
    check("queue.x:1", &[(1, 8, "queue has no fields of its own")]);
    check("status:opne", &[(8, 12, "\"opne\" is not possible: it takes open or retried")]);
    check("status:open,opne", &[(13, 17, "it takes open or retried")]);
    check("attempts:>x", &[(10, 12, "it takes a number")]);
    check(
        "attempts:1,2",
        &[(10, 13, "attempts takes one value and no list: it takes a number, or is compared as in attempts:>1")],
    );
    check("attempts:\"1\",2", &[(10, 13, "attempts takes one value and no list")]);
    check("error:\"a\",b", &[(7, 10, "error takes one value and no list")]);
    check("status:>open", &[(8, 13, "status cannot be compared by >")]);
    check("queue:", &[(7, 7, "a value is missing")]);
    check("queue: x", &[(7, 7, "a value is missing")]);
    check("queue:a,", &[(9, 9, "a value is missing")]);
    check("a \"b c", &[(3, 4, "this quote is not closed")]);
    check("error:\"b c", &[(7, 8, "this quote is not closed")]);
    check("\"a\"b", &[(1, 4, "a space is missing behind this quote")]);
    check("payload.\"a b\"", &[(1, 11, "a path takes no quotes")]);
    check("\"\"", &[(1, 3, "there is nothing in these quotes")]);
    check("(a", &[(1, 2, "this bracket is not closed")]);
    check("a)", &[(2, 3, "no bracket is open here")]);
    check("a ()", &[(3, 5, "these brackets are empty")]);
    check("a OR", &[(5, 5, "OR takes something on both sides")]);
    check("OR a", &[(1, 3, "OR takes something on both sides")]);
    check("a OR nofield:1", &[(6, 13, "there is no field nofield")]);
    check("a AND", &[(3, 6, "AND takes something on both sides")]);
    check("a - b", &[(3, 4, "a minus or NOT takes a term")]);
}

#[test]
fn all_of_them_are_told_in_order() {
    check("quue:x status:opne attempts:many", &[(1, 5, "queue"), (15, 19, "open"), (29, 33, "number")]);
}

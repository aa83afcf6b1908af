//! From lines to the database: all of them, or none.

use std::{collections::HashMap, io::BufRead};

use serde_json::Value;
use sqlx::AssertSqlSafe;

use super::{
    DumpError, FORMAT, Foot, Head, Table, Version,
    value::{Cell, column},
};
use crate::store::{
    Store, StoreError,
    db::{Either, LockTable, Tx, columns, on},
};

/// Rows that go into the database by one statement, and bytes of lines that are held for it.
const ROWS_AT_ONCE: usize = 500;
const BYTES_AT_ONCE: usize = 4 << 20;

impl Store {
    /// Reads what [`export`](Store::export) has written, from either database, into this one, which has to be empty. All of
    /// it is there afterwards, or nothing; it returns how many rows that were.
    ///
    /// # Errors
    /// [`DumpError::Line`] for a line that is not as it was written, [`DumpError::NotEmpty`] where something is in the way.
    pub async fn import(&self, input: &mut (impl BufRead + Send)) -> Result<u64, DumpError> {
        const NOBODY_ELSE: LockTable = LockTable("LOCK TABLE letters IN ACCESS EXCLUSIVE MODE");
        self.check_version().await?;
        let mut tx = self.db.begin().await?;
        tx.lock_table(NOBODY_ELSE).await?;
        let tables = Table::all(&mut tx).await?;
        check_empty(&mut tx, &tables).await?;
        let mut lines = Lines { input, line: 0 };
        let version = Version { format: FORMAT, database: self.newest_version() };
        lines.head(&version)?;
        let rows = read_rows(&mut tx, &tables, &mut lines).await?;
        check_letters(&mut tx).await?;
        go_on_counting(&mut tx, &tables).await?;
        forget_index(&mut tx).await?;
        tx.commit().await?;
        Ok(rows)
    }
}

async fn check_empty(tx: &mut Tx, tables: &[Table]) -> Result<(), DumpError> {
    let mut full = Vec::new();
    for table in tables {
        if !table.is_empty(tx).await? {
            full.push(table.name);
        }
    }
    if full.is_empty() { Ok(()) } else { Err(DumpError::NotEmpty(format!("rows in {}", full.join(", ")))) }
}

/// Lines, and the number of the one that was read last.
struct Lines<'i, R> {
    input: &'i mut R,
    line: u64,
}

impl<R: BufRead> Lines<'_, R> {
    fn next(&mut self) -> Result<Vec<u8>, DumpError> {
        let mut bytes = Vec::new();
        self.line += 1;
        match self.input.read_until(b'\n', &mut bytes) {
            Ok(0) => Err(self.wrong("the file ends here without the line that ends an export: it was cut short")),
            Ok(_) => Ok(bytes),
            Err(error) => Err(self.wrong(error)),
        }
    }

    fn wrong(&self, why: impl ToString) -> DumpError {
        DumpError::Line { line: self.line, why: why.to_string() }
    }

    fn head(&mut self, version: &Version) -> Result<(), DumpError> {
        let bytes = self.next()?;
        let head: Head = serde_json::from_slice(&bytes).map_err(|_| self.wrong("this is no export of dlo"))?;
        if head.dlo_export == *version {
            return Ok(());
        }
        let (theirs, ours) = (head.dlo_export.database, version.database);
        Err(self.wrong(format!(
            "it is of a database at version {theirs}, and this one is at {ours}; import it with the dlo that has exported it, \
             then let this one bring that database to its version"
        )))
    }

    /// Nothing may come behind the last line.
    fn end(&mut self, foot: &Foot, rows: u64) -> Result<(), DumpError> {
        if foot.end.rows != rows {
            return Err(self.wrong(format!("there should be {} rows before it, and there are {rows}", foot.end.rows)));
        }
        let is_over = self.input.fill_buf()?.is_empty();
        self.line += 1;
        if is_over { Ok(()) } else { Err(self.wrong("nothing comes behind the line that ends an export")) }
    }
}

/// Rows of one table that wait for their statement, with the numbers of their lines.
#[derive(Default)]
struct Batch {
    table: usize,
    rows: Vec<(u64, Vec<Cell>)>,
    bytes: usize,
}

impl Batch {
    fn is_full_for(&self, table: usize) -> bool {
        self.table != table || self.rows.len() >= ROWS_AT_ONCE || self.bytes >= BYTES_AT_ONCE
    }
}

async fn read_rows<R: BufRead>(tx: &mut Tx, tables: &[Table], lines: &mut Lines<'_, R>) -> Result<u64, DumpError> {
    let by_name: HashMap<&str, usize> = tables.iter().enumerate().map(|(n, table)| (table.name, n)).collect();
    let (mut batch, mut rows) = (Batch::default(), 0);
    loop {
        let bytes = lines.next()?;
        if let Ok(foot) = serde_json::from_slice::<Foot>(&bytes) {
            insert(tx, &tables[batch.table], &batch.rows).await?;
            lines.end(&foot, rows)?;
            return Ok(rows);
        }
        let (table, cells) = read_row(&bytes, tables, &by_name).map_err(|why| lines.wrong(why))?;
        if batch.is_full_for(table) {
            insert(tx, &tables[batch.table], &batch.rows).await?;
            batch = Batch { table, ..Batch::default() };
        }
        batch.bytes += bytes.len();
        batch.rows.push((lines.line, cells));
        rows += 1;
    }
}

/// What a line says, which is never repeated where it is wrong: it may be a message.
fn read_row(bytes: &[u8], tables: &[Table], by_name: &HashMap<&str, usize>) -> Result<(usize, Vec<Cell>), String> {
    let wrong = |error: serde_json::Error| format!("this is no JSON at column {}", error.column());
    let Value::Object(line) = serde_json::from_slice(bytes).map_err(wrong)? else {
        return Err("this is no object".to_owned());
    };
    let mut named = line.into_iter();
    let (Some((name, Value::Object(mut row))), None) = (named.next(), named.next()) else {
        return Err("it takes {\"table\":{…}}".to_owned());
    };
    let table = *by_name.get(name.as_str()).ok_or("there is no such table")?;
    let mut cells = Vec::with_capacity(tables[table].columns.len());
    for (column, kind) in &tables[table].columns {
        let cell = row.remove(column).map_or(Ok(Cell::Null), |value| Cell::read(*kind, value));
        cells.push(cell.map_err(|takes| format!("{name}.{column} takes {takes}"))?);
    }
    match row.keys().next() {
        None => Ok((table, cells)),
        Some(_) => Err(format!("{name} has other columns")),
    }
}

/// A row that the database refuses is looked for among those that come with it.
async fn insert(tx: &mut Tx, table: &Table, rows: &[(u64, Vec<Cell>)]) -> Result<(), DumpError> {
    let Err(error) = try_insert(tx, table, rows).await else { return Ok(()) };
    if !error.is_refusal() {
        return Err(error.into());
    }
    for row in rows.chunks(1) {
        let refused = |error: StoreError| DumpError::Line { line: row[0].0, why: error.to_string() };
        try_insert(tx, table, row).await.map_err(refused)?;
    }
    Ok(())
}

/// Where it fails nothing has changed.
async fn try_insert(tx: &mut Tx, table: &Table, rows: &[(u64, Vec<Cell>)]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let before = format!("INSERT INTO \"{}\" ({}) ", table.name, table.names());
    let kinds = table.columns.iter().enumerate();
    let values = kinds.map(|(n, (_, kind))| column(*kind, rows.iter().map(move |(_, cells)| &cells[n]))).collect();
    on!(&mut *tx, |tx| sqlx::query("SAVEPOINT rows").execute(&mut **tx).await.map(drop)?);
    let inserted = columns::execute(tx, [&before, ""], values).await;
    let end = if inserted.is_ok() { "RELEASE rows" } else { "ROLLBACK TO rows" };
    on!(tx, |tx| sqlx::query(end).execute(&mut **tx).await.map(drop)?);
    inserted
}

/// What can be counted has to agree: lists and counts are read from it.
async fn check_letters(tx: &mut Tx) -> Result<(), DumpError> {
    const CHECKS: [(&str, &str); 3] = [
        (
            "SELECT EXISTS (SELECT 1 FROM letters l WHERE NOT EXISTS (SELECT 1 FROM contents c WHERE c.letter_id = l.id))",
            "there are letters without their message",
        ),
        (
            "SELECT EXISTS (SELECT 1 FROM letters l WHERE NOT EXISTS (SELECT 1 FROM facets f WHERE f.id = l.facet_id))",
            "there are letters without their row in facets",
        ),
        (
            "SELECT EXISTS (SELECT 1 FROM facets f
                WHERE f.count <> (SELECT COUNT(*) FROM letters l WHERE l.facet_id = f.id))",
            "the counts in facets are not those of the letters",
        ),
    ];
    for (sql, why) in CHECKS {
        let is_wrong: bool = on!(&mut *tx, |tx| sqlx::query_scalar(sql).fetch_one(&mut **tx).await?);
        if is_wrong {
            return Err(DumpError::Inconsistent(why.to_owned()));
        }
    }
    Ok(())
}

/// Postgres does not see which numbers are taken where it did not give them itself.
async fn go_on_counting(tx: &mut Tx, tables: &[Table]) -> Result<(), StoreError> {
    const COUNTING: &str = "SELECT CAST(attname AS TEXT) FROM pg_attribute
        WHERE attrelid = to_regclass($1) AND attidentity <> '' AND NOT attisdropped";
    let Either::Postgres(tx) = tx else { return Ok(()) };
    for table in tables {
        let name = table.name;
        let column: Option<String> = sqlx::query_scalar(COUNTING).bind(name).fetch_optional(&mut **tx).await?;
        let Some(column) = column else { continue };
        let set = format!(
            "SELECT setval(pg_get_serial_sequence('{name}', '{column}'), coalesce(max(\"{column}\"), 0) + 1, false) FROM \"{name}\""
        );
        sqlx::query(AssertSqlSafe(set)).execute(&mut **tx).await?;
    }
    Ok(())
}

/// Whatever was indexed before: the server makes the index when it starts.
async fn forget_index(tx: &mut Tx) -> Result<(), StoreError> {
    on!(tx, |tx| sqlx::query("DELETE FROM search_settings").execute(&mut **tx).await.map(drop)?);
    Ok(())
}

//! From the database to lines.

use std::{
    io::{BufWriter, Write},
    path::Path,
};

use futures_util::TryStreamExt;
use serde_json::{Map, Value};
use sqlx::{AssertSqlSafe, Row};

use super::{
    DumpError, FORMAT, Foot, Head, Rows, Table, Version,
    value::{Kind, to_json},
};
use crate::store::{
    Store,
    db::{Tx, file::NewFile, on},
};

impl Store {
    /// Writes all that is in the database, as it is at one moment, whoever writes to it meanwhile. It returns how many rows
    /// that were, and holds one of them at a time.
    ///
    /// # Errors
    /// If the database is of another version than this program.
    pub async fn export(&self, out: &mut (impl Write + Send)) -> Result<u64, DumpError> {
        self.check_version().await?;
        let mut tx = self.db.snapshot().await?;
        line(out, &Head { dlo_export: Version { format: FORMAT, database: self.newest_version() } })?;
        let mut rows = 0;
        for table in Table::all(&mut tx).await? {
            rows += write_rows(&mut tx, &table, out).await?;
        }
        line(out, &Foot { end: Rows { rows } })?;
        out.flush()?;
        Ok(rows)
    }
}

impl Store {
    /// The same into a file that is not there yet and that others cannot read: it holds whole messages.
    pub async fn export_to(&self, file: &Path) -> Result<u64, DumpError> {
        let new = NewFile::create(file)?;
        let rows = self.export(&mut BufWriter::new(&new.opened)).await?;
        new.finish()?;
        Ok(rows)
    }
}

async fn write_rows(tx: &mut Tx, table: &Table, out: &mut (impl Write + Send)) -> Result<u64, DumpError> {
    let sql = format!("SELECT {} FROM \"{}\" ORDER BY {}", table.names(), table.name, table.order);
    let mut n_rows = 0;
    on!(tx, |tx| {
        let mut rows = sqlx::query(AssertSqlSafe(sql)).fetch(&mut **tx);
        while let Some(row) = rows.try_next().await? {
            let mut values = Map::with_capacity(table.columns.len());
            for (n, (name, kind)) in table.columns.iter().enumerate() {
                if let Some(value) = to_json!(row, n, kind) {
                    values.insert(name.clone(), value);
                }
            }
            line(out, &Map::from_iter([(table.name.to_owned(), Value::Object(values))]))?;
            n_rows += 1;
        }
    });
    Ok(n_rows)
}

fn line(out: &mut impl Write, line: &impl serde::Serialize) -> Result<(), DumpError> {
    serde_json::to_writer(&mut *out, line).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

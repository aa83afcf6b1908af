//! What channels have heard of the incidents that are open.

use sqlx::QueryBuilder;

use super::{COLUMNS, Row};
use crate::{
    domain::notification::NotificationRecord,
    store::{
        StoreError, StoreReader,
        db::{id_list::push_texts, on},
    },
};

impl StoreReader {
    /// What was sent, or is to be sent, about the open incidents of these keys since they were opened, the newest first. Of
    /// those to one channel that are in the same state, with the same problem, only the newest: so it is not much,
    /// however often people are reminded.
    pub async fn notifications_of_incidents(&self, keys: &[String]) -> Result<Vec<NotificationRecord>, StoreError> {
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(
                " FROM notifications WHERE seq IN (SELECT max(n.seq) FROM notifications n
                JOIN incidents i ON i.key = n.subject AND i.resolved_at IS NULL AND n.created_at >= i.opened_at
                WHERE n.subject IN ",
            );
            push_texts(&mut select, keys.to_vec());
            select.push(" GROUP BY n.subject, n.channel, n.state, n.problem) ORDER BY seq DESC");
            select.build_query_as().fetch_all(pool).await?
        });
        rows.into_iter().map(NotificationRecord::try_from).collect()
    }
}

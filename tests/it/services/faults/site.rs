//! What faults happen to, and how each begins and ends.

use tokio::task::block_in_place;

use super::{
    super::{
        desk::{PATIENCE, TestDatabase},
        line::{Line, Pace},
    },
    clock::ServerClock,
    plan::{Fault, MESSAGES, Plan},
    servers::Server,
    traffic::Traffic,
};
use crate::support::{postgres::Postgres, process::wait_until, rabbit::Doomed, small_disk::SmallDisk};

/// What all servers depend on.
pub struct Site<'a> {
    pub rabbit: &'a mut Doomed,
    pub postgres: Option<&'a mut Postgres>,
    /// To whatever Postgres is in charge.
    way: Option<Line>,
    /// Where a SQLite database is.
    disk: Option<SmallDisk>,
    pub clock: ServerClock,
    /// In the end, for it goes with its disk.
    database: TestDatabase,
}

impl<'a> Site<'a> {
    /// `None` where tests for it may be skipped.
    pub async fn new(rabbit: &'a mut Doomed, postgres: Option<&'a mut Postgres>) -> Option<Self> {
        let database = postgres.as_deref().map_or_else(TestDatabase::sqlite, TestDatabase::on);
        let disk = match database.directory() {
            Some(directory) => Some(SmallDisk::at(directory)?),
            None => None,
        };
        let way = if postgres.is_some() { Some(Line::to(&database.url).await) } else { None };
        Some(Self { rabbit, postgres, way, disk, clock: ServerClock::right()?, database })
    }

    pub fn database_url(&self) -> String {
        self.way.as_ref().map_or_else(|| self.database.url.clone(), Line::url)
    }

    /// What a server has to be started within.
    pub const fn disk(&self) -> Option<&SmallDisk> {
        self.disk.as_ref()
    }

    /// The database is from now on where everybody finds it. No server runs.
    pub fn leave_disk(&mut self) {
        if let Some(disk) = self.disk.take() {
            disk.move_out();
        }
    }

    /// Makes all of these faults and heals them, and says which they were in the end. Messages go on meanwhile, as far as
    /// they let them.
    pub async fn inflict(
        &mut self,
        faults: &[Fault],
        victim: usize,
        servers: &mut [Server],
        traffic: &Traffic<'_>,
        plan: &mut Plan,
    ) -> Vec<Fault> {
        let set_backs: usize = servers.iter().map(Server::set_backs).sum();
        let mut ended_as = Vec::new();
        for fault in faults {
            ended_as.push(self.begin(*fault, &mut servers[victim], traffic, plan).await);
        }
        traffic_meanwhile(faults, traffic).await;
        match faults {
            [Fault::FullDisk] => await_said(servers, traffic, "database_full").await,
            [Fault::ClockBehind] => await_set_back(servers, set_backs).await,
            // Nobody can notice what nobody has seen.
            [Fault::ClockAhead] => {
                for server in servers.iter() {
                    server.looks_at_clock().await;
                }
            }
            _ => {}
        }
        for fault in faults {
            self.end(*fault, &mut servers[victim]).await;
        }
        if faults == [Fault::ClockAhead] {
            await_set_back(servers, set_backs).await;
        }
        ended_as
    }

    async fn begin(&mut self, fault: Fault, server: &mut Server, traffic: &Traffic<'_>, plan: &mut Plan) -> Fault {
        match fault {
            Fault::FullDisk => self.small_disk().fill(),
            Fault::KillDatabase => block_in_place(|| self.postgres().kill()),
            Fault::FailOver => self.fail_over(traffic).await,
            Fault::KillBroker => {
                block_in_place(|| self.rabbit.kill());
                self.rabbit.start().await;
                traffic.reconnect().await;
            }
            Fault::Alarm => block_in_place(|| self.rabbit.memory_alarm(true)),
            Fault::DiskAlarm => block_in_place(|| self.rabbit.disk_alarm(true)),
            Fault::CutDatabase => server.database.iter().for_each(Line::cut),
            Fault::SlowDatabase => server.set_database_pace(Pace::Late(plan.lateness())),
            Fault::SilentDatabase => server.set_database_pace(Pace::Never),
            Fault::CutBroker => server.broker.cut(),
            Fault::SlowBroker => server.broker.set_pace(Pace::Late(plan.lateness())),
            Fault::SilentBroker => server.broker.set_pace(Pace::Never),
            Fault::ClockAhead => self.clock.put_ahead(plan.jump()),
            Fault::ClockBehind => self.clock.put_behind(plan.jump()),
            Fault::KillServer => block_in_place(|| server.kill()),
            Fault::StopServer => return server.stop().await,
        }
        fault
    }

    async fn end(&mut self, fault: Fault, server: &mut Server) {
        match fault {
            Fault::FullDisk => self.small_disk().make_room(),
            Fault::KillDatabase => block_in_place(|| self.postgres().start_again()),
            Fault::Alarm => block_in_place(|| self.rabbit.memory_alarm(false)),
            Fault::DiskAlarm => block_in_place(|| self.rabbit.disk_alarm(false)),
            Fault::SlowDatabase | Fault::SilentDatabase => server.set_database_pace(Pace::AtOnce),
            Fault::SlowBroker | Fault::SilentBroker => server.broker.set_pace(Pace::AtOnce),
            Fault::ClockAhead | Fault::ClockBehind => self.clock.put_right(),
            Fault::KillServer | Fault::StopServer => server.run(self.disk.as_ref()).await,
            Fault::FailOver | Fault::KillBroker | Fault::CutDatabase | Fault::CutBroker => {}
        }
    }

    /// What is committed while there is a standby is on it, too.
    async fn fail_over(&mut self, traffic: &Traffic<'_>) {
        let standby = self.postgres().standby().await;
        traffic.await_published(MESSAGES / 3).await;
        let (postgres, way) = (self.postgres.as_mut().expect("only Postgres fails over"), &self.way);
        block_in_place(|| postgres.fail_over(standby));
        way.iter().for_each(|way| way.lead_to(&postgres.url()));
    }

    fn small_disk(&self) -> &SmallDisk {
        let of_postgres = self.postgres.as_ref().and_then(|postgres| postgres.disk());
        self.disk.as_ref().or(of_postgres).expect("only a small disk is filled")
    }

    fn postgres(&mut self) -> &mut Postgres {
        self.postgres.as_mut().expect("only Postgres is killed")
    }
}

/// As many messages as these faults let through.
async fn traffic_meanwhile(faults: &[Fault], traffic: &Traffic<'_>) {
    let is_server = |fault: &Fault| matches!(fault, Fault::KillServer | Fault::StopServer | Fault::KillDatabase);
    if faults.iter().any(|fault| fault.is_alarm()) {
        traffic.await_delivered().await;
    } else if faults.iter().all(is_server) {
        traffic.await_published(MESSAGES / 3).await;
    } else if !faults.iter().all(|fault| fault.is_instant()) {
        traffic.await_published(0).await;
    }
}

/// A server has noticed that the clock was put back, more often than `before`.
async fn await_set_back(servers: &[Server], before: usize) {
    let noticed = async || servers.iter().map(Server::set_backs).sum::<usize>() > before;
    wait_until("a clock that was put back to be noticed", PATIENCE, noticed).await;
}

/// Messages come until a server says that this is wrong.
async fn await_said(servers: &[Server], traffic: &Traffic<'_>, condition: &str) {
    wait_until(condition, PATIENCE, async || {
        for server in servers {
            if server.says(condition).await {
                return true;
            }
        }
        traffic.allow(1);
        traffic.await_published(0).await;
        false
    })
    .await;
}

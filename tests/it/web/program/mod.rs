//! The program: what it says of its configuration, how it begins and how it ends.

mod check;
mod config;
mod decode;
mod demo;
mod effective;
mod health;
mod life;
mod log;
mod reload;
mod remote;
mod rules;
mod telling;
mod tls;
mod topology;

//! The program: what it says of its configuration, how it begins and how it ends.

mod check;
mod config;
mod decode;
mod demo;
mod health;
mod life;
mod log;
mod rules;
mod telling;
mod topology;

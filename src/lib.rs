//! Keeps, explains and sends back the messages that RabbitMQ services could not process.
#![doc = include_str!("../ARCHITECTURE.md")]

mod app;
pub mod cli;
pub mod clock;
pub mod config;
mod crash_point;
pub mod demo;
pub mod domain;
pub mod grouping;
pub mod metrics;
pub mod notify;
pub mod rabbitmq;
pub mod services;
pub mod store;
pub mod web;

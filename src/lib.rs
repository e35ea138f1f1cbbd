//! `ungil` ports CPython C extensions to the free-threaded build.
//!
//! The stages, each a module that knows nothing of the later ones:
//! [`source`] → [`lex`] → [`preprocess`] → [`parse`] → [`lower`] → [`mod@cfg`] → ownership → rules →
//! [`edit`] → validate → diff.

pub mod ast;
pub mod build;
pub mod calls;
pub mod capi;
pub mod cfg;
pub mod cli;
pub mod compat;
pub mod dataflow;
pub mod diff;
pub mod edit;
pub mod engine;
pub mod facts;
pub mod lex;
pub mod lower;
pub mod memory;
pub mod modules;
pub mod ownership;
pub mod package;
pub mod parse;
pub mod pr;
pub mod preprocess;
pub mod program;
pub mod provenance;
pub mod render;
pub mod review;
pub mod roles;
pub mod rule;
pub mod sections;
pub mod series;
pub mod source;
pub mod state;
pub mod stress;
pub mod strong;
pub mod template;
#[cfg(test)]
mod testing;
pub mod validate;
pub mod writes;

#[path = "../transforms/mod.rs"]
pub mod transforms;

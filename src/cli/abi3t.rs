//! `ungil check --abi3t`: what keeps the modules from the stable ABI of Python 3.15.

use anyhow::bail;

use super::Status;
use super::args::CheckArgs;
use super::output::deliver;
use super::session::{Ledger, Session};
use super::talk::{Talk, counted};
use crate::render::{OutputFormat, abi3t, abi3t_json};

pub(super) fn run(args: &CheckArgs, talk: &Talk) -> anyhow::Result<Status> {
    let write = match args.output_format {
        OutputFormat::Full => abi3t,
        OutputFormat::Json => abi3t_json,
        _ => bail!("`--abi3t` supports only `--output-format full` and `json`"),
    };
    let session = Session::read(&args.analysis, Ledger::AsAsked, talk)?;
    let found = session.abi3t(talk);
    let text = write(session.view(false), &found);
    deliver(text.as_bytes(), args.output_file.as_deref())?;
    let blocked = found
        .modules
        .iter()
        .filter(|module| !module.obstacles.is_empty());
    let blocked = blocked.count();
    talk.info(&match (found.modules.len(), blocked) {
        (0, _) => "No modules".to_owned(),
        (_, 0) => "Nothing prevents a build for `abi3t`".to_owned(),
        (all, _) => format!(
            "{blocked} of {} cannot be built for `abi3t`",
            counted(all, "module", "modules")
        ),
    });
    if found.not_understood > 0 {
        let lost = counted(found.not_understood, "function was", "functions were");
        talk.info(&format!(
            "{lost} not analysed, and may use more that `abi3t` does not have"
        ));
    }
    Ok(match blocked {
        _ if session.settings.strict && found.not_understood > 0 => Status::CoverageGap,
        0 => Status::Clean,
        _ => Status::Findings,
    })
}

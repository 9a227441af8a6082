// Prio3 by the crate `prio`. One JSON object per line in, one out; bytes are base64, numbers are text.

use std::io::{BufRead, Write, stdin, stdout};

use base64::{Engine, engine::general_purpose::STANDARD};
use prio::codec::{Encode, ParameterizedDecode};
use prio::flp::Type;
use prio::topology::ping_pong::{PingPongState, PingPongTopology};
use prio::vdaf::prio3::{Prio3, Prio3InputShare, Prio3PublicShare};
use prio::vdaf::xof::XofTurboShake128;
use prio::vdaf::{AggregateShare, Aggregator, Client, Collector};
use serde_json::{Value, json};

type Found<T> = Result<T, String>;

fn said<T, E: std::fmt::Display>(result: Result<T, E>) -> Found<T> {
    result.map_err(|error| error.to_string())
}

fn bytes(from: &Value, name: &str) -> Found<Vec<u8>> {
    said(STANDARD.decode(from[name].as_str().ok_or(format!("no {name}"))?))
}

fn array<const N: usize>(from: &Value, name: &str) -> Found<[u8; N]> {
    bytes(from, name)?
        .try_into()
        .map_err(|_| format!("{name} has another length"))
}

fn numbers(from: &Value, name: &str) -> Found<Vec<u128>> {
    let list = from[name].as_array().ok_or(format!("no {name}"))?;
    list.iter()
        .map(|one| said(one.as_str().ok_or("no text")?.parse()))
        .collect()
}

fn encoded(from: &impl Encode) -> Found<Value> {
    Ok(json!(STANDARD.encode(said(from.get_encoded())?)))
}

// Every variant has a type of measurement and of result of its own: `to` and `from` turn them into numbers.
fn answer<T: Type>(
    vdaf: &Prio3<T, XofTurboShake128, 32>,
    asked: &Value,
    to: impl Fn(&[u128]) -> T::Measurement,
    from: impl Fn(T::AggregateResult) -> Vec<u128>,
) -> Found<Value> {
    let context = bytes(asked, "context")?;
    match asked["operation"].as_str() {
        Some("shard") => {
            let nonce = array(asked, "nonce")?;
            let (public, shares) =
                said(vdaf.shard(&context, &to(&numbers(asked, "measurement")?), &nonce))?;
            let public = encoded(&public)?;
            Ok(
                json!({"public": public, "leader": encoded(&shares[0])?, "helper": encoded(&shares[1])?}),
            )
        }
        Some("verify") => {
            let (leader, helper, messages) = verified(vdaf, asked, &context)?;
            Ok(json!({"leaderOut": leader, "helperOut": helper, "messages": messages}))
        }
        Some("unshard") => {
            let count = numbers(asked, "count")?[0] as usize;
            let shares: Vec<AggregateShare<T::Field>> = said(
                ["leader", "helper"]
                    .iter()
                    .map(|side| {
                        AggregateShare::get_decoded_with_param(&(vdaf, &()), &bytes(asked, side)?)
                            .map_err(|error| error.to_string())
                    })
                    .collect::<Found<_>>(),
            )?;
            let result = from(said(vdaf.unshard(&(), shares, count))?);
            Ok(json!({"result": result.iter().map(u128::to_string).collect::<Vec<_>>()}))
        }
        _ => Err("an unknown operation".into()),
    }
}

// Both sides of one report: output shares, and the messages from leader and helper.
fn verified<T: Type>(
    vdaf: &Prio3<T, XofTurboShake128, 32>,
    asked: &Value,
    context: &[u8],
) -> Found<(Value, Value, Value)> {
    let (key, nonce) = (array(asked, "key")?, array(asked, "nonce")?);
    let public = said(Prio3PublicShare::get_decoded_with_param(
        vdaf,
        &bytes(asked, "public")?,
    ))?;
    let share = |side: usize, name: &str| -> Found<Prio3InputShare<T::Field, 32>> {
        said(Prio3InputShare::get_decoded_with_param(
            &(vdaf, side),
            &bytes(asked, name)?,
        ))
    };
    let leader =
        said(vdaf.leader_initialized(&key, context, &(), &nonce, &public, &share(0, "leader")?))?;
    let helper = said(vdaf.helper_initialized(
        &key,
        context,
        &(),
        &nonce,
        &public,
        &share(1, "helper")?,
        &leader.message,
    ))?;
    let PingPongState::FinishedWithOutbound {
        output_share: helper_out,
        message,
    } = said(helper.evaluate(context, vdaf))?
    else {
        return Err("the helper has not finished".into());
    };
    let leader_end = said(vdaf.leader_continued(context, &(), leader.verifier_state, &message))?;
    let PingPongState::Finished {
        output_share: leader_out,
    } = said(leader_end.evaluate(context, vdaf))?
    else {
        return Err("the leader has not finished".into());
    };
    let summed = |out| said(vdaf.aggregate(&(), [out]));
    Ok((
        encoded(&summed(leader_out)?)?,
        encoded(&summed(helper_out)?)?,
        json!([encoded(&leader.message)?, encoded(&message)?]),
    ))
}

fn answered(line: &str) -> Found<Value> {
    let asked: Value = said(serde_json::from_str(line))?;
    let given = numbers(&asked, "parameters")?;
    let size = |at: usize| given[at] as usize;
    let one = |from: &[u128]| from[0];
    match asked["vdaf"].as_str() {
        Some("count") => answer(
            &said(Prio3::new_count(2))?,
            &asked,
            |from| one(from) == 1,
            |sum| vec![u128::from(sum)],
        ),
        Some("sum") => answer(
            &said(Prio3::new_sum(2, given[0] as u64))?,
            &asked,
            |from| one(from) as u64,
            |sum| vec![u128::from(sum)],
        ),
        Some("sumvec") => answer(
            &said(Prio3::new_sum_vec(2, given[1], size(0), size(2)))?,
            &asked,
            <[u128]>::to_vec,
            |sums| sums,
        ),
        Some("histogram") => answer(
            &said(Prio3::new_histogram(2, size(0), size(1)))?,
            &asked,
            |from| one(from) as usize,
            |sums| sums,
        ),
        Some("multihot") => answer(
            &said(Prio3::new_multihot_count_vec(2, size(0), size(1), size(2)))?,
            &asked,
            |from| from.iter().map(|bit| *bit == 1).collect(),
            |sums| sums,
        ),
        _ => Err("an unknown VDAF".into()),
    }
}

fn main() {
    for line in stdin().lock().lines() {
        let said = answered(&line.expect("input")).unwrap_or_else(|error| json!({"error": error}));
        writeln!(stdout(), "{said}").expect("output");
    }
}

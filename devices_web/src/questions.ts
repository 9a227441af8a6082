/**
 * Questions about the order and the times of events, and a table for experts: the same as
 * `panprivacy.statistics.events.questions`. The fields of a document compile to an automaton.
 */

import { Automaton, type Table } from "./automaton.ts";
import { FieldError } from "./bytes.ts";
import { type Document, object } from "./document.ts";

/** A question as an automaton, and what is made of its states. */
export interface Question {
  /** Names of the events, in the order in which they are applied within a step. */
  readonly events: readonly string[];
  readonly automaton: Automaton;
  /** For each state, the position of its cell. */
  readonly cells: readonly number[];
}

interface Asked {
  /** Fields of its documents, in addition to those of all questions. */
  readonly fields: readonly string[];
  readonly optional?: readonly string[];
  readonly compiled: (document: Document, steps: number) => Question;
}

const EVENT_LENGTH = 60;
const EVENT_ALLOWED =
  `1 to ${EVENT_LENGTH} of the characters a-z, 0-9, dot, _ and -, but no - at the beginning`;
const LABEL_LENGTH = 60;
/** No recipe lists more. */
export const MOST_NAMES = 8;
const MOST_STATES = 64;
const MOST_CELLS = 32;
const MOST_STEPS = 100_000;
const MOST_CLOCKS = 1000;
/** Of states times (names + 1): the work of one step. */
const MOST_WORK = 512;

export const QUESTIONS: Readonly<Record<string, Asked>> = {
  funnel: { fields: ["events"], compiled: funnel },
  retention: { fields: ["event", "period_steps", "periods"], compiled: retention },
  time_to_first: { fields: ["event", "within"], compiled: timeToFirst },
  longest_streak: { fields: ["event", "longest"], compiled: longestStreak },
  both: { fields: ["events"], compiled: both },
  automaton: {
    fields: ["events", "states", "start", "on", "cells"],
    optional: ["at"],
    compiled: tables,
  },
};

/** Whether a statistic is one of these questions. */
export function isRegular(statistic: string): boolean {
  return Object.hasOwn(QUESTIONS, statistic);
}

/**
 * The question of a document whose numbers are within their ranges.
 *
 * @throws FieldError a field that is impossible.
 */
export function readQuestion(statistic: string, document: Document, steps: number): Question {
  return QUESTIONS[statistic]!.compiled(document, steps);
}

/** The name of an event. FieldError naming `field` if it is none. */
export function eventName(field: string, value: unknown): string {
  if (!isEventName(value)) {
    throw new FieldError(field, `must be ${EVENT_ALLOWED}`);
  }
  return value;
}

/** State i: the first i events happened, in order. */
function funnel(document: Document): Question {
  const events = eventNames(document, 2, 6);
  const states = events.length + 1;
  return {
    events,
    automaton: new Automaton({ on: events.map((_, at) => moving(states, [at, at + 1])) }),
    cells: range(states),
  };
}

/**
 * States: no event so far (0); none in the first period (1); in this period (2); last in period i (2 + i). An
 * event leads from all but 1 to 2, and the end of period i from there to 2 + i.
 */
function retention(document: Document, steps: number): Question {
  const [periods, periodSteps] = [document.periods, document.period_steps] as [number, number];
  if (steps !== periods * periodSteps) {
    throw new FieldError("steps", `must be periods times period_steps, ${periods * periodSteps}`);
  }
  const [start, gone, seen] = [0, 1, 2];
  const states = 3 + periods;
  const ends = range(periods).map((before) => {
    const left: [number, number][] = before === 0 ? [[start, gone]] : [];
    return [(before + 1) * periodSteps, moving(states, [seen, seen + before + 1], ...left)] as const;
  });
  return {
    events: [eventName("event", document.event)],
    automaton: new Automaton({ on: [range(states).map((own) => (own === gone ? gone : seen))], at: ends }),
    cells: [0, 0, periods, ...range(periods).map((before) => before + 1)],
  };
}

/**
 * States: no event, and bounds 0, …, i − 1 are over (i, of 0 to m); the first event lay within bound i
 * (m + 1 + i). The clock moves on at each bound.
 */
function timeToFirst(document: Document, steps: number): Question {
  const within = risingNumbers("within", document.within, MOST_CELLS - 1);
  if (within.at(-1)! > steps) {
    throw new FieldError("within", `must be at most steps, ${steps}`);
  }
  const bounds = within.length;
  const states = 2 * bounds + 1;
  return {
    events: [eventName("event", document.event)],
    automaton: new Automaton({
      on: [range(states).map((own) => (own < bounds ? bounds + 1 + own : own))],
      at: within.map((bound, at) => [bound, moving(states, [at, at + 1])] as const),
    }),
    cells: [...range(bounds + 1).map(() => bounds), ...range(bounds)],
  };
}

/**
 * States (b, c): the longest run so far, and the current one; b = `longest` is final. A step without the
 * event ends the current run.
 */
function longestStreak(document: Document): Question {
  const longest = document.longest as number;
  const pairs = range(longest).flatMap((b) => range(b + 1).map((c) => [b, c] as const));
  const final = pairs.length;
  requireShort("longest", final + 1, 1);
  // In the order of the pairs, b(b + 1)/2 of them come ahead of (b, 0).
  const place = (b: number, c: number) => (b * (b + 1)) / 2 + c;
  const on = pairs.map(([b, c]) => (c + 1 === longest ? final : place(Math.max(b, c + 1), c + 1)));
  return {
    events: [eventName("event", document.event)],
    automaton: new Automaton({
      on: [[...on, final]],
      otherwise: [...pairs.map(([b]) => place(b, 0)), final],
    }),
    cells: [...pairs.map(([b]) => b), longest],
  };
}

/** State: which of the events happened, the first name as the lowest bit. */
function both(document: Document): Question {
  const events = eventNames(document, 2, 3);
  const states = range(1 << events.length);
  return {
    events,
    automaton: new Automaton({ on: events.map((_, at) => states.map((own) => own | (1 << at))) }),
    cells: states,
  };
}

/**
 * As written, in the one form that is published: without moves that stay, states by their names or else by
 * their numbers, cells sorted. The order of the cells is that of their first states.
 */
function tables(document: Document, steps: number): Question {
  const events = eventNames(document, 1, MOST_NAMES);
  const names = stateNames(document.states);
  requireShort("states", names.length, events.length);
  const type = Array.isArray(document.states) ? "string" : "number";
  const numbered = (field: string, name: unknown) => {
    const number = names.indexOf(stateText(field, name));
    if (number < 0) {
      const shown = JSON.stringify(name);
      throw new FieldError(field, `names ${shown}, which is none of the ${names.length} states`);
    }
    return number;
  };
  const state = (field: string, name: unknown) => {
    const number = numbered(field, name);
    requirePublishedForm(field, typeof name === type);
    return number;
  };
  const read = (field: string, most: number) => {
    const found = document[field] === undefined ? [] : Object.entries(object(document, field));
    if (found.length > most) {
      throw new FieldError(field, `must have at most ${most} entries`);
    }
    requirePublishedForm(field, field !== "at" || document.at === undefined || found.length > 0);
    return found.map(([key, moves]): [string, Table] => {
      const pairs = Object.entries(object({ [field]: moves }, field));
      const read = pairs.map(([from, to]) => [numbered(field, from), state(field, to)] as const);
      requirePublishedForm(field, read.length > 0 && read.every(([from, to]) => from !== to));
      return [key, moving(names.length, ...read)];
    });
  };
  const on = new Map(read("on", MOST_NAMES));
  const stranger = [...on.keys()].find((name) => !events.includes(name));
  if (stranger !== undefined) {
    throw new FieldError("on", `names ${JSON.stringify(stranger)}, which is none of the events`);
  }
  return {
    events,
    automaton: new Automaton({
      start: state("start", document.start),
      on: events.map((name) => on.get(name) ?? range(names.length)),
      at: read("at", MOST_CLOCKS).map(([step, table]) => [clockStep(step, steps), table] as const),
    }),
    cells: cellsOf(object(document, "cells"), names, state),
  };
}

/** For each state, the position of its cell. */
function cellsOf(
  groups: Record<string, unknown>,
  names: readonly string[],
  state: (field: string, name: unknown) => number,
): number[] {
  const allowed = `must be an object of 2 to ${MOST_CELLS} labels, each with a list of states`;
  const [labels, refusal] = [Object.keys(groups), new FieldError("cells", allowed)];
  if (labels.length < 2 || labels.length > MOST_CELLS || !labels.every(isLabel)) {
    throw refusal;
  }
  const labelOf = new Map<number, string>();
  for (const label of labels) {
    const group = groups[label];
    if (!Array.isArray(group) || group.length === 0) {
      throw refusal;
    }
    let last = -1;
    for (const name of group) {
      const number = state("cells", name);
      if (labelOf.has(number)) {
        throw new FieldError("cells", `must name each state once, not ${JSON.stringify(name)} again`);
      }
      requirePublishedForm("cells", number > last);
      labelOf.set(number, label);
      last = number;
    }
  }
  const missing = names.find((_, number) => !labelOf.has(number));
  if (missing !== undefined) {
    throw new FieldError("cells", `must name every state: ${JSON.stringify(missing)} is missing`);
  }
  const order = [...new Set(names.map((_, number) => labelOf.get(number)!))];
  return names.map((_, number) => order.indexOf(labelOf.get(number)!));
}

/** One question has one document. */
function requirePublishedForm(field: string, kept: boolean): void {
  if (!kept) {
    throw new FieldError(field, "must have its one published form");
  }
}

function clockStep(text: string, steps: number): number {
  if (!/^[1-9][0-9]{0,6}$/.test(text) || Number(text) > steps) {
    throw new FieldError("at", `must name steps from 1 to ${steps}, not ${JSON.stringify(text)}`);
  }
  return Number(text);
}

function stateNames(value: unknown): string[] {
  if (isWhole(value, 2, MOST_STATES)) {
    return range(value).map(String);
  }
  const isList = Array.isArray(value) && value.length >= 2 && value.length <= MOST_STATES;
  if (!isList || !value.every(isLabel) || new Set(value).size < value.length) {
    const allowed = `must be a whole number from 2 to ${MOST_STATES}, or as many names that differ`;
    throw new FieldError("states", allowed);
  }
  return value;
}

function stateText(field: string, value: unknown): string {
  if (!isLabel(value) && !isWhole(value, 0, Number.MAX_SAFE_INTEGER)) {
    throw new FieldError(field, "must be a state: its number from 0, or its name");
  }
  return String(value);
}

function eventNames(document: Document, least: number, most: number): string[] {
  const { events } = document;
  const isList = Array.isArray(events) && events.length >= least && events.length <= most;
  if (!isList || !events.every(isEventName) || new Set(events).size < events.length) {
    throw new FieldError(
      "events",
      `must be ${least} to ${most} names that differ, each of ${EVENT_ALLOWED}`,
    );
  }
  return events;
}

function risingNumbers(field: string, value: unknown, most: number): number[] {
  const isList = Array.isArray(value) && value.length >= 1 && value.length <= most;
  const rises = (number: unknown, at: number, all: unknown[]) =>
    isWhole(number, 1, MOST_STEPS) && (at === 0 || number > (all[at - 1] as number));
  if (!isList || !value.every(rises)) {
    throw new FieldError(field, `must be 1 to ${most} rising whole numbers from 1 to ${MOST_STEPS}`);
  }
  return value;
}

function requireShort(field: string, states: number, names: number): void {
  const most = Math.floor(MOST_WORK / (names + 1));
  if (states > most) {
    const events = `${names} ${names === 1 ? "event" : "events"}`;
    throw new FieldError(field, `makes ${states} states; at most ${most} are possible with ${events}`);
  }
}

function isEventName(value: unknown): value is string {
  return typeof value === "string" && value.length <= EVENT_LENGTH && /^[a-z0-9._][a-z0-9._-]*$/.test(value);
}

/** As `panprivacy.formats.structures` has labels: printable, without spaces at its ends. */
function isLabel(value: unknown): value is string {
  if (typeof value !== "string" || [...value].length > LABEL_LENGTH) {
    return false;
  }
  return /^(?: |[^\p{C}\p{Z}])+$/u.test(value) && value.trim() === value;
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** 0, 1, …, length − 1; as a table, it leaves every state unchanged. */
function range(length: number): number[] {
  return Array.from({ length }, (_, at) => at);
}

/** The table that makes these moves and leaves other states unchanged. */
function moving(states: number, ...moves: readonly (readonly [number, number])[]): Table {
  const next = new Map(moves);
  return range(states).map((own) => next.get(own) ?? own);
}

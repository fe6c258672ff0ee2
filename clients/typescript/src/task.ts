// A task as its owner wrote it, with its terms: read whole, or refused. What is not known here is refused.
import { canonical, taskId, utf8, type Bytes } from "./wire.js";

export interface Task {
  id: Bytes; name: string; owner: string; purpose: string; expires: string; cover: boolean;
  maxBytes: number; pattern: string; answers: number; rounds: number; keepOpen: number;
  rate: number; coinLimit: bigint; threshold: number; rho: number; delta: number; isReplace: boolean;
}

const ALL = "attestation,cover,expires,method,owner,population,purpose,question,rounds,spend,task,terms,version";
const QUESTION = "answers,max_bytes,pattern,sql", ROUNDS = "every,keep_open,n";
const TERMS = "delta,neighbours,rate,rho,threshold", BITS = 2 ** 40;
const has = (value: object, keys: string): boolean => Object.keys(value).sort().join() === keys;

/** A fraction as it is written, `3/50`, a little above its value: prices are never rounded down. */
function price(said: unknown): number {
  const [, top, bottom] = /^([0-9]{1,400})(?:\/([0-9]{1,400}))?$/.exec(String(said)) ?? [];
  if (top === undefined || bottom === "0") throw new Error("no price");
  const scaled = (BigInt(top) * 10n ** 30n) / BigInt(bottom ?? "1") + 1n;
  return Number(scaled) / 1e30;
}

export async function taskFrom(spelled: string): Promise<Task> {
  const all = JSON.parse(spelled);
  const { question, rounds, terms } = all;
  const isKnown = has(all, ALL) && has(question, QUESTION) && has(rounds, ROUNDS) && has(terms, TERMS);
  if (!isKnown || all.version !== 1 || canonical(all) !== spelled) throw new Error("no task of this version");
  if (all.method !== "sample") throw new Error("no method that is known here");
  if (all.attestation !== "none") throw new Error("no evidence that is known here");
  const [top, bottom] = terms.rate;
  const whole = [question.answers, question.max_bytes, rounds.n, rounds.keep_open, terms.threshold, top];
  if (!whole.every((n) => Number.isSafeInteger(n) && n > 0) || bottom !== BITS) throw new Error("no terms");
  if (question.answers * rounds.n > 1000 || question.max_bytes > 252 || top > BITS / 2 || terms.threshold > 2000) throw new Error("no terms");
  const [rho, delta] = [price(terms.rho), price(terms.delta)];
  return {
    id: await taskId(spelled), name: all.task, owner: all.owner, purpose: all.purpose, expires: all.expires,
    cover: all.cover === true, maxBytes: question.max_bytes, pattern: question.pattern, answers: question.answers,
    rounds: rounds.n, keepOpen: rounds.keep_open, rate: top / BITS, coinLimit: BigInt(top) << 20n,
    threshold: terms.threshold, rho, delta, isReplace: terms.neighbours === "replace",
  };
}

/** Whether an answer is one that the task takes: its length, and one set of characters. */
export function isAllowed(value: string, task: Task): boolean {
  const n = utf8(value).length;
  if (n === 0 || n > task.maxBytes || /\p{Cs}/u.test(value)) return false;
  if (task.pattern === "") return !/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.test(value);
  const inside = /^\[([^[\]\\^]+)\]\+$/.exec(task.pattern)?.[1];
  return inside !== undefined && new RegExp(`^[${inside}]+$`, "u").test(value);
}

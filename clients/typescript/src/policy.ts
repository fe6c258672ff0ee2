// What a device itself allows, before it works out an answer: the owner's word is not enough.
import type { Task } from "./task.js";
import { isSigned, type Bytes, type Round } from "./wire.js";

const DAY = 86400, SKEW = 300, YEAR = 366;

/** Limits of one device. An owner without a key is known by the carrier's word alone. */
export interface Policy {
  keys: Record<string, string[]>;
  maxEpsilon: number; maxDelta: number; perDays: number;
  minThreshold: number; maxRate: number; needsCover: boolean;
}

export const POLICY = { maxEpsilon: 2, maxDelta: 1e-5, perDays: 30, minThreshold: 5, maxRate: 0.4, needsCover: true };

/** The rho and the delta of a budget: half of delta turns rho into epsilon, half is for thresholds. */
export function limitOf(policy: Policy): { rho: number; delta: number } {
  const delta = policy.maxDelta / 2, log = -Math.log(delta);
  return { rho: (Math.sqrt(log + policy.maxEpsilon) - Math.sqrt(log)) ** 2, delta };
}

/** Why a device does not answer a round, or nothing where it may. */
export async function refusal(policy: Policy, task: Task, round: Round, proof: Bytes, now: number): Promise<string | null> {
  const keys = policy.keys[task.owner] ?? [];
  const signed = await Promise.all(keys.map((key) => isSigned(key, round, proof)));
  if (!signed.includes(true)) return "the round is not signed by an owner that the device pins";
  const days = (Date.parse(`${task.expires}T00:00:00Z`) / 1000 - Math.floor(now / DAY) * DAY) / DAY;
  if (!(days >= 0 && days <= YEAR)) return "the task is over, or goes on for more than a year";
  const limit = limitOf(policy);
  if (policy.needsCover && !task.cover) return "the task is without cover";
  if (!task.isReplace) return "the task's price hides how many devices take part";
  if (task.rate > policy.maxRate) return "an answer would be sampled too often";
  if (task.threshold < Math.max(5, policy.minThreshold)) return "an answer of too few devices would be shown";
  if (task.rho > limit.rho || task.delta > limit.delta) return "the task costs more than the device allows itself";
  if (isUnderstated(task)) return "the task costs a device more than it says";
  if (round.task.join() !== task.id.join() || round.number >= task.rounds) return "the round is none of the task's";
  if (round.closes - round.opens > task.keepOpen) return "the round is open for longer than the task says";
  if (!(round.opens - SKEW <= now && now < round.closes)) return "the round is not open by the device's clock";
  return null;
}

/** Whether a task certainly costs more than it says: two lower bounds of its true price. */
export function isUnderstated({ rate, threshold, rho, delta, answers, rounds }: Task): boolean {
  if (!(rho >= 1e-12 && delta >= 1e-18 && delta < 0.5)) return true;
  // The chance that a smallest group is sampled whole, which no rho covers.
  if (-Math.expm1(answers * rounds * Math.log1p(-(rate ** threshold))) > delta * (1 + 1e-9)) return true;
  const epsilon = rho + 2 * Math.sqrt(rho * -Math.log(delta));
  return deltaOfOne(rate, threshold, epsilon) > 2 * delta * (1 + 1e-9);
}

/** The exact delta of one sample for one more device in a group of the worst size. */
export function deltaOfOne(rate: number, threshold: number, epsilon: number): number {
  const q = -Math.expm1(Math.log1p(-rate) - epsilon);
  const size = Math.floor((threshold - 1) / q) + 1;
  let total = 0, ways = 0;
  const least = Math.max(threshold, Math.floor(q * size) + 1);
  for (let i = 0; i < least; i++) ways += Math.log((rate * (size - i)) / (i + 1));
  let chance = Math.exp(ways + (size - least) * Math.log1p(-rate));
  for (let count = least; count <= size; count++) {
    const share = count >= size ? -Infinity : Math.log1p(-count / size);
    total += chance * -Math.expm1(epsilon - Math.log1p(-rate) + share);
    chance *= ((size - count) / (count + 1)) * (rate / (1 - rate));
    if (chance <= 1e-17 * total) break;
  }
  return total;
}

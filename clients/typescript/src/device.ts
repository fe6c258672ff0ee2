// A device that answers a fleet: polls, decides, answers, seals, keeps, and sends until taken.
import type { Transport } from "./http.js";
import { limitOf, refusal, type Policy } from "./policy.js";
import { isAllowed, taskFrom, type Task } from "./task.js";
import { body, bytesOf, coin, hex, reportId, roundFrom, seal, type Bytes, type Round } from "./wire.js";

/** A place of the device's own, in no backup. Every write is on disk when it returns. */
export interface Store {
  get(key: string): Promise<string | undefined>;
  /** Keep a value unless there is one; the one that is there. */
  add(key: string, value: string): Promise<string>;
  set(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
  keys(): Promise<string[]>;
}

type Said = string | null | (string | null)[];
export interface Ran { task: string; said: string }
interface Paid { rho: number; delta: number; last: number; secret: string }
interface Kept { descriptor: string; purpose: string; reports: string[] }
const DAY = 86400;

export class Device {
  private readonly sources = new Map<string, () => Said | Promise<Said>>();
  private running: Promise<Ran[]> | null = null;

  constructor(
    private readonly transport: Transport, private readonly store: Store, private readonly policy: Policy,
    private readonly clock: () => number = () => Math.floor(Date.now() / 1000),
  ) {}

  /** Let a function answer the task of this name; null abstains. */
  answers(task: string, say: () => Said | Promise<Said>): void { this.sources.set(task, say); }

  /** Note that somebody agrees to a purpose, word for word; or does no longer. */
  async consent(purpose: string, given = true): Promise<void> {
    const agreed = new Set(await this.agreed());
    agreed[given ? "add" : "delete"](purpose);
    await this.store.set("consent", JSON.stringify([...agreed]));
  }

  /** Destroy the secret, sealed reports and consents. Prices stay, and tasks that were answered are over. */
  async forget(): Promise<void> {
    await this.store.delete("consent");
    await this.store.delete("secret");
    for (const key of await this.store.keys()) if (key.startsWith("round-")) await this.store.set(key, "");
  }

  /** Poll and answer what is open, and send what waits. Safe at any rate, in one process at a time. */
  runOnce(): Promise<Ran[]> {
    this.running ??= this.run().finally(() => { this.running = null; });
    return this.running;
  }

  private async run(): Promise<Ran[]> {
    const found: Ran[] = [];
    for (const key of await this.store.keys()) {
      const kept = key.startsWith("round-") ? await this.store.get(key) : "";
      if (kept) found.push({ task: "", said: await this.send(key, JSON.parse(kept)) });
    }
    if ((await this.agreed()).length === 0) return found;
    const offers = await this.transport.offers().catch(() => null);
    if (offers === null) return [...found, { task: "", said: "the fleet could not be reached" }];
    for (const offer of offers) {
      try {
        const [task, round] = [await taskFrom(offer.task), await roundFrom(offer.descriptor)];
        if (!this.sources.has(task.name)) continue;
        const said = await this.answer(task, round, offer.proof);
        if (said !== null) found.push({ task: task.name, said });
      } catch (error) {
        found.push({ task: "", said: `what was offered is not answered: ${(error as Error).message}` });
      }
    }
    return found;
  }

  private async answer(task: Task, round: Round, proof: Bytes): Promise<string | null> {
    const now = this.clock(), key = `round-${hex(task.id)}-${round.number}`;
    const refused = await refusal(this.policy, task, round, proof, now);
    if (refused !== null) return refused;
    if (!(await this.agreed()).includes(task.purpose)) return "nobody agreed to the purpose";
    if ((await this.store.get(key)) !== undefined) return null;
    const drawn = hex(crypto.getRandomValues(new Uint8Array(32)));
    const secret = bytesOf(await this.store.add("secret", drawn));
    const unpaid = await this.pay(task, secret, now);
    if (unpaid !== null) return unpaid;
    const reports = (await this.sealed(task, round, secret)).map(hex);
    const kept: Kept = { descriptor: hex(round.spelled), purpose: task.purpose, reports };
    // The first that are kept are the only ones that there will ever be.
    const first = await this.store.add(key, JSON.stringify(kept));
    return first === "" ? null : this.send(key, JSON.parse(first));
  }

  /** Note a task's whole price before it is answered, or say why it cannot be. */
  private async pay(task: Task, secret: Bytes, now: number): Promise<string | null> {
    const mine = `paid-${hex(task.id)}`, limit = limitOf(this.policy);
    // By which a secret is known again: with another one the coins of a period would be flipped anew.
    const name = hex(await reportId(secret, { hash: new Uint8Array(32) } as Round, 0));
    let { rho, delta } = task;
    for (const key of await this.store.keys()) {
      if (!key.startsWith("paid-")) continue;
      const paid: Paid = JSON.parse((await this.store.get(key)) ?? "null");
      if (key === mine && paid.secret !== name) return "the task was answered before the device forgot";
      if (key === mine || paid.last <= now - this.policy.perDays * DAY) continue;
      rho += paid.rho;
      delta += paid.delta;
    }
    if (rho > limit.rho || delta > limit.delta) return "the device would spend more than it allows itself";
    await this.store.set(mine, JSON.stringify({ rho: task.rho, delta: task.delta, last: now, secret: name }));
    return null;
  }

  /** One report for each answer that there may be, whatever the answers and however coins fall. */
  private async sealed(task: Task, round: Round, secret: Bytes): Promise<Bytes[]> {
    const said = await Promise.resolve().then(this.sources.get(task.name)).catch(() => null);
    const listed = Array.isArray(said) ? said : [said], seen = new Set<unknown>(), found: Bytes[] = [];
    for (let i = 0; i < task.answers; i++) {
      const value = listed[i], isNew = typeof value === "string" && !seen.has(value);
      seen.add(value);
      const isKept = (await coin(secret, task.id, round.number, i)) < task.coinLimit;
      const sends = isNew && isKept && isAllowed(value, task);
      if (sends || task.cover) found.push(await seal(round, await reportId(secret, round, i), body(sends ? value : null)));
    }
    return found;
  }

  private async send(key: string, kept: Kept): Promise<string> {
    const round = await roundFrom(bytesOf(kept.descriptor));
    const isAgreed = (await this.agreed()).includes(kept.purpose);
    let said = isAgreed ? "sent" : "sealed, and not sent since consent was withdrawn";
    for (const report of isAgreed ? kept.reports : []) {
      const isTaken = await this.transport.post(round, bytesOf(report)).catch(() => null);
      if (isTaken === null && this.clock() < round.closes + DAY) return "sealed, and will be sent again";
      if (!isTaken) said = "the round is over";
    }
    await this.store.set(key, "");
    return said;
  }

  private agreed = async (): Promise<string[]> => JSON.parse((await this.store.get("consent")) ?? "[]");
}

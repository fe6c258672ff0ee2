// A device's way to its relay.
import { bytesOf, hex, type Bytes, type Round } from "./wire.js";

/** A round that is open: its task and its descriptor, and the owner's signature. */
export interface Offer { task: string; descriptor: Bytes; proof: Bytes }
export interface Transport {
  offers(): Promise<Offer[]>;
  /** Whether a report is on disk over there; it is not where the round is over. Throws to try again. */
  post(round: Round, report: Bytes): Promise<boolean>;
}

export class Http implements Transport {
  constructor(private readonly relay: string, private readonly token: string, private readonly seconds = 30) {
    const place = new URL(relay);
    const isHere = place.protocol === "http:" && ["127.0.0.1", "[::1]", "localhost"].includes(place.hostname);
    if (place.protocol !== "https:" && !isHere) throw new Error("a relay is at an address such as https://relay.example");
  }

  async offers(): Promise<Offer[]> {
    const answer = await this.ask("/rounds", { method: "GET" });
    if (answer.status !== 200) throw new Error(`the relay answers ${answer.status}`);
    const { rounds } = (await answer.json()) as { rounds: Record<"task" | "descriptor" | "proof", string>[] };
    return rounds.slice(0, 100).map((one) => (
      { task: one.task, descriptor: bytesOf(one.descriptor), proof: bytesOf(one.proof) }));
  }

  async post(round: Round, report: Bytes): Promise<boolean> {
    const headers = { "Content-Type": "application/vnd.headcount" };
    const answer = await this.ask(`/rounds/${hex(round.hash)}/reports`, { method: "POST", body: report, headers });
    await answer.arrayBuffer();
    if (answer.status !== 204 && answer.status !== 409) throw new Error(`the relay answers ${answer.status}`);
    return answer.status === 204;
  }

  private ask(path: string, more: RequestInit): Promise<Response> {
    const headers = { ...more.headers, Authorization: `Bearer ${this.token}` };
    const signal = AbortSignal.timeout(this.seconds * 1000);
    return fetch(this.relay.replace(/\/$/, "") + path, { ...more, headers, signal, redirect: "error" });
  }
}

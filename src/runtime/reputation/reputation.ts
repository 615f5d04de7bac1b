/**
 * Reputation: the scores of all subjects in the ledger, computed from the entries that were read and from nothing else.
 * Reading continues where it stopped; nothing is stored.
 *
 * Holds memory; otherwise pure.
 */
import { readEntryTime } from '../../ledger/entry.ts'
import type { LedgerEntry } from '../../ledger/entry.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { RingBuffer } from '../../toolbox/ring-buffer.ts'
import { ReputationEvidenceReader } from './evidence.ts'
import type { ReputationEvidence } from './evidence.ts'
import { REPUTATION_FORMULA, REPUTATION_DOMAINS } from './formula.ts'
import type { ReputationDomain, ReputationRule, ReputationRuleId } from './formula.ts'
import { applyReputationChange, computeDecayedScore, createNeutralScore } from './score.ts'
import type { ReputationScore } from './score.ts'

/** One entry that counted for a subject in a domain. */
export interface ReputationEvent {
  readonly rule: ReputationRuleId
  readonly logIndex: number
  readonly epoch: number
  readonly at: string
  /** The change that counted, after the limit per epoch and the bounds of the scale. */
  readonly delta: number
  readonly scoreAfter: number
}

interface Standing {
  readonly current: ReputationScore
  /** The newest events, for lists; older ones count as well. */
  readonly events: RingBuffer<ReputationEvent>
}

/** Entries per piece. */
const PIECE = 2_000
/** How many of a subject's newest events in one domain are listed. */
const MAX_EVENTS = 10_000
const EPOCH_MS = REPUTATION_FORMULA.epoch_seconds * 1_000

export class Reputation {
  readonly #ledger: Pick<Ledger, 'entries' | 'size'>
  readonly #reader = new ReputationEvidenceReader()
  readonly #subjects = new Map<string, Map<ReputationDomain, Standing>>()
  #size = 0
  #epoch = 0

  constructor(ledger: Pick<Ledger, 'entries' | 'size'>) {
    this.#ledger = ledger
  }

  /** How many entries were read. */
  get size(): number {
    return this.#size
  }

  /** The epoch of the newest entry that was read; it never decreases, whatever the clock does. */
  get epoch(): number {
    return this.#epoch
  }

  /** Reads up to a size and yields after each piece. Two concurrent readers read each entry once. */
  *catchUp(to: number): Generator<undefined, void, void> {
    while (this.#size < to) {
      const from = this.#size
      for (const { entry } of this.#ledger.entries(from, Math.min(PIECE, to - from))) this.#read(entry)
      // An entry cannot be read, so reading stops; the verification reports such entries.
      if (this.#size === from) return
      yield
    }
  }

  #read(entry: LedgerEntry): void {
    this.#size = entry.seq + 1
    this.#epoch = Math.max(this.#epoch, Math.floor(readEntryTime(entry) / EPOCH_MS) || 0)
    for (const evidence of this.#reader.read(entry, this.#epoch)) this.#count(evidence, entry)
  }

  #count(evidence: ReputationEvidence, { seq, at }: LedgerEntry): void {
    const { rule } = evidence
    const { domain, ...deltas }: ReputationRule = REPUTATION_FORMULA.rules[rule]
    for (const role of ['caller', 'device', 'named'] as const) {
      const [subject, delta] = [evidence[role], deltas[role]]
      if (subject === undefined || delta === undefined) continue
      const domains = this.#subjects.get(subject) ?? new Map<ReputationDomain, Standing>()
      this.#subjects.set(subject, domains)
      const epoch = this.#epoch
      const { current, events } = domains.get(domain) ?? {
        current: createNeutralScore(epoch),
        events: new RingBuffer<ReputationEvent>(MAX_EVENTS),
      }
      const { after, counted } = applyReputationChange(current, { rule, domain, delta, epoch })
      events.push({ rule, logIndex: seq, epoch, at, delta: counted, scoreAfter: after.score })
      domains.set(domain, { current: after, events })
    }
  }

  has(subject: string): boolean {
    return this.#subjects.has(subject)
  }

  /** The present score; `undefined` where nothing was ever counted. */
  row(subject: string, domain: ReputationDomain): ReputationRow | undefined {
    const standing = this.#subjects.get(subject)?.get(domain)
    return standing === undefined ? undefined : this.#rowOf(subject, domain, standing.current)
  }

  rows(subject: string): readonly ReputationRow[] {
    return REPUTATION_DOMAINS.flatMap((domain) => this.row(subject, domain) ?? [])
  }

  /** Every subject of a domain, best first; equal ones by id in code unit order. */
  leaderboard(domain: ReputationDomain): readonly ReputationRow[] {
    const rows = [...this.#subjects.keys()].flatMap((subject) => this.row(subject, domain) ?? [])
    return rows.toSorted((one, other) => other.score - one.score || (one.node_id < other.node_id ? -1 : 1))
  }

  /** The events, newest first. */
  events(
    subject: string,
    domain: ReputationDomain,
  ): { readonly events: readonly ReputationEvent[]; readonly dropped: number } {
    const { events } = this.#subjects.get(subject)?.get(domain) ?? {}
    return {
      events: events?.newest().toReversed() ?? [],
      dropped: events === undefined ? 0 : events.pushed - events.size,
    }
  }

  #rowOf(subject: string, domain: ReputationDomain, current: ReputationScore): ReputationRow {
    return {
      node_id: subject,
      domain,
      score: computeDecayedScore(current, domain, this.#epoch),
      scar_bps: current.scarBps,
      ban_until_epoch: current.banUntilEpoch,
      last_activity_epoch: current.lastActivityEpoch,
    }
  }
}

/** A row in the form of the original implementation. */
export interface ReputationRow {
  readonly node_id: string
  readonly domain: ReputationDomain
  readonly score: number
  readonly scar_bps: number
  readonly ban_until_epoch: number
  readonly last_activity_epoch: number
}

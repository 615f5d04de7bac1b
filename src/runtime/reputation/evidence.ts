/**
 * Reputation evidence: which ledger entries count for the reputation of which subject. Only entries, never their
 * bodies: bodies can be erased, and scores must not change with them.
 *
 *   call.enter ⋈ call.exit, call.outcome     approval.approved, .denied     device.tools.…     consensus.…
 */
import { parsePeerCallerKey } from '../../bus/caller.ts'
import { readEntryNumberField, readEntryTextField } from '../../ledger/entry.ts'
import type { LedgerEntry } from '../../ledger/entry.ts'
import type { ReputationRuleId } from './formula.ts'

/** The subjects in the three columns of a reputation rule. */
export interface ReputationEvidence {
  readonly rule: ReputationRuleId
  readonly caller?: string
  readonly device?: string
  readonly named?: string
}

interface OpenCall {
  readonly caller: string | undefined
  readonly tool: string
  readonly effect: string
}

interface EndedChange {
  readonly device: string
  readonly epoch: number
}

const CHANGING: ReadonlySet<string> = new Set(['writes', 'sensitive', 'admin'])
const FAILED: ReadonlySet<string> = new Set(['failed', 'timed-out', 'offline'])
/** Entries about people's decisions; the decider is in `by`. */
const DECISIONS: ReadonlySet<string> = new Set([
  'agent.key',
  'approval.approved',
  'approval.denied',
  'device.approved',
  'device.revoked',
  'grant.created',
  'stop.engaged',
  'stop.released',
  'token.created',
  'token.revoked',
])

export class ReputationEvidenceReader {
  readonly #open = new Map<number, OpenCall>()
  /** Changes that ended in this epoch or the one before, whose outcome may become known later. */
  readonly #ended = new Map<number, EndedChange>()
  /** Refusals of this epoch: caller, tool and target. */
  readonly #refused = new Set<string>()
  readonly #equivocated = new Set<string>()
  #epoch = -1

  /** Reads an entry. Entries come in the order of the log, and the epoch never decreases. */
  read(entry: LedgerEntry, epoch: number): readonly ReputationEvidence[] {
    if (epoch !== this.#epoch) this.#beginEpoch(epoch)
    switch (entry.kind) {
      case 'call.enter':
        return this.#enter(entry)
      case 'call.exit':
        return this.#exit(entry)
      case 'call.aborted':
        this.#open.delete(readEntryNumberField(entry, 'call') ?? -1)
        return []
      case 'call.outcome':
        return this.#outcome(entry)
      case 'consensus.equivocated':
        return this.#equivocation(entry)
      default:
        return evidenceOf(entry)
    }
  }

  /** An outcome that arrives two days later no longer counts for its call. */
  #beginEpoch(epoch: number): void {
    this.#epoch = epoch
    this.#refused.clear()
    for (const [call, ended] of this.#ended) if (ended.epoch < epoch - 1) this.#ended.delete(call)
  }

  #enter(entry: LedgerEntry): readonly ReputationEvidence[] {
    const [effect, tool] = [readEntryTextField(entry, 'effect'), readEntryTextField(entry, 'tool') ?? '']
    // Reads say nothing about a subject, and are most of the calls.
    if (effect === undefined || effect === 'reads') return []
    this.#open.set(entry.seq, {
      caller: toCallerReputationSubject(readEntryTextField(entry, 'principal')),
      tool,
      effect,
    })
    return []
  }

  #exit(entry: LedgerEntry): readonly ReputationEvidence[] {
    const call = readEntryNumberField(entry, 'call') ?? -1
    const open = this.#open.get(call)
    this.#open.delete(call)
    const effect = readEntryTextField(entry, 'effect') ?? open?.effect ?? 'reads'
    if (open === undefined || effect === 'reads' || entry['dry_run'] === true || entry['replayed'] === true) return []
    const target = readEntryTextField(entry, 'target')
    const device = target === undefined || effect === 'records' ? undefined : deviceSubject(target)
    if (device !== undefined) this.#ended.set(call, { device, epoch: this.#epoch })
    const rule = this.#ruleOf(entry, { open, effect, target })
    if (rule === undefined) return []
    const about = open.caller === undefined ? {} : { caller: open.caller }
    return [{ rule, ...about, ...(device === undefined ? {} : { device }) }]
  }

  #ruleOf(
    entry: LedgerEntry,
    {
      open,
      effect,
      target = '',
    }: { readonly open: OpenCall; readonly effect: string; readonly target: string | undefined },
  ): ReputationRuleId | undefined {
    const fault = readEntryTextField(entry, 'fault') ?? ''
    if (entry['outcome'] === 'ok') return CHANGING.has(effect) ? 'call-done' : 'record-done'
    if (fault === 'invalid-arguments') return 'call-malformed'
    if (fault === 'not-permitted') {
      const key = [open.caller ?? '', open.tool, target].join('\n')
      const isRepeated = this.#refused.has(key)
      this.#refused.add(key)
      return isRepeated ? 'refusal-repeated' : 'call-refused'
    }
    if (!CHANGING.has(effect)) return undefined
    if (fault === 'unknown-outcome') return 'outcome-unknown'
    return FAILED.has(fault) ? 'call-failed' : undefined
  }

  #outcome(entry: LedgerEntry): readonly ReputationEvidence[] {
    const call = readEntryNumberField(entry, 'call') ?? -1
    const ended = this.#ended.get(call)
    if (ended === undefined) return []
    // Only the first outcome counts, so a device gains nothing by reporting alternating states.
    this.#ended.delete(call)
    if (entry['outcome'] === 'reached') return [{ rule: 'arrived-later', device: ended.device }]
    return entry['outcome'] === 'not-reached' ? [{ rule: 'never-arrived', device: ended.device }] : []
  }

  /** Two contradictory votes count as one offence, however many nodes report them. */
  #equivocation(entry: LedgerEntry): readonly ReputationEvidence[] {
    const voter = readEntryTextField(entry, 'voter')
    const key = `${readEntryTextField(entry, 'approval') ?? ''}\n${voter ?? ''}`
    if (voter === undefined || this.#equivocated.has(key)) return []
    this.#equivocated.add(key)
    return [{ rule: 'equivocated', named: voterSubject(voter) }]
  }
}

function evidenceOf(entry: LedgerEntry): readonly ReputationEvidence[] {
  // An approval that a call gives back is not a second decision of a person.
  if (entry.kind === 'approval.approved' && entry['given_back_by'] !== undefined) return []
  const decision = DECISIONS.has(entry.kind) ? decisionEvidence(entry) : []
  switch (entry.kind) {
    case 'approval.approved':
    case 'approval.denied': {
      const caller = toCallerReputationSubject(readEntryTextField(entry, 'principal'))
      const rule = entry.kind === 'approval.approved' ? 'person-approved' : 'person-denied'
      return [...(caller === undefined ? [] : [{ rule, caller } as const]), ...decision]
    }
    case 'device.tools.withheld':
    case 'device.tools.approved': {
      const device = readEntryTextField(entry, 'device')
      const rule = entry.kind === 'device.tools.withheld' ? 'definition-withheld' : 'definition-approved'
      return device === undefined ? [] : [{ rule, device: deviceSubject(device) }]
    }
    case 'consensus.voted': {
      const voter = readEntryTextField(entry, 'voter')
      return voter === undefined ? [] : [{ rule: 'vote-cast', named: voterSubject(voter) }]
    }
    case 'community.forked': {
      const signer = readEntryTextField(entry, 'signer')
      return signer === undefined ? [] : [{ rule: 'membership-forked', named: signer }]
    }
    default:
      return decision
  }
}

/** A round is decided by its votes, and these are counted themselves. */
function decisionEvidence(entry: LedgerEntry): readonly ReputationEvidence[] {
  const by = readEntryTextField(entry, 'by')
  const named = by === 'quorum' ? undefined : toCallerReputationSubject(by)
  return named === undefined ? [] : [{ rule: 'decision-made', named }]
}

/**
 * The subject for a caller key: a node's id, whichever caller it speaks for; any other caller's credential. Our own
 * services have no reputation.
 */
export function toCallerReputationSubject(key: string | undefined): string | undefined {
  if (key === undefined || key === '' || key.startsWith('service:')) return undefined
  return parsePeerCallerKey(key)?.node ?? `agent:${key}`
}

function voterSubject(voter: string): string {
  return voter.startsWith('node:') ? voter.slice('node:'.length) : `agent:${voter}`
}

function deviceSubject(target: string): string {
  return target.startsWith('device:') ? target : `device:${target}`
}

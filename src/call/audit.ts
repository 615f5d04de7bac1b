/**
 * Audit: stages 3 and 5. Every call leaves two events in the ledger, enter and exit, never an update in place.
 *
 *   enter ──▶ (durable before the act, if there is an act) ──▶ dispatch ──▶ exit ──▶ durable ──▶ the caller hears
 *
 * A call that only reads does not wait for its enter: works of one database run in order, so an exit that is on the
 * disk has its enter there too, and a read that was cut off told nobody anything. Everything else waits: what a crash
 * interrupts must be on record as begun, so that the next start can close it as aborted.
 *
 * Does no I/O of its own: it hands events to the log.
 */
import { hash } from 'node:crypto'
import type { Caller, Outcome } from '../bus/call.ts'
import { chanceBytes } from '../core/chance.ts'
import { canonicalJson } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { concat, hex, utf8 } from '../core/bytes.ts'
import { fail } from '../core/result.ts'
import type { Fault } from '../core/fault.ts'
import type { EnterRecord, Passage, Stage } from './stage.ts'

/** The ledger as the audit needs it. */
export interface AuditLog {
  /**
   * Makes the event and appends it when its turn in the group comes, says its place at once, and resolves when it is
   * durable. Later works of the same group see what `appended` was told.
   */
  readonly record: (make: () => AuditEvent, appended?: (seq: number) => void) => Promise<void>
}

export interface AuditEvent {
  readonly event: { readonly kind: string; readonly [field: string]: Json | undefined }
  /** Kept beside the log, erasable. */
  readonly body?: JsonObject
}

export interface AuditOptions {
  readonly log: AuditLog
  /** What of the arguments may be kept. */
  readonly redact: (passage: Passage) => JsonObject
  readonly redactResult: (passage: Passage, data: Json) => Json
}

/** Larger results are committed to by their hash alone. */
const MAX_STORED_RESULT_BYTES = 16_384
const SALT_BYTES = 16

export function auditEnter({ log, redact }: AuditOptions): Stage {
  return async (passage, next) => {
    const { call, offer } = passage
    const salt = chanceBytes(SALT_BYTES)
    const args = redact(passage)
    let sequenceNo: number | undefined
    const entered: EnterRecord = { salt, sequenceNo: () => sequenceNo }
    const makeEvent = (): AuditEvent => ({
      event: {
        kind: 'call.enter',
        tool: call.capability,
        principal: principalOf(call.caller),
        channel: call.channel,
        client: call.caller.kind === 'principal' ? call.caller.client : undefined,
        trace_id: call.traceId,
        effect: offer?.effect,
        args_hash: saltedHash(salt, args),
      },
      body: { salt: hex(salt), args },
    })
    const durable = log.record(makeEvent, (seq) => {
      sequenceNo = seq
    })
    if (offer === undefined || offer.effect === 'reads') {
      // Not awaited, yet not forgotten: the exit cannot be recorded unless this was.
      durable.catch(() => undefined)
      return next({ ...passage, entered })
    }
    try {
      await durable
    } catch {
      return fail(unrecorded('Nothing was done.'))
    }
    return next({ ...passage, entered })
  }
}

export function auditExit({ log, redactResult }: AuditOptions): Stage {
  return async (passage, next) => {
    const { outcome, entered, offer, call } = passage
    if (outcome === undefined || entered === undefined) throw new Error('audit exit before enter and dispatch')
    const durable = log.record(() => exitEvent(passage, outcome, entered, redactResult))
    // Works run in the order they were given: the next holder's events come after this one whenever that is written.
    passage.release?.()
    try {
      await durable
    } catch {
      const acted = offer !== undefined && offer.effect !== 'reads' && passage.refusal === undefined
      return fail(
        unrecorded(
          acted ? `${call.capability} was carried out, but that could not be recorded.` : 'The answer is withheld.',
        ),
      )
    }
    return next(passage)
  }
}

function exitEvent(
  passage: Passage,
  outcome: Outcome,
  entered: EnterRecord,
  redactResult: AuditOptions['redactResult'],
): AuditEvent {
  const call = entered.sequenceNo()
  // The enter could not be appended, so neither can the exit: an exit without an enter would be a lie.
  if (call === undefined) throw new Error('the enter is not on record')
  if (!outcome.ok) {
    const { kind, code, reasons } = outcome.fault
    const refusedBy = reasons?.map((reason) => reason.rule)
    return {
      event: {
        kind: 'call.exit',
        call,
        outcome: kind === 'not-permitted' || kind === 'approval-required' ? 'denied' : 'error',
        error_code: code ?? kind,
        // A code is a family's word; what became of a change must be readable without knowing the family.
        fault: kind,
        reasons: refusedBy,
      },
    }
  }
  const { data } = outcome.value
  const text = canonicalJson(data)
  const event = {
    kind: 'call.exit',
    call,
    outcome: 'ok',
    result_hash: hash('sha256', concat(entered.salt, utf8(text))),
  }
  // What a read answered can be asked again; what a change answered cannot.
  if (passage.offer?.effect === 'reads' || text.length > MAX_STORED_RESULT_BYTES) return { event }
  return { event, body: { result: redactResult(passage, data) } }
}

function saltedHash(salt: Uint8Array, value: Json): string {
  return hash('sha256', concat(salt, utf8(canonicalJson(value))))
}

function principalOf(caller: Caller): string {
  return caller.kind === 'principal' ? caller.id : `${caller.kind}:${caller.id}`
}

function unrecorded(consequence: string): Fault {
  return {
    kind: 'internal',
    code: 'LEDGER_UNAVAILABLE',
    message: `The ledger cannot be written (is the disk full?). ${consequence} \`hearthbus doctor\` says more.`,
  }
}

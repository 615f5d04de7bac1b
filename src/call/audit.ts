/**
 * Audit: stages 3 and 5. Every call leaves two events in the ledger, enter and exit, never an update in place.
 *
 *   enter ──▶ (durable before the act, if there is one) ──▶ dispatch ──▶ exit ──▶ durable ──▶ the caller hears
 *
 * A call that only reads does not wait for its enter: works of one database run in order, so an exit that is on the
 * disk has its enter there too, and a read that was interrupted returned nothing to its caller. Everything else waits:
 * what a crash interrupts must be on record as begun, so that the next start can close it as aborted.
 *
 * Does no I/O of its own: it hands events to the log.
 */
import { hash } from 'node:crypto'
import type { Call, Caller, LateChangeOutcome, Outcome } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import { randomBytes } from '../core/ids.ts'
import { canonicalJson, toJsonWithCanonicalText } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { toHex } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import { isFaultBeforeAttempt } from '../core/fault.ts'
import type { Fault, CallRecordReference } from '../core/fault.ts'
import { createCallClassification } from '../guard/call-decision.ts'
import { redactArguments, redactJson } from '../guard/redaction.ts'
import { truncateAndRedactText } from '../guard/secret-detection.ts'
import { formatLedgerFaultBriefly } from '../ledger/ledger-state.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Database } from '../core/database-store.ts'
import type { CallContext, CallAuditState, CallStage } from './context.ts'

/** The ledger as the audit needs it. */
export interface AuditLog {
  /**
   * Creates the event and appends it when its turn in the group comes, returns its position at once, and resolves when
   * it is durable. Later works of the same group see what `appended` was given.
   */
  readonly record: (make: () => AuditEvent, appended?: (seq: number) => void, when?: AuditWriteUrgency) => Promise<void>
  /** Why the log accepts no events, as a sentence; `undefined` while it does. */
  readonly refusal?: () => string | undefined
  /** Why nothing may be changed although events are accepted, as a sentence; `undefined` while it may. */
  readonly changeRefusal?: () => string | undefined
}

/** `deferred`: no caller waits for this event alone, so the log may write it together with the next one. */
export type AuditWriteUrgency = 'now' | 'deferred'

export interface AuditEvent {
  readonly event: { readonly kind: string; readonly [field: string]: Json | undefined }
  /** Stored beside the log and not in it, so that it can be erased later. */
  readonly body?: JsonObject
}

export interface AuditOptions {
  readonly log: AuditLog
  /** Returns the arguments as they may be stored. */
  readonly redact: (context: CallContext) => JsonObject
  readonly redactResult: (context: CallContext, data: Json) => Json
}

/** No record holds what the guard considers a secret. */
export const AUDIT_REDACTORS: Pick<AuditOptions, 'redact' | 'redactResult'> = {
  redact: ({ call, offer }) => redactArguments(call.body, offer),
  redactResult: ({ offer }, data) => redactJson(data, offer?.secrets),
}

export function createLedgerAuditLog(database: Database, ledger: Ledger): AuditLog {
  return {
    record: (make, appended, when = 'now') =>
      database.commit(
        () => {
          const { event, body } = make()
          const { seq } = ledger.appendIn(event, body)
          appended?.(seq)
        },
        { tables: false, deferred: when === 'deferred' },
      ),
    refusal: () => {
      const state = ledger.state()
      return state.kind === 'refusing' ? formatLedgerFaultBriefly(state.fault) : undefined
    },
    changeRefusal: () => (ledger.refusesChanges() ? SIGNING_OUTAGE_REFUSAL : undefined),
  }
}

const SIGNING_OUTAGE_REFUSAL =
  'The ledger could not be signed for too long, so changes are refused for now; reads go on. Nothing was tried. `hearthbus doctor` says more.'

/** For a larger result only its hash is recorded. */
const MAX_STORED_RESULT_LENGTH = 16_384
const SALT_BYTES = 16
/** Limit for the names that a caller gives itself and the tool, and for a provider's error code. */
const MAX_RECORDED_TEXT = 256
const MAX_RECORDED_REASONS = 64
const MAX_RECORDED_TOUCHES = 64
/** Where the affected devices are uncertain, they might be all devices of the house. */
const MAX_RECORDED_DOUBTS = 8

export function createAuditEnterStage({ log, redact, redactResult }: AuditOptions): CallStage {
  return (context, next) => {
    const { call, offer } = context
    const salt = randomBytes(SALT_BYTES)
    const args = redact(context)
    const entered: CallAuditState = { salt }
    const makeEvent = (): AuditEvent => ({
      event: {
        kind: 'call.enter',
        tool: recordable(call.capability),
        principal: toCallerKey(call.caller),
        channel: call.channel,
        client: clientOf(call.caller),
        trace_id: call.traceId,
        task_id: call.work?.taskId,
        session_id: call.work?.sessionId,
        effect: offer?.effect,
        args_hash: saltedHash(salt, canonicalJson(args)),
      },
      body: { salt: toHex(salt), args },
    })
    const isRead = offer === undefined || offer.effect === 'reads'
    const appended = (seq: number): void => {
      entered.sequenceNo = seq
    }
    const durable = log.record(makeEvent, appended, isRead ? 'deferred' : 'now')
    if (isRead) {
      // The enter is not awaited here, and its failure is not lost: the exit cannot be recorded without it.
      durable.catch(() => undefined)
      return next({ ...context, entered })
    }
    const recordLateOutcome = (late: LateChangeOutcome): Promise<boolean> =>
      recordLate({ log, entered, traceId: call.traceId, redact: (words) => redactResult(context, words) }, late)
    return nextWhenDurable(durable, () => next({ ...context, call: { ...call, recordLateOutcome }, entered }))
  }

  async function nextWhenDurable(durable: Promise<void>, proceed: () => Promise<Outcome>): Promise<Outcome> {
    try {
      await durable
    } catch {
      return fail(unrecorded(log, 'Nothing was done.'))
    }
    return await proceed()
  }
}

interface LateRecord {
  readonly log: AuditLog
  readonly entered: CallAuditState
  readonly traceId: string
  readonly redact: (words: Json) => Json
}

/** Appends a later entry that points to the call. The call's own end stays as its caller got it. */
async function recordLate({ log, entered, traceId, redact }: LateRecord, late: LateChangeOutcome): Promise<boolean> {
  if (entered.endSequenceNo === undefined)
    await new Promise<void>((resolve) => {
      const before = entered.onEnd
      entered.onEnd = () => {
        before?.()
        resolve()
      }
    })
  const { sequenceNo: call, endSequenceNo } = entered
  if (call === undefined || endSequenceNo === null) return false
  const { outcome, source, observed, message } = late
  const body = {
    ...(message === undefined ? {} : { message: redact(message) }),
    ...(observed === undefined || !isStorable(observed) ? {} : { observed: redact(observed) }),
  }
  const event = { kind: 'call.outcome', call, outcome, source, trace_id: traceId }
  const isRecorded = log.record(() => (Object.keys(body).length === 0 ? { event } : { event, body }))
  return isRecorded.then(
    () => true,
    () => false,
  )
}

export function createAuditExitStage({ log, redactResult }: AuditOptions): CallStage {
  return async (context, next) => {
    const { entered, call } = context
    if (context.outcome === undefined || entered === undefined) throw new Error('audit exit before enter and dispatch')
    const ended = endOf(context.outcome, call)
    let endSeq: number | null = null
    const durable = log.record(
      () => classified(exitEvent({ context, entered, ended }, redactResult), context),
      (seq) => {
        endSeq = seq
      },
    )
    // The database runs works in the order in which they were given, so the next lock holder's events come after this
    // exit, whenever it is written.
    context.release?.()
    try {
      await durable
    } catch {
      endRecord(entered, null)
      return fail(unrecorded(log, unheard(context, ended.outcome)))
    }
    endRecord(entered, endSeq)
    return await next({ ...context, outcome: withRecord(ended.outcome, recordReference(context, entered)) })
  }
}

/** The reference to its ledger record that an answer carries. */
function recordReference(
  { call, assessed, authorization }: CallContext,
  entered: CallAuditState,
): CallRecordReference | undefined {
  const { sequenceNo, endSequenceNo } = entered
  if (sequenceNo === undefined || typeof endSequenceNo !== 'number') return undefined
  const own = assessed && authorization && createCallClassification(assessed, authorization).approvalReference
  const decision = { ...call.ticket?.nestedDecision, ...own }
  return { traceId: call.traceId, logIndex: sequenceNo, endLogIndex: endSequenceNo, ...decision, work: call.work }
}

function withRecord(outcome: Outcome, record: CallRecordReference | undefined): Outcome {
  if (record === undefined) return outcome
  return outcome.ok ? ok({ ...outcome.value, record }) : fail({ ...outcome.fault, record })
}

function endRecord(entered: CallAuditState, seq: number | null): void {
  entered.endSequenceNo = seq
  entered.onEnd?.()
}

/** How a call ended, with the text of its answer for hashing. */
interface Ended {
  readonly outcome: Outcome
  readonly text: string
}

/**
 * An answer that cannot be serialised (half a surrogate pair, NaN, a cycle, endless nesting) becomes an error: what was
 * done is recorded all the same, instead of leaving a call that never ended. What is recorded is what is sent.
 */
function endOf(outcome: Outcome, call: Call): Ended {
  if (!outcome.ok) return { outcome, text: '' }
  try {
    const { text, value: data } = toJsonWithCanonicalText(outcome.value.data)
    return { outcome: data === outcome.value.data ? outcome : ok({ ...outcome.value, data }), text }
  } catch {
    const message = `${call.capability} answered something that JSON cannot express. Any change it made stands.`
    return { outcome: fail({ kind: 'failed', code: 'internal_error', message }), text: '' }
  }
}

interface Exit {
  readonly context: CallContext
  readonly entered: CallAuditState
  readonly ended: Ended
}

function exitEvent({ context, entered, ended }: Exit, redactResult: AuditOptions['redactResult']): AuditEvent {
  const { outcome, text } = ended
  const call = entered.sequenceNo
  // The enter event could not be appended, so the exit is not appended either: an exit without an enter would be
  // untrue.
  if (call === undefined) throw new Error('the enter is not on record')
  if (!outcome.ok) {
    const { kind, code } = outcome.fault
    const reasons = outcome.fault.reasons?.slice(0, MAX_RECORDED_REASONS)
    const event = {
      kind: 'call.exit',
      call,
      outcome: kind === 'not-permitted' || kind === 'approval-required' ? 'denied' : 'error',
      error_code: recordable(code ?? kind),
      // An error code is the family's own word. The fault's kind is recorded beside it, so that a reader who does not
      // know the family can tell what became of the change.
      fault: kind,
      reasons: reasons?.map(({ rule }) => recordable(rule)),
    }
    // The ids of the rules can never be erased; their sentences contain device names and people's words, which must be
    // erasable.
    return { event, body: redactedWords(outcome.fault, (words) => redactResult(context, words)) }
  }
  const event = {
    kind: 'call.exit',
    call,
    outcome: 'ok',
    result_hash: saltedHash(entered.salt, text),
  }
  // A read can be repeated, so its answer is not stored; a change's answer cannot be had again.
  if (context.offer?.effect === 'reads' || text.length > MAX_STORED_RESULT_LENGTH) return { event }
  return { event, body: { result: redactResult(context, outcome.value.data) } }
}

/** The message and details of a failure, without what may not be stored, as for the result of a success. */
function redactedWords({ message, reasons = [], details }: Fault, redact: (words: Json) => Json): JsonObject {
  const sentences = reasons.slice(0, MAX_RECORDED_REASONS).map((reason) => reason.message)
  return {
    message: redact(message),
    ...(sentences.length === 0 ? {} : { reasons: redact(sentences) }),
    ...(details === undefined || !isStorable(details) ? {} : { details: redact(details) }),
  }
}

/** A provider may put anything into its details, also what JSON cannot express. */
function isStorable(details: Json): boolean {
  try {
    return canonicalJson(details).length <= MAX_STORED_RESULT_LENGTH
  } catch {
    return false
  }
}

/** Adds to the exit what the guard decided only after the enter event was written. */
function classified(ended: AuditEvent, context: CallContext): AuditEvent {
  const { offer, assessed, authorization, outcome } = context
  // A read has no classification; neither has a call that never reached the guard.
  if (offer?.effect === 'reads' || assessed === undefined || authorization === undefined) return ended
  const { event, body } = ended
  const { effect, target, label, touches, mayTouch, dryRun, approvalReference } = createCallClassification(
    assessed,
    authorization,
  )
  const replayed = outcome?.ok === true ? outcome.value.replayed : outcome?.fault.replayed
  const fields = {
    ...(effect === offer?.effect ? {} : { effect }),
    ...(target === undefined ? {} : { target: recordable(target) }),
    ...reachedFields(touches, mayTouch),
    ...(dryRun ? { dry_run: true } : {}),
    ...(replayed === true ? { replayed } : {}),
    ...approvalReference,
  }
  // Names that people give their devices must be erasable, so they are stored in the body.
  const words = { ...body, ...(label === undefined ? {} : { label: truncateAndRedactText(label, MAX_RECORDED_TEXT) }) }
  return { event: { ...event, ...fields }, ...(Object.keys(words).length === 0 ? {} : { body: words }) }
}

/** The other actuators that a call moves, or would have moved, up to a limit. */
function reachedFields(touches: readonly string[], mayTouch: readonly string[]): JsonObject {
  return { ...listed('touches', touches, MAX_RECORDED_TOUCHES), ...listed('may_touch', mayTouch, MAX_RECORDED_DOUBTS) }
}

function listed(field: string, names: readonly string[], most: number): JsonObject {
  if (names.length === 0) return {}
  const fields = { [field]: names.slice(0, most).map(recordable) }
  return names.length > most ? { ...fields, [`${field}_count`]: names.length } : fields
}

function saltedHash(salt: Uint8Array, text: string): string {
  // In one buffer of the pool: joining separate ones costs more than the hash.
  const bytes = Buffer.allocUnsafe(salt.length + Buffer.byteLength(text))
  bytes.set(salt, 0)
  bytes.write(text, salt.length)
  return hash('sha256', bytes)
}

function clientOf(caller: Caller): string | undefined {
  return caller.kind === 'principal' && caller.client !== undefined ? recordable(caller.client) : undefined
}

/** Untrusted text as an entry can store it: one that is too long or malformed would keep the call off the record. */
function recordable(text: string): string {
  return text.slice(0, MAX_RECORDED_TEXT).toWellFormed()
}

/**
 * The fault for a call whose end could not be recorded: it says that something was done only if something was tried.
 */
function unheard({ call, offer, refusal }: CallContext, outcome: Outcome): string {
  if (offer === undefined || offer.effect === 'reads') return 'The answer is withheld.'
  if (outcome.ok) return `${call.capability} was carried out, but that could not be recorded.`
  if (refusal !== undefined || isFaultBeforeAttempt(outcome.fault)) return 'Nothing was done.'
  return `The outcome of ${call.capability} could not be recorded: check the state before trying again.`
}

function unrecorded({ refusal }: AuditLog, consequence: string): Fault {
  const cause = refusal?.() ?? 'The ledger cannot be written (is the disk full?).'
  return {
    kind: 'internal',
    code: 'LEDGER_UNAVAILABLE',
    message: `${cause} ${consequence} \`hearthbus doctor\` says more.`,
  }
}

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
import type { Call, Caller, LateOutcome, Outcome } from '../bus/call.ts'
import { callerKey } from '../bus/caller.ts'
import { randomBytes } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { concatBytes, toHex, toUtf8 } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import { isUntried } from '../core/fault.ts'
import type { Fault, RecordReference } from '../core/fault.ts'
import { classifyCall } from '../guard/decision.ts'
import { redactArguments, redactData } from '../guard/redact.ts'
import { ledgerFaultBrief } from '../ledger/fork.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Database } from '../core/database-store.ts'
import type { CallContext, EnterRecord, CallStage } from './context.ts'

/** The ledger as the audit needs it. */
export interface AuditLog {
  /**
   * Makes the event and appends it when its turn in the group comes, says its place at once, and resolves when it is
   * durable. Later works of the same group see what `appended` was told.
   */
  readonly record: (make: () => AuditEvent, appended?: (seq: number) => void, when?: AuditWriteMode) => Promise<void>
  /** Why it takes nothing, in a sentence; `undefined` while it does. */
  readonly refusal?: () => string | undefined
}

/** `deferred`: nobody waits for it alone, so it may share the group of what comes next. */
export type AuditWriteMode = 'now' | 'deferred'

export interface AuditEvent {
  readonly event: { readonly kind: string; readonly [field: string]: Json | undefined }
  /** Kept beside the log, erasable. */
  readonly body?: JsonObject
}

export interface AuditOptions {
  readonly log: AuditLog
  /** What of the arguments may be kept. */
  readonly redact: (context: CallContext) => JsonObject
  readonly redactResult: (context: CallContext, data: Json) => Json
}

/** What the guard calls a secret is in no record. */
export const REDACTION: Pick<AuditOptions, 'redact' | 'redactResult'> = {
  redact: ({ call, offer }) => redactArguments(call.body, offer),
  redactResult: ({ offer }, data) => redactData(data, offer?.secrets),
}

export function ledgerAuditLog(database: Database, ledger: Ledger): AuditLog {
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
      return state.kind === 'refusing' ? ledgerFaultBrief(state.fault) : undefined
    },
  }
}

/** Larger results are committed to by their hash alone. */
const MAX_STORED_RESULT_LENGTH = 16_384
const SALT_BYTES = 16
/** Of what a caller calls itself and the tool, and of what a provider calls its failure. */
const MAX_RECORDED_TEXT = 256
const MAX_RECORDED_REASONS = 64
const MAX_RECORDED_TOUCHES = 64
/** Where nobody knows, it might be every device of the house. */
const MAX_RECORDED_DOUBTS = 8

export function createAuditEnterStage({ log, redact, redactResult }: AuditOptions): CallStage {
  return async (context, next) => {
    const { call, offer } = context
    const salt = randomBytes(SALT_BYTES)
    const args = redact(context)
    const entered: EnterRecord = { salt }
    const makeEvent = (): AuditEvent => ({
      event: {
        kind: 'call.enter',
        tool: recordable(call.capability),
        principal: callerKey(call.caller),
        channel: call.channel,
        client: clientOf(call.caller),
        trace_id: call.traceId,
        task_id: call.work?.taskId,
        session_id: call.work?.sessionId,
        effect: offer?.effect,
        args_hash: saltedHash(salt, args),
      },
      body: { salt: toHex(salt), args },
    })
    const isRead = offer === undefined || offer.effect === 'reads'
    const appended = (seq: number): void => {
      entered.sequenceNo = seq
    }
    const durable = log.record(makeEvent, appended, isRead ? 'deferred' : 'now')
    if (isRead) {
      // Not awaited, yet not forgotten: the exit cannot be recorded unless this was.
      durable.catch(() => undefined)
      return next({ ...context, entered })
    }
    try {
      await durable
    } catch {
      return fail(unrecorded(log, 'Nothing was done.'))
    }
    const recordLateOutcome = (late: LateOutcome): Promise<boolean> =>
      recordLate({ log, entered, traceId: call.traceId, redact: (words) => redactResult(context, words) }, late)
    return next({ ...context, call: { ...call, recordLateOutcome }, entered })
  }
}

interface LateRecord {
  readonly log: AuditLog
  readonly entered: EnterRecord
  readonly traceId: string
  readonly redact: (words: Json) => Json
}

/** A later entry that points to the call. The call's own end stays as its caller heard it. */
async function recordLate({ log, entered, traceId, redact }: LateRecord, late: LateOutcome): Promise<boolean> {
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
    ...(message === undefined ? {} : { message: redact(message.slice(0, MAX_STORED_RESULT_LENGTH).toWellFormed()) }),
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
      () => classified(exitEvent({ context, entered, ended }, redactResult), context, redactResult),
      (seq) => {
        endSeq = seq
      },
    )
    // Works run in the order they were given: the next holder's events come after this one whenever that is written.
    context.release?.()
    try {
      await durable
    } catch {
      endRecord(entered, null)
      return fail(unrecorded(log, unheard(context, ended.outcome)))
    }
    endRecord(entered, endSeq)
    return next({ ...context, outcome: withRecord(ended.outcome, recordReference(context, entered)) })
  }
}

/** What the answer tells of its record. */
function recordReference(
  { call, assessed, authorization }: CallContext,
  entered: EnterRecord,
): RecordReference | undefined {
  const { sequenceNo, endSequenceNo } = entered
  if (sequenceNo === undefined || typeof endSequenceNo !== 'number') return undefined
  const yes = assessed && authorization && classifyCall(assessed, authorization).yes
  return { traceId: call.traceId, logIndex: sequenceNo, endLogIndex: endSequenceNo, ...yes, work: call.work }
}

function withRecord(outcome: Outcome, record: RecordReference | undefined): Outcome {
  if (record === undefined) return outcome
  return outcome.ok ? ok({ ...outcome.value, record }) : fail({ ...outcome.fault, record })
}

function endRecord(entered: EnterRecord, seq: number | null): void {
  entered.endSequenceNo = seq
  entered.onEnd?.()
}

/** How a call ended, with the text of its answer that is hashed. */
interface Ended {
  readonly outcome: Outcome
  readonly text: string
}

/**
 * An answer that no wire could carry (half a character, NaN, a loop) is none: what was done is on record all the same,
 * as an error, rather than as a call that never ended.
 */
function endOf(outcome: Outcome, call: Call): Ended {
  if (!outcome.ok) return { outcome, text: '' }
  try {
    return { outcome, text: canonicalJson(outcome.value.data) }
  } catch {
    const message = `${call.capability} answered something that JSON cannot say. What it did, it did.`
    return { outcome: fail({ kind: 'failed', code: 'internal_error', message }), text: '' }
  }
}

interface Exit {
  readonly context: CallContext
  readonly entered: EnterRecord
  readonly ended: Ended
}

function exitEvent({ context, entered, ended }: Exit, redactResult: AuditOptions['redactResult']): AuditEvent {
  const { outcome, text } = ended
  const call = entered.sequenceNo
  // The enter could not be appended, so neither can the exit: an exit without an enter would be a lie.
  if (call === undefined) throw new Error('the enter is not on record')
  if (!outcome.ok) {
    const { kind, code } = outcome.fault
    const reasons = outcome.fault.reasons?.slice(0, MAX_RECORDED_REASONS)
    const event = {
      kind: 'call.exit',
      call,
      outcome: kind === 'not-permitted' || kind === 'approval-required' ? 'denied' : 'error',
      error_code: recordable(code ?? kind),
      // A code is a family's word; what became of a change must be readable without knowing the family.
      fault: kind,
      reasons: reasons?.map(({ rule }) => recordable(rule)),
    }
    // The rules stay for good; sentences have names of devices and people's words in them, which can be erased.
    return { event, body: redactedWords(outcome.fault, (words) => redactResult(context, words)) }
  }
  const event = {
    kind: 'call.exit',
    call,
    outcome: 'ok',
    result_hash: hash('sha256', concatBytes(entered.salt, toUtf8(text))),
  }
  // What a read answered can be asked again; what a change answered cannot.
  if (context.offer?.effect === 'reads' || text.length > MAX_STORED_RESULT_LENGTH) return { event }
  return { event, body: { result: redactResult(context, outcome.value.data) } }
}

/** What a failure said and what was observed, as far as it can be kept: like the result of a success. */
function redactedWords({ message, reasons = [], details }: Fault, redact: (words: Json) => Json): JsonObject {
  const sentences = reasons.slice(0, MAX_RECORDED_REASONS).map((reason) => reason.message)
  return {
    message: redact(message.slice(0, MAX_STORED_RESULT_LENGTH).toWellFormed()),
    ...(sentences.length === 0 ? {} : { reasons: redact(sentences) }),
    ...(details === undefined || !isStorable(details) ? {} : { details: redact(details) }),
  }
}

/** A provider may put anything into its details, also what JSON cannot say. */
function isStorable(details: Json): boolean {
  try {
    return canonicalJson(details).length <= MAX_STORED_RESULT_LENGTH
  } catch {
    return false
  }
}

/** Adds what the enter could not know, because it is written before the guard has looked. */
function classified(ended: AuditEvent, context: CallContext, redactResult: AuditOptions['redactResult']): AuditEvent {
  const { offer, assessed, authorization, outcome } = context
  // A read has nothing to classify; a call that never reached the guard was not classified.
  if (offer?.effect === 'reads' || assessed === undefined || authorization === undefined) return ended
  const { event, body } = ended
  const { effect, target, label, touches, mayTouch, dryRun, yes } = classifyCall(assessed, authorization)
  const replayed = outcome?.ok === true ? outcome.value.replayed : outcome?.fault.replayed
  const fields = {
    ...(effect === offer?.effect ? {} : { effect }),
    ...(target === undefined ? {} : { target: recordable(target) }),
    ...reachedFields(touches, mayTouch),
    ...(dryRun ? { dry_run: true } : {}),
    ...(replayed === true ? { replayed } : {}),
    ...yes,
  }
  // What people call their things can be erased, like the sentences.
  const words = { ...body, ...(label === undefined ? {} : { label: redactResult(context, recordable(label)) }) }
  return { event: { ...event, ...fields }, ...(Object.keys(words).length === 0 ? {} : { body: words }) }
}

/** Which other actuators a call moves, or would have moved, as far as a list is short enough to be read. */
function reachedFields(touches: readonly string[], mayTouch: readonly string[]): JsonObject {
  return { ...listed('touches', touches, MAX_RECORDED_TOUCHES), ...listed('may_touch', mayTouch, MAX_RECORDED_DOUBTS) }
}

function listed(field: string, names: readonly string[], most: number): JsonObject {
  if (names.length === 0) return {}
  const told = { [field]: names.slice(0, most).map(recordable) }
  return names.length > most ? { ...told, [`${field}_count`]: names.length } : told
}

function saltedHash(salt: Uint8Array, value: Json): string {
  return hash('sha256', concatBytes(salt, toUtf8(canonicalJson(value))))
}

function clientOf(caller: Caller): string | undefined {
  return caller.kind === 'principal' && caller.client !== undefined ? recordable(caller.client) : undefined
}

/** A stranger's text as an entry can hold it: one that is too long or malformed would keep the call off the record. */
function recordable(text: string): string {
  return text.slice(0, MAX_RECORDED_TEXT).toWellFormed()
}

/** What to say of a call whose end could not be recorded: only what was tried is said to have been. */
function unheard({ call, offer, refusal }: CallContext, outcome: Outcome): string {
  if (offer === undefined || offer.effect === 'reads') return 'The answer is withheld.'
  if (outcome.ok) return `${call.capability} was carried out, but that could not be recorded.`
  if (refusal !== undefined || isUntried(outcome.fault)) return 'Nothing was done.'
  return `How ${call.capability} ended could not be recorded: look before trying again.`
}

function unrecorded({ refusal }: AuditLog, consequence: string): Fault {
  const cause = refusal?.() ?? 'The ledger cannot be written (is the disk full?).'
  return {
    kind: 'internal',
    code: 'LEDGER_UNAVAILABLE',
    message: `${cause} ${consequence} \`hearthbus doctor\` says more.`,
  }
}

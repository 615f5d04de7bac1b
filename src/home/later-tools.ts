/**
 * Later tools: plan a call for a later time, and list the planned calls. A call is previewed before it is stored: one
 * that would be refused is refused now, and one that will need approval says so.
 *
 * Reads and writes through the bus and the ledger.
 */
import { z } from 'zod'
import type { Outcome } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import type { CallAssessment, Capability, Offer } from '../bus/capability.ts'
import { defineChange } from '../bus/capability-definition.ts'
import type { HandlerContext } from '../bus/call-factory.ts'
import type { Fault } from '../core/fault.ts'
import { newUlid } from '../core/ids.ts'
import { canonicalJson, isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { resolveSpelledName } from '../core/tool-name-spelling.ts'
import { redactArguments } from '../guard/redaction.ts'
import { UnlawfulEntryError } from '../ledger/projection.ts'
import { formatEntryTime } from '../ledger/projection-log.ts'
import { previewCallApproval } from './call-preview.ts'
import { HOME_TOOL_DEFINITION_DEFAULTS, createSentenceAnswer } from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { readJsonValueAt, readTextAt } from './json-path.ts'
import { isAnswerWithoutAction, isLaterCallOfCaller, readLaterCallArgumentsAndReason } from './later-runner.ts'
import { LATER_CALL_GRACE_MS, laterCallsProjection } from './later-state.ts'
import type { LaterCall, LaterCallResult } from './later-state.ts'
import { parseDueTime } from './later-time.ts'
import { formatLocalMinute, quoteForSentence, formatCount } from './sentence-text.ts'
import type { ThingCall } from './thing.ts'

const MAX_LISTED = 20
const RECENT_MS = 24 * 3_600_000
/** The same call for the same minute counts as a repetition by a client that got no answer. */
const SAME_DUE_MS = 60_000
/** Temporary faults: the same call may succeed when it is due. */
const PASSING: ReadonlySet<Fault['kind']> = new Set(['offline', 'timed-out', 'busy', 'unsupported'])

const input = z.strictObject({
  call: z
    .strictObject({ tool: z.string().min(1).max(160), arguments: z.record(z.string(), z.json()).default({}) })
    .exactOptional()
    .describe('The call as you would make it now, such as {tool: "home_set", arguments: {…}}.'),
  in_minutes: z
    .number()
    .min(1)
    .max(31 * 1_440)
    .exactOptional(),
  at: z.string().max(40).exactOptional().describe('18:30 or 2026-12-24T18:00, local time.'),
  why: z.string().min(3).max(300).exactOptional(),
  cancel: z.string().max(64).exactOptional().describe('The id of a planned call.'),
})
type LaterWish = z.output<typeof input>

export function createLaterTools(parts: HomeDependencies): readonly Capability[] {
  return [
    defineChange({
      ...HOME_TOOL_DEFINITION_DEFAULTS,
      name: 'later',
      title: 'Do it later',
      description: 'Plans a call for later (once, guarded when it runs), cancels one, or lists what is planned.',
      input,
      effect: 'writes',
      idempotent: false,
      timeoutSeconds: 60,
      plan: (): Result<undefined, Fault> => ok(undefined),
      // Planning only changes our own records; the guard decides about the planned call when it runs.
      assess: (_, { call, cancel }): CallAssessment => ({
        effect: call === undefined && cancel === undefined ? 'reads' : 'records',
        reasons: [],
      }),
      act: (_, wish, context) => {
        if (wish.cancel !== undefined) return cancelLater(parts, wish.cancel, context)
        return wish.call === undefined ? listLater(parts, context) : planLater(parts, wish, context)
      },
    }),
  ]
}

async function planLater(parts: HomeDependencies, wish: LaterWish, context: HandlerContext): Promise<Outcome> {
  const { caller } = context
  if (caller.kind !== 'principal')
    return createSentenceAnswer('Only principals of this node can plan a call here. Nothing was planned.')
  if (wish.why === undefined)
    return fail({
      kind: 'invalid-arguments',
      message: 'why is missing. Nothing was planned.',
      details: { next: { tool: 'later', arguments: { ...wish, why: 'in your words' } } },
    })
  const nowMs = parts.clock.now()
  const dueMs = parseDueTime(wish, nowMs)
  if (typeof dueMs === 'string') return fail({ kind: 'invalid-arguments', message: `${dueMs} Nothing was planned.` })
  const found = plannedCall(parts, wish, context)
  if (typeof found === 'string') return createSentenceAnswer(`${found} Nothing was planned.`)
  const { offer, call } = found
  const again = sameCall(parts, { call, dueMs }, context)
  if (again !== undefined)
    return createSentenceAnswer(`That is planned already for ${formatLocalMinute(again.dueAtMs)}.`, { id: again.id })
  const preview = await previewLater(parts, found, context)
  if ('answer' in preview) return preview.answer
  const id = newUlid(nowMs)
  try {
    await parts.ledger.append(
      {
        kind: 'later.planned',
        later: id,
        principal: toCallerKey(caller),
        ...(caller.client === undefined ? {} : { client: caller.client.slice(0, 200).toWellFormed() }),
        capability: offer.name,
        due_at: formatEntryTime(dueMs),
        trace_id: context.traceId,
      },
      { arguments: call.arguments, why: wish.why },
    )
  } catch (error) {
    if (!(error instanceof UnlawfulEntryError)) throw error
    return fail({ kind: 'busy', message: 'Too many calls are planned. Cancel some first; nothing was planned.' })
  }
  return createSentenceAnswer(
    `Planned for ${formatLocalMinute(dueMs)}.${preview.asksPerson ? ' When it is due it waits for a person to agree, and is then done.' : ''}${preview.note} If this gateway is down then, it is still done up to ${LATER_CALL_GRACE_MS / 60_000} minutes late.`,
    { id, due_at: formatEntryTime(dueMs), ...(preview.asksPerson ? { asks_a_person: true } : {}) },
  )
}

/** The fault is a text that says why it cannot be planned. */
function plannedCall(
  { bus, guard }: HomeDependencies,
  { call }: LaterWish,
  { caller }: HandlerContext,
): { readonly offer: Offer; readonly call: ThingCall } | string {
  if (call === undefined) return 'There is no call.'
  // The tool in the arguments says which of them are secret.
  const inner = call.tool === 'tools_call' ? call.arguments['name'] : call.tool
  const given = typeof inner === 'string' ? inner : call.tool
  const body = call.tool === 'tools_call' ? call.arguments['arguments'] : call.arguments
  const tools = bus.offers().filter((each) => each.face.kind === 'tool' && guard.visible(caller, each))
  const names = tools.map(({ name }) => name)
  const name = resolveSpelledName(given, names)
  const offer = tools.find((each) => each.name === name)
  if (offer === undefined) return `There is no tool ${quoteForSentence(given)}.`
  if (offer.name === 'later') return 'A planned call cannot plan another.'
  if (offer.name === 'tools_call') return 'Name the tool itself.'
  if (offer.name === 'undo' && ((body as JsonObject | undefined)?.['id'] ?? 'last') === 'last')
    return 'Name the change by its `id`: the last one may be another by then.'
  if (offer.effect === 'reads') return `${offer.name} only reads: call it when you want to know.`
  const args = isJsonObject(body ?? {}) ? ((body ?? {}) as JsonObject) : {}
  if (canonicalJson(redactArguments(args, offer)) !== canonicalJson(args))
    return 'A call with a secret in its arguments cannot be kept for later.'
  return { offer, call: { tool: offer.name, arguments: args } }
}

interface LaterPreview {
  readonly asksPerson: boolean
  readonly note: string
}

async function previewLater(
  parts: HomeDependencies,
  { offer, call }: { readonly offer: Offer; readonly call: ThingCall },
  context: HandlerContext,
): Promise<LaterPreview | { readonly answer: Outcome }> {
  const isHome = offer.family.name === 'home'
  if (!isHome) {
    const preview = await previewCallApproval(parts, call, context)
    if (preview.ok) return { ...preview.value, note: '' }
    return PASSING.has(preview.fault.kind) ? UNCHECKED : { answer: fail(preview.fault) }
  }
  const outcome = await context.call(offer.name, { ...call.arguments, preview: true })
  if (!outcome.ok) return PASSING.has(outcome.fault.kind) ? UNCHECKED : { answer: fail(outcome.fault) }
  const { data } = outcome.value
  if (isAnswerWithoutAction(data) && readJsonValueAt(data, 'preview') !== true)
    return { answer: createSentenceAnswer(`${readTextAt(data, 'say') ?? ''} Nothing was planned.`, rest(data)) }
  return { asksPerson: readJsonValueAt(data, 'asks_a_person') === true, note: '' }
}

const UNCHECKED: LaterPreview = { asksPerson: false, note: ' Whether it can be done could not be checked now.' }

function rest(data: Json): JsonObject {
  if (!isJsonObject(data)) return {}
  const { say: _, ...more } = data
  return more
}

function sameCall(
  parts: HomeDependencies,
  { call, dueMs }: { readonly call: ThingCall; readonly dueMs: number },
  { caller }: HandlerContext,
): LaterCall | undefined {
  return laterCalls(parts).find(
    (planned) =>
      planned.state === 'planned' &&
      isLaterCallOfCaller(planned, caller) &&
      planned.tool === call.tool &&
      Math.abs(planned.dueAtMs - dueMs) < SAME_DUE_MS &&
      canonicalJson(readLaterCallArgumentsAndReason(parts, planned).arguments) === canonicalJson(call.arguments),
  )
}

function laterCalls({ ledger }: Pick<HomeDependencies, 'ledger'>): readonly LaterCall[] {
  return [...ledger.projections.state(laterCallsProjection).calls.values()]
}

/** The caller's own planned calls; an admin sees all. */
function shownCalls(parts: HomeDependencies, { caller }: Pick<HandlerContext, 'caller'>): readonly LaterCall[] {
  const isAdmin = caller.kind === 'principal' && caller.role === 'admin'
  return laterCalls(parts).filter((call) => isAdmin || isLaterCallOfCaller(call, caller))
}

async function cancelLater(parts: HomeDependencies, id: string, context: HandlerContext): Promise<Outcome> {
  const call = shownCalls(parts, context).find((each) => each.id === id)
  if (call === undefined)
    return fail({ kind: 'not-found', message: `There is no planned call ${quoteForSentence(id)} of yours.` })
  if (call.state === 'ended') return createSentenceAnswer(`${ENDS[call.end ?? 'unknown']} Nothing was cancelled.`)
  if (call.state === 'begun')
    return createSentenceAnswer('It is being done right now and cannot be cancelled any more.')
  try {
    await parts.ledger.append({
      kind: 'later.ended',
      later: id,
      principal: call.principal,
      capability: call.tool,
      outcome: 'cancelled',
      by: toCallerKey(context.caller),
      trace_id: context.traceId,
    })
  } catch (error) {
    if (!(error instanceof UnlawfulEntryError)) throw error
    return createSentenceAnswer('It was begun or ended in this very moment. Nothing was cancelled.')
  }
  return createSentenceAnswer(
    `Cancelled what was planned for ${formatLocalMinute(call.dueAtMs)}. Nothing of it was done.`,
  )
}

const ENDS: Readonly<Record<LaterCallResult, string>> = {
  done: 'It was done.',
  refused: 'It was refused when it was due.',
  failed: 'It failed when it was due.',
  unknown: 'It was begun, and nobody knows whether it took effect.',
  missed: `It was more than ${LATER_CALL_GRACE_MS / 60_000} minutes overdue when it could have been made, because the gateway was down, its clock was set, or the tool was not offered. It was left.`,
  cancelled: 'It was cancelled.',
  denied: 'A person said no.',
  expired: 'No person agreed in time.',
}

function listLater(parts: HomeDependencies, context: HandlerContext): Outcome {
  const calls = shownCalls(parts, context)
  const open = calls.filter(({ state }) => state !== 'ended').toSorted((left, right) => left.dueAtMs - right.dueAtMs)
  const recent = calls.filter(({ endedAtMs }) => (endedAtMs ?? 0) > parts.clock.now() - RECENT_MS)
  const [next] = open
  return createSentenceAnswer(
    next === undefined
      ? 'Nothing is planned.'
      : `${formatCount(open.length, 'call is', 'calls are')} planned; the next for ${formatLocalMinute(next.dueAtMs)}.`,
    {
      planned: open.slice(0, MAX_LISTED).map((call) => laterJson(parts, call)),
      ...(recent.length === 0 ? {} : { ended: recent.slice(-8).map((call) => laterJson(parts, call)) }),
    },
  )
}

function laterJson(parts: HomeDependencies, call: LaterCall): JsonObject {
  const { arguments: body, why } = readLaterCallArgumentsAndReason(parts, call)
  return {
    id: call.id,
    due: formatLocalMinute(call.dueAtMs),
    tool: call.tool,
    quoted: quoteForSentence(JSON.stringify(body)),
    why: quoteForSentence(why),
    by: quoteForSentence(call.principal),
    ...(call.state === 'asked' ? { waits_for_a_person: call.approval ?? '' } : {}),
    ...(call.end === undefined ? {} : { state: ENDS[call.end] }),
  }
}

/** A summary for the overview and for the list of what needs a person. */
export function collectLaterCallStatus(
  parts: HomeDependencies,
  context: Pick<HandlerContext, 'caller'>,
): { readonly planned: number; readonly troubles: readonly string[] } {
  const calls = shownCalls(parts, context)
  const sinceMs = parts.clock.now() - RECENT_MS
  const troubles = calls.filter(
    ({ end, endedAtMs, state }) =>
      state === 'asked' ||
      (end !== undefined && end !== 'done' && end !== 'cancelled' && end !== 'denied' && (endedAtMs ?? 0) > sinceMs),
  )
  return {
    planned: calls.filter(({ state }) => state !== 'ended').length,
    troubles: troubles.map(
      ({ tool, dueAtMs, state, end }) =>
        `${tool}, planned for ${formatLocalMinute(dueAtMs)}: ${state === 'asked' ? 'it waits for a person.' : ENDS[end ?? 'unknown']}`,
    ),
  }
}

/**
 * Undo tools: restores the state before a change from its ledger records: the calls under its trace, with the value
 * before and after each. A thing that was changed again since is left as it is.
 *
 * Reads the ledger; writes through the families' own tools.
 */
import { formatIsoTime } from '../toolbox/iso-time.ts'
import { z } from 'zod'
import type { Outcome } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import type { Capability } from '../bus/capability.ts'
import { defineChange } from '../bus/capability-definition.ts'
import type { HandlerContext } from '../bus/call-factory.ts'
import type { Json } from '../core/json.ts'
import { fail } from '../core/result.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import { previewCallApproval, createPreviewAnswer } from './call-preview.ts'
import {
  DELEGATING_HOME_TOOL_DEFAULTS,
  previewArgument,
  createSentenceAnswer,
  reasonForChangeArgument,
} from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { readJsonValueAt, readTextAt } from './json-path.ts'
import { readHomeSnapshot } from './home-snapshot.ts'
import { isLaterCallOfCaller } from './later-runner.ts'
import { laterCallsProjection } from './later-state.ts'
import type { HomeSnapshot } from './home-snapshot.ts'
import { quoteForSentence, formatCount } from './sentence-text.ts'
import { deriveUndoCalls } from './undo-calls.ts'
import type { UndoCall } from './undo-calls.ts'
import { addHomeseerGuardArguments, isChangeReadBack } from './change-call-and-read-back.ts'

const HOUR_MS = 3_600_000
const LOOKED_AT = 500
const MAX_NAMED = 8
/** The cache of lookups lists the newest of a trace. */
const MAX_OF_TRACE = 200

interface UndoWish {
  readonly id: string
  readonly why: string
  readonly preview: boolean
}

export function createUndoTools(parts: HomeDependencies): readonly Capability[] {
  return [
    defineChange({
      ...DELEGATING_HOME_TOOL_DEFAULTS,
      timeoutSeconds: 120,
      name: 'undo',
      title: 'Take a change back',
      description: 'Brings back what was before a change of yours: the `id` of its answer, or the last one.',
      input: z.strictObject({
        id: z.string().max(64).default('last'),
        why: reasonForChangeArgument,
        preview: previewArgument,
      }),
      act: (_, wish, context) => undo(parts, wish, context),
    }),
  ]
}

async function undo(parts: HomeDependencies, wish: UndoWish, context: HandlerContext): Promise<Outcome> {
  const listed = findChange(parts, wish.id, context, recentChanges(parts))
  if (typeof listed === 'string') return createSentenceAnswer(`${listed} Nothing was done.`)
  const picture = await readHomeSnapshot(parts, context)
  // What it was to take back, and whether it still holds, depends on what the cache of lookups may not list: the log
  // itself is read from the change on.
  const changes = await parts.ledger.changesInLog(Math.min(...listed.calls.map(({ seq = 0 }) => seq)))
  const found = findChange(parts, wish.id, context, changes)
  const traces = wish.id === 'last' ? listOwnTraces(changes, context) : [listed.traceId]
  const isOther = typeof found !== 'string' && found.traceId !== listed.traceId
  if (isOther || !areListed(parts, changes, traces) || isUndoneUnknown(parts, changes))
    return createSentenceAnswer(
      'What was changed last cannot be told: what is stored of the changes is not what the ledger says (hearthbus ledger verify). Nothing was done.',
    )
  if (typeof found === 'string') return createSentenceAnswer(`${found} Nothing was done.`)
  const { undone, undoing } = collectUndone(parts, changes, found.traceId)
  const gone = new Set([found.traceId, ...undone, ...undoing])
  const stale = found.calls.filter((call) => isChangedSince(call, picture) || isOvertaken(call, changes, gone))
  const calls = found.calls.filter((call) => !stale.includes(call))
  const left = stale.map(({ label }) => `${quoteForSentence(label)} was changed again since`)
  if (calls.length === 0)
    return createSentenceAnswer(`${[...left, ...found.unknown].slice(0, MAX_NAMED).join('. ')}. Nothing was done.`)
  const claimed = calls.map(({ call, label }) => ({ label, call: addHomeseerGuardArguments(call, wish) }))
  if (wish.preview) {
    const previews = await Promise.all(claimed.map(({ call }) => previewCallApproval(parts, call, context)))
    const refused = previews.find((each) => !each.ok)
    if (refused?.ok === false) return fail(refused.fault)
    return createPreviewAnswer(`${formatCount(calls.length, 'change')} would be taken back.`, {
      asksPerson: previews.some((each) => each.ok && each.value.asksPerson),
    })
  }
  const failed: string[] = []
  let [done, verified] = [0, 0]
  for (const { call, label } of claimed) {
    const outcome = await context.call(call.tool, call.arguments)
    if (outcome.ok) {
      done++
      if (isChangeReadBack(outcome.value.data)) verified++
    }
    // The answer may say that nothing was done only as long as that is true.
    else if (outcome.fault.kind === 'approval-required' && done === 0) return fail(outcome.fault)
    else failed.push(`${quoteForSentence(label)}: ${quoteForSentence(outcome.fault.message)}`)
  }
  if (done === 0)
    return createSentenceAnswer('Nothing could be taken back: see not_undone. Nothing was done.', {
      not_undone: [...failed, ...left, ...found.unknown].slice(0, MAX_NAMED),
    })
  const sentence = `${formatCount(done, 'change')} ${done === 1 ? 'was' : 'were'} taken back, ${verified} read back so.`
  const notes = [...failed, ...left, ...found.unknown].slice(0, MAX_NAMED)
  return createSentenceAnswer(notes.length === 0 ? sentence : `${sentence} The rest was not: see not_undone.`, {
    ...(notes.length === 0 ? {} : { not_undone: notes }),
    // Steps that failed for now, such as one that waits for a person, may be tried again.
    [failed.length === 0 ? 'undid' : 'partly_undid']: found.traceId,
    id: context.traceId,
  })
}

/**
 * Whether the thing was changed since. This is only known if the value or text after the change, and the present one,
 * are known.
 */
function isChangedSince({ handle, leftAt }: UndoCall, { things }: HomeSnapshot): boolean {
  const thing = things.find((each) => each.handle === handle)
  const now = typeof leftAt === 'string' ? thing?.state : thing?.level
  return leftAt !== undefined && now !== undefined && now !== leftAt
}

/**
 * Whether the ledger has a later change of the same thing that is still in effect, whoever made it. A change that was
 * undone, and its undo, have no effect together: `gone` has their traces.
 */
function isOvertaken({ target, seq = 0 }: UndoCall, changes: RecentChanges, gone: ReadonlySet<string>): boolean {
  if (target === undefined) return false
  return changes.some(
    ({ entry, end }) =>
      entry?.kind === 'call.enter' &&
      entry.seq > seq &&
      end?.['outcome'] === 'ok' &&
      end['dry_run'] !== true &&
      end['replayed'] !== true &&
      (readTextAt(end, 'target') ?? readTextAt(entry, 'target')) === target &&
      !gone.has(readTextAt(entry, 'trace_id') ?? ''),
  )
}

type RecentChanges = ReturnType<typeof recentChanges>

/** The changes that were undone, and the calls that undid them, by trace; newest first. */
function collectUndone(
  parts: HomeDependencies,
  changes: RecentChanges,
  ownTraceId?: string,
): { readonly undone: ReadonlySet<string>; readonly undoing: ReadonlySet<string> } {
  const [undone, undoing] = [new Set(ownTraceId === undefined ? [] : [ownTraceId]), new Set<string>()]
  for (const { entry, end } of changes) {
    const traceId = readTextAt(entry, 'trace_id') ?? ''
    // An undo that was itself undone no longer counts.
    if (entry?.['tool'] !== 'undo' || end === undefined || undone.has(traceId)) continue
    undoing.add(traceId)
    const undid = readTextAt(resultOf(parts, end), 'undid')
    if (undid !== undefined) undone.add(undid)
  }
  return { undone, undoing }
}

/** Whether what an undo took back cannot be read, because another program changed the stored answer. */
function isUndoneUnknown({ ledger }: HomeDependencies, changes: RecentChanges): boolean {
  return changes.some(
    ({ entry, end }) => entry?.['tool'] === 'undo' && end !== undefined && ledger.body(end.seq).kind === 'altered',
  )
}

function recentChanges({ ledger, clock }: HomeDependencies): ReturnType<HomeDependencies['ledger']['changes']> {
  const before = { at: formatIsoTime(clock.now() + HOUR_MS), seq: Number.MAX_SAFE_INTEGER }
  return ledger.changes({ since: '', before, limit: LOOKED_AT })
}

interface UndoableChange {
  readonly traceId: string
  readonly calls: readonly UndoCall[]
  /** Why parts of the change cannot be undone. */
  readonly unknown: readonly string[]
}

function listOwnTraces(changes: RecentChanges, { caller }: HandlerContext): readonly string[] {
  const own = changes.filter(({ entry }) => entry?.['principal'] === toCallerKey(caller))
  return [...new Set(own.flatMap(({ entry }) => readTextAt(entry, 'trace_id') ?? []))]
}

/** Whether the cache of lookups has the calls of these traces, and their ends, as the log has them. */
function areListed({ ledger }: HomeDependencies, changes: RecentChanges, traces: readonly string[]): boolean {
  return traces.every((trace) => {
    const entries = ledger.entriesOfTrace(trace)
    const listed = new Set(entries.map(({ seq }) => seq))
    const isCut = entries.filter((entry) => entry['trace_id'] === trace).length >= MAX_OF_TRACE
    const from = isCut ? (entries[0]?.seq ?? 0) : 0
    return changes
      .filter(({ entry, seq }) => entry?.['trace_id'] === trace && seq >= from)
      .every(({ seq, end }) => listed.has(seq) && (end === undefined || listed.has(end.seq)))
  })
}

/** The change to take back, or why there is none. `changes` has at least those since then. */
function findChange(
  parts: HomeDependencies,
  id: string,
  context: HandlerContext,
  changes: RecentChanges,
): UndoableChange | string {
  return id === 'last' ? lastChange(parts, context, changes) : changeNamed(parts, { id, changes }, context)
}

function changeNamed(
  parts: HomeDependencies,
  { id, changes }: { readonly id: string; readonly changes: RecentChanges },
  context: HandlerContext,
): UndoableChange | string {
  const planned = parts.ledger.projections.state(laterCallsProjection).calls.get(id)
  const isOwnPlan = planned !== undefined && isLaterCallOfCaller(planned, context.caller)
  if (isOwnPlan && planned.traceId === undefined) return 'That is only planned: `later` with `cancel` takes it back.'
  const traceId = isOwnPlan ? (planned.traceId ?? id) : id
  const change = changeOf(parts, traceId, context)
  if (change === undefined) return `There is no change ${quoteForSentence(id)} of yours.`
  if (change.calls.length === 0 && change.unknown.length === 0) return 'That call changed nothing.'
  if (collectUndone(parts, changes).undone.has(traceId)) return 'That was taken back already.'
  return change
}

/** The newest change, except changes that were undone, and undos. */
function lastChange(parts: HomeDependencies, context: HandlerContext, changes: RecentChanges): UndoableChange | string {
  const { undone, undoing } = collectUndone(parts, changes)
  const seen = new Set([...undone, ...undoing, context.traceId])
  for (const { entry } of changes) {
    const traceId = entry?.['trace_id']
    if (entry?.kind !== 'call.enter' || typeof traceId !== 'string' || seen.has(traceId)) continue
    if (entry['principal'] !== toCallerKey(context.caller)) continue
    seen.add(traceId)
    const change = changeOf(parts, traceId, context)
    if (change !== undefined && change.calls.length > 0) return change
    // A change that cannot be undone is reported: undoing an older one instead would not be what was meant.
    if (change !== undefined && change.unknown.length > 0) return `${change.unknown.join('. ')}.`
  }
  return 'There is no change of yours that could be taken back.'
}

function changeOf(parts: HomeDependencies, traceId: string, { caller }: HandlerContext): UndoableChange | undefined {
  const entries = parts.ledger.entriesOfTrace(traceId)
  const own = entries.filter((entry) => entry.kind === 'call.enter' && entry['principal'] === toCallerKey(caller))
  if (own.length === 0) return undefined
  const ended = own.flatMap((enter) => {
    const exit = entries.find((entry) => entry.kind === 'call.exit' && entry['call'] === enter.seq)
    return exit?.['outcome'] === 'ok' && exit['dry_run'] !== true && exit['replayed'] !== true ? [{ enter, exit }] : []
  })
  const made = ended.map(({ enter, exit }) => {
    const target = readTextAt(exit, 'target') ?? readTextAt(enter, 'target')
    const reversed = deriveUndoCalls(
      {
        tool: readTextAt(enter, 'tool') ?? '',
        label: readTextAt(bodyOf(parts, exit), 'label'),
        // The exit event has the effect only if it differs from the tool's own.
        effect: readTextAt(exit, 'effect') ?? readTextAt(enter, 'effect'),
      },
      { arguments: readJsonValueAt(bodyOf(parts, enter), 'args'), result: resultOf(parts, exit) },
    )
    return {
      ...reversed,
      tool: readTextAt(enter, 'tool') ?? '',
      calls: reversed.calls.map((call) => ({ ...call, target, seq: enter.seq })),
    }
  })
  // The answer of `home_set` has the call that restores the device's earlier state; that of the device's own tool does
  // not.
  const isRestoredByHome = made.some(({ tool, calls }) => tool === 'home_set' && calls.length > 0)
  return {
    traceId,
    // The last change is undone first.
    calls: made.flatMap(({ calls }) => calls).toReversed(),
    unknown: made.flatMap(({ tool, unknown }) => (isRestoredByHome && tool.startsWith('device.') ? [] : unknown)),
  }
}

function resultOf(parts: HomeDependencies, exit: LedgerEntry): Json | undefined {
  return readJsonValueAt(bodyOf(parts, exit), 'result')
}

function bodyOf({ ledger }: HomeDependencies, { seq }: LedgerEntry): Json | undefined {
  const body = ledger.body(seq)
  return body.kind === 'kept' ? body.body : undefined
}

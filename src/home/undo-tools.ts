/**
 * Undo tools: bringing back what was before a change, from what the ledger recorded of it: the calls that were made
 * under its trace, what each found before, and what each left behind.
 *
 * What somebody else has changed since is left alone.
 *
 * Reads the ledger; writes through the families' own tools.
 */
import { z } from 'zod'
import type { Outcome } from '../bus/call.ts'
import { callerKey } from '../bus/caller.ts'
import type { Capability } from '../bus/capability.ts'
import { CALLS_ON, defineChange } from '../bus/capability-definition.ts'
import type { HandlerContext } from '../bus/call-options.ts'
import type { Json } from '../core/json.ts'
import { fail } from '../core/result.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import { previewCall, sayPreview } from './call-preview.ts'
import { HOME_TOOL_DEFAULTS, previewArgument, sayAnswer, whyArgument } from './dependencies.ts'
import type { HomeParts } from './dependencies.ts'
import { valueAt, textAt } from './json-path.ts'
import { readHomePicture } from './picture.ts'
import type { HomePicture } from './picture.ts'
import { quoteText, sayCount } from './say.ts'
import { findReverseCalls } from './reverse-call.ts'
import type { ReverseCall } from './reverse-call.ts'
import { addHomeseerClaims } from './set-outcome.ts'

const HOUR_MS = 3_600_000
const LOOKED_AT = 500
const MAX_NAMED = 8

interface UndoWish {
  readonly id: string
  readonly why: string
  readonly preview: boolean
}

export function createUndoTools(parts: HomeParts): readonly Capability[] {
  return [
    defineChange({
      ...HOME_TOOL_DEFAULTS,
      ...CALLS_ON,
      effect: 'writes',
      idempotent: false,
      timeoutSeconds: 120,
      name: 'undo',
      title: 'Take a change back',
      description: 'Brings back what was before a change of yours: the `id` of its answer, or the last one.',
      input: z.strictObject({ id: z.string().max(64).default('last'), why: whyArgument, preview: previewArgument }),
      act: (_, wish, context) => undo(parts, wish, context),
    }),
  ]
}

async function undo(parts: HomeParts, wish: UndoWish, context: HandlerContext): Promise<Outcome> {
  const found = wish.id === 'last' ? lastChange(parts, context) : changeNamed(parts, wish.id, context)
  if (typeof found === 'string') return sayAnswer(`${found} Nothing was done.`)
  const picture = await readHomePicture(parts, context)
  const stale = found.calls.filter((call) => isChangedSince(call, picture))
  const calls = found.calls.filter((call) => !stale.includes(call))
  const left = stale.map(({ label }) => `${quoteText(label)} was changed again since`)
  if (calls.length === 0)
    return sayAnswer(`${[...left, ...found.unknown].slice(0, MAX_NAMED).join('. ')}. Nothing was done.`)
  const claimed = calls.map(({ call, label }) => ({ label, call: addHomeseerClaims(call, wish) }))
  if (wish.preview) {
    const previews = await Promise.all(claimed.map(({ call }) => previewCall(parts, call, context)))
    const refused = previews.find((each) => !each.ok)
    if (refused?.ok === false) return fail(refused.fault)
    return sayPreview(`${sayCount(calls.length, 'change')} would be taken back.`, {
      asksPerson: previews.some((each) => each.ok && each.value.asksPerson),
    })
  }
  const failed: string[] = []
  let [done, verified] = [0, 0]
  for (const { call, label } of claimed) {
    const outcome = await context.call(call.tool, call.arguments)
    if (outcome.ok) {
      done++
      if (isVerified(outcome.value.data)) verified++
    }
    // That nothing was done yet can only be said while it is true.
    else if (outcome.fault.kind === 'approval-required' && done === 0) return fail(outcome.fault)
    else failed.push(`${quoteText(label)}: ${quoteText(outcome.fault.message)}`)
  }
  const sentence = `${sayCount(done, 'change')} ${done === 1 ? 'was' : 'were'} taken back, ${verified} read back so.`
  const notes = [...failed, ...left, ...found.unknown].slice(0, MAX_NAMED)
  return sayAnswer(notes.length === 0 ? sentence : `${sentence} The rest was not: see not_undone.`, {
    ...(notes.length === 0 ? {} : { not_undone: notes }),
    undid: found.traceId,
    id: context.traceId,
  })
}

function isVerified(data: Json): boolean {
  return valueAt(data, 'verification', 'matched') === true || valueAt(data, 'data', 'confirmed') === true
}

/** Only where it is known what the change left behind, and what is there now. */
function isChangedSince({ handle, leftAt }: ReverseCall, { things }: HomePicture): boolean {
  const now = things.find((thing) => thing.handle === handle)?.level
  return leftAt !== undefined && now !== undefined && now !== leftAt
}

interface UndoableChange {
  readonly traceId: string
  readonly calls: readonly ReverseCall[]
  /** Why parts of it cannot be taken back. */
  readonly unknown: readonly string[]
}

function changeNamed(parts: HomeParts, traceId: string, context: HandlerContext): UndoableChange | string {
  const change = changeOf(parts, traceId, context)
  if (change === undefined) return `There is no change ${quoteText(traceId)} of yours.`
  if (change.calls.length === 0 && change.unknown.length === 0) return 'That call changed nothing.'
  return change
}

function lastChange(parts: HomeParts, context: HandlerContext): UndoableChange | string {
  const { ledger, clock } = parts
  const before = { at: new Date(clock.now() + HOUR_MS).toISOString(), seq: Number.MAX_SAFE_INTEGER }
  const seen = new Set<string>()
  for (const { entry, end } of ledger.changes({ since: '', before, limit: LOOKED_AT })) {
    const traceId = entry?.['trace_id']
    if (entry?.kind !== 'call.enter' || typeof traceId !== 'string' || seen.has(traceId)) continue
    if (entry['principal'] !== callerKey(context.caller) || traceId === context.traceId) continue
    if (entry['tool'] === 'undo') {
      // Neither what was taken back nor the taking back is the change that is meant.
      const undid = end === undefined ? undefined : textAt(resultOf(parts, end), 'undid')
      if (undid !== undefined) seen.add(undid)
      seen.add(traceId)
      continue
    }
    seen.add(traceId)
    const change = changeOf(parts, traceId, context)
    if (change !== undefined && change.calls.length > 0) return change
    // What cannot be taken back is said: going on to an older change would take back another than was meant.
    if (change !== undefined && change.unknown.length > 0) return `${change.unknown.join('. ')}.`
  }
  return 'There is no change of yours that could be taken back.'
}

function changeOf(parts: HomeParts, traceId: string, { caller }: HandlerContext): UndoableChange | undefined {
  const entries = parts.ledger.entriesOfTrace(traceId)
  const own = entries.filter((entry) => entry.kind === 'call.enter' && entry['principal'] === callerKey(caller))
  if (own.length === 0) return undefined
  const ended = own.flatMap((enter) => {
    const exit = entries.find((entry) => entry.kind === 'call.exit' && entry['call'] === enter.seq)
    return exit?.['outcome'] === 'ok' && exit['dry_run'] !== true && exit['replayed'] !== true ? [{ enter, exit }] : []
  })
  const made = ended.map(({ enter, exit }) =>
    findReverseCalls(
      {
        tool: textAt(enter, 'tool') ?? '',
        label: textAt(bodyOf(parts, exit), 'label'),
        // The exit says it only where it is another than the tool's own.
        effect: textAt(exit, 'effect') ?? textAt(enter, 'effect'),
      },
      { arguments: valueAt(bodyOf(parts, enter), 'arguments'), result: resultOf(parts, exit) },
    ),
  )
  return {
    traceId,
    // What was done last is taken back first.
    calls: made.flatMap(({ calls }) => calls).toReversed(),
    unknown: made.flatMap(({ unknown }) => unknown),
  }
}

function resultOf(parts: HomeParts, exit: LedgerEntry): Json | undefined {
  return valueAt(bodyOf(parts, exit), 'result')
}

function bodyOf({ ledger }: HomeParts, { seq }: LedgerEntry): Json | undefined {
  const body = ledger.body(seq)
  return body.kind === 'kept' ? body.body : undefined
}

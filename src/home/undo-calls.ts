/**
 * Undo calls: the calls that undo one recorded call, derived from its arguments and its answer.
 *
 *   hs4.devices.set                    the value, text or colour that was there before
 *   ebus.v1.settings.set               as its answer says
 *   ebus…schedules.set_…               the slots that were there before
 *   home_set of a device's own part    the device's state before, as the answer has it
 */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { readArrayAt, readJsonValueAt, readNumberAt, readObjectsAt, readTextAt } from './json-path.ts'
import { quoteForSentence } from './sentence-text.ts'
import type { ThingCall } from './thing.ts'

export interface UndoCall {
  readonly call: ThingCall
  /** The name that a person would use; untrusted text. */
  readonly label: string
  readonly handle: string | undefined
  /** The value or text after the change, where it is known. */
  readonly leftAt: number | string | undefined
  /** The target as the ledger names it, and the number of the ledger entry. */
  readonly target?: string | undefined
  readonly seq?: number
}

interface RecordedCall {
  readonly tool: string
  readonly label: string | undefined
  readonly effect: string | undefined
}

interface ReversedCall {
  readonly calls: readonly UndoCall[]
  readonly unknown: readonly string[]
}

const NOTHING: ReversedCall = { calls: [], unknown: [] }
const SCHEDULE = /^ebus\.v1\.semantic\.schedules\.set_/
/** Effects of calls that changed the house themselves, rather than only making further calls. */
const CHANGES = new Set(['writes', 'sensitive', 'admin'])

export function deriveUndoCalls(
  { tool, label, effect }: RecordedCall,
  { arguments: body, result }: { readonly arguments: Json | undefined; readonly result: Json | undefined },
): ReversedCall {
  const name = label ?? tool
  const printed = readJsonValueAt(result, 'undo')
  if (isJsonObject(printed) && readTextAt(printed, 'tool') !== undefined)
    return { calls: [asCall(printed, name)], unknown: [] }
  // The nested calls of a delegating call are under the same trace.
  if (effect === undefined || !CHANGES.has(effect)) return NOTHING
  if (tool === 'hs4.devices.set') return deviceValue(result, name)
  if (tool === 'ebus.v1.settings.set') {
    const calls = readObjectsAt(result, 'data', 'undo').filter((call) => readTextAt(call, 'tool') !== undefined)
    return calls.length > 0
      ? { calls: calls.map((call) => asCall(call, name)), unknown: [] }
      : unknown(name, 'what it was before cannot be set again')
  }
  if (SCHEDULE.test(tool)) return schedule(tool, name, { body, result })
  if (tool.startsWith('device.')) return unknownDevice(tool, name)
  if (tool === 'hs4.events.run') return unknown(name, 'a scene may have changed anything; set the things themselves')
  if (tool === 'devices.announce' || tool === 'hs4.speak') return unknown(name, 'what was said cannot be unsaid')
  return unknown(name, 'this tool does not say what was before')
}

function deviceValue(result: Json | undefined, name: string): ReversedCall {
  const ref = readNumberAt(result, 'ref')
  // A value that is set as text, such as a colour, has no number; its previous status is restored.
  const isText = readTextAt(result, 'verification', 'expected', 'text') !== undefined
  const before = isText
    ? readTextAt(result, 'verification', 'before', 'status')
    : readNumberAt(result, 'verification', 'before', 'value')
  if (ref === undefined || before === undefined) return unknown(name, 'what it was before is not known')
  const restored = typeof before === 'string' ? { text: before.replace(COLOUR_MARK, '') } : { value: before }
  const call = { tool: 'hs4.devices.set', arguments: { ref, ...restored } }
  const leftAt = isText
    ? readTextAt(result, 'verification', 'observed', 'status')
    : readNumberAt(result, 'verification', 'observed', 'value')
  return { calls: [{ call, label: readTextAt(result, 'name') ?? name, handle: `hs:${ref}`, leftAt }], unknown: [] }
}

/** HomeSeer shows a colour with this mark, and expects it without. */
const COLOUR_MARK = /^#(?=[0-9a-f]{6}$)/i

function schedule(
  tool: string,
  name: string,
  { body, result }: { readonly body: Json | undefined; readonly result: Json | undefined },
): ReversedCall {
  const before = [...readArrayAt(result, 'data', 'before'), ...readArrayAt(result, 'before')]
  if (
    !isJsonObject(body) ||
    (readJsonValueAt(result, 'data', 'before') ?? readJsonValueAt(result, 'before')) === undefined
  )
    return unknown(name, 'the times before are not known')
  const { idempotency_key: _, dryRun: __, ...same } = body
  const call = { tool, arguments: { ...same, slots: before.map(toSlotInput) } as JsonObject }
  return { calls: [{ call, label: name, handle: undefined, leftAt: undefined }], unknown: [] }
}

/** A slot is read with more fields than it is written with. */
function toSlotInput(slot: Json): Json {
  if (!isJsonObject(slot)) return slot
  return Object.fromEntries(Object.entries(slot).filter(([key]) => SLOT_INPUT.has(key)))
}

const SLOT_INPUT = new Set(['start_hour', 'start_minute', 'end_hour', 'end_minute', 'temperature_c'])

/** The answer of `home_set` contains the device's earlier state; that of its own tool does not. */
function unknownDevice(tool: string, name: string): ReversedCall {
  return /\.(?:get_|list_|take_photo)/.test(tool) ? NOTHING : unknown(name, 'the device does not say what was before')
}

function asCall(call: JsonObject, label: string): UndoCall {
  const body = call['arguments']
  return {
    call: { tool: readTextAt(call, 'tool') ?? '', arguments: isJsonObject(body) ? body : {} },
    label,
    handle: undefined,
    leftAt: undefined,
  }
}

function unknown(name: string, reason: string): ReversedCall {
  return { calls: [], unknown: [`${quoteForSentence(name)}: ${reason}`] }
}

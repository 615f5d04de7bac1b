/**
 * Device outcome: a device's answer as an outcome of the bus.
 *
 *   result ▸ content without invisible characters, and its value as data: the JSON in a single text, or the text
 *   isError, JSON-RPC error, silence ▸ a fault whose kind tells whether anything may have happened
 */
import type { Outcome } from '../../bus/call.ts'
import type { Effect, JsonSchema } from '../../bus/capability.ts'
import type { Fault, FaultKind } from '../../core/fault.ts'
import type { Json } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { DeviceFault } from '../session/device-fault.ts'
import { formatDeviceFault, mayDeviceHaveActed } from '../session/device-fault.ts'
import type { ToolResult } from '../wire/tool-result.ts'
import { parseBoundedJson } from '../wire/bounded-json.ts'
import { sanitizeJson, sanitizeText, sanitizeLine } from '../../core/untrusted-text.ts'

export interface DeviceOutcomeContext {
  readonly slug: string
  readonly effect: Effect
}

/** The answer of every device tool: `value` is the JSON or the text that the device returned. */
export const DEVICE_ANSWER_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    device: { type: 'string', description: 'Who answered.' },
    value: {
      description: 'What it answered: the JSON in its text, or the text itself. `false` means that it refused.',
    },
    images: { type: 'integer', description: 'How many pictures are in the content.' },
    evidence: { type: 'object', description: 'What shows that it was done, where the device cannot say so.' },
  },
  required: ['device', 'value'],
}

const MAX_ERROR = 4_096
const RETRY_AFTER_MS = 1_000

export function toDeviceOutcome(result: Result<ToolResult, DeviceFault>, called: DeviceOutcomeContext): Outcome {
  if (!result.ok) return fail(mapDeviceFaultToCallFault(result.fault, called))
  const { content, isError } = result.value
  if (isError) return fail({ kind: 'failed', message: errorText(textOf(content)), details: { device: called.slug } })
  const images = content.filter(({ type }) => type === 'image').length
  const data = { device: called.slug, value: sanitizeJson(valueOf(content)), ...(images === 0 ? {} : { images }) }
  return ok({ data, content: content.map(visibleItem) })
}

function visibleItem(item: ToolResult['content'][number]): ToolResult['content'][number] {
  return item.type === 'text' ? { ...item, text: sanitizeText(item.text) } : { ...item }
}

export function mapDeviceFaultToCallFault(fault: DeviceFault, { slug, effect }: DeviceOutcomeContext): Fault {
  const kind = kindOf(fault, effect)
  const message = fault.kind === 'device-error' ? errorText(fault.message) : formatDeviceFault(fault)
  const code = fault.kind === 'expired' && !fault.asleep ? undefined : CODES[fault.kind]
  return {
    kind,
    message,
    ...(code === undefined ? {} : { code }),
    ...(kind === 'busy' ? { retryAfterMs: RETRY_AFTER_MS } : {}),
    details: {
      device: slug,
      ...(fault.kind === 'device-error' && fault.code !== undefined ? { jsonrpc_code: fault.code } : {}),
      ...(fault.kind === 'invalid-arguments' ? { problems: fault.problems } : {}),
    },
  }
}

const CODES: Readonly<Partial<Record<DeviceFault['kind'], string>>> = {
  asleep: 'device_asleep',
  'unknown-device': 'unknown_device',
  'unknown-tool': 'unknown_tool',
  expired: 'device_asleep',
  cancelled: 'cancelled',
  disconnected: 'device_disconnected',
  'bad-answer': 'bad_answer',
}

/** A change that may have happened is never reported as a plain failure, because a caller would repeat it. */
function kindOf(fault: DeviceFault, effect: Effect): FaultKind {
  if (mayDeviceHaveActed(fault) && effect !== 'reads')
    return fault.kind === 'timed-out' || fault.kind === 'cancelled' ? fault.kind : 'unknown-outcome'
  switch (fault.kind) {
    case 'unknown-device':
    case 'unknown-tool':
      return 'not-found'
    case 'asleep':
      return 'offline'
    case 'expired':
      return fault.asleep ? 'offline' : 'busy'
    case 'disconnected':
      return fault.sent ? 'failed' : 'offline'
    case 'queue-full':
      return 'busy'
    case 'cancelled':
      // `cancelled` leaves open whether anything was tried, and the guard would assume that something was; so it is
      // only used after sending.
      return fault.sent ? 'cancelled' : 'busy'
    case 'device-error':
      return rpcKind(fault.code)
    case 'bad-answer':
      return 'failed'
    default:
      return fault.kind
  }
}

/** JSON-RPC 2.0 § 5.1. Firmware up to 2.4.2 sends no code; then it is only known that the device refused. */
function rpcKind(code: number | undefined): FaultKind {
  if (code === -32_601) return 'unsupported'
  return code === -32_602 ? 'invalid-arguments' : 'failed'
}

/** A device's text is shown in terminals and to models, so it is cleaned. */
function errorText(text: string): string {
  return sanitizeLine(text, MAX_ERROR) || 'The device gave no reason.'
}

function textOf(content: ToolResult['content']): string {
  return content.flatMap((item) => (item.type === 'text' ? [item.text] : [])).join('\n')
}

function valueOf(content: ToolResult['content']): Json {
  const texts = content.flatMap((item) => (item.type === 'text' ? [item.text] : []))
  const [only] = texts
  if (only === undefined) return null
  return texts.length === 1 ? meaning(only) : texts.map(meaning)
}

/** Parsing prose as JSON costs more than the rest of an answer, so the text must look like JSON first. */
const LOOKS_LIKE_JSON = /^\s*(?:[[{"]|(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)\s*$)/

/** The value of a text: parsed JSON, or the text itself if it would not survive parsing without loss. */
function meaning(text: string): Json {
  const value = LOOKS_LIKE_JSON.test(text) ? parseBoundedJson(text) : undefined
  if (value === undefined || (typeof value === 'number' && !isExact(value, text.trim()))) return text.toWellFormed()
  return value
}

/** A double represents every number of up to fifteen digits exactly, and some longer ones. */
function isExact(value: number, text: string): boolean {
  const [digits = ''] = text.split(/e/i)
  return digits.replaceAll(/\D/g, '').length <= 15 || String(value) === text
}

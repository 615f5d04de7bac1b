/**
 * Defined message write: a message of a definition file is written: what the guard is told about it, the telegrams,
 * and the look at it afterwards. Shared by every tool that writes by definition.
 */
import { toAccountKey } from '../../bus/caller.ts'
import type { Call } from '../../bus/call.ts'
import type { CallAssessment } from '../../bus/capability.ts'
import { toHex } from '../../core/bytes.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { BusDefinitions } from '../definitions/bus-definitions.ts'
import type { DecodedMessage } from '../definitions/message-decoder.ts'
import { decodeMessage, listFieldKeys } from '../definitions/message-decoder.ts'
import { formatDefinitionErrorCode } from '../definitions/definition-error.ts'
import type { EncodedCommand } from '../definitions/message-encoder.ts'
import { encodeCommands } from '../definitions/message-encoder.ts'
import type { FieldValueReading } from '../definitions/field.ts'
import { isIgnoredField } from '../definitions/field.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import { formatBusAddress } from '../observe/observation.ts'
import { createEbusArgumentFault, createCancelledBusCallFault, createBusWriteFault } from './faults.ts'
import { findBuiltInWrite, toMessageValuesJson, classifyMessageWrite } from './message-definition-view.ts'

const DEADLINE_MS = 5_000

export type ScalarValue = string | number | boolean

/** The value of the only field, of a named one, or of several. */
export interface MessageWriteValues {
  readonly field?: string
  readonly value: ScalarValue | Readonly<Record<string, ScalarValue>>
}

/** What a wish comes to on this bus, now. */
export interface PlannedMessageWrite {
  readonly heating: HeatingBusClient
  readonly definitions: BusDefinitions
  readonly message: MessageDefinition
  /** Asks for the same thing; `undefined` where nothing does. */
  readonly look: MessageDefinition | undefined
  readonly values: MessageWriteValues
}

export function planMessageWrite(
  { heating, definitions }: { readonly heating: HeatingBusClient; readonly definitions: BusDefinitions },
  message: MessageDefinition,
  values: MessageWriteValues,
): Result<PlannedMessageWrite, Fault> {
  const look = definitions.named(message.circuit, message.name, 'read')
  const last = look === undefined ? undefined : knownValues(look, definitions)
  // Values that nobody knows yet are read before the change: only what is wrong whatever they are is refused here.
  const commands = commandsFor(message, values, last)
  if (!commands.ok && last !== undefined) return commands
  return ok({ heating, definitions, message, look, values })
}

/** Without the reasons, which are those of the tool. */
export function assessMessageWrite({
  heating,
  definitions,
  message,
  look,
  values,
}: PlannedMessageWrite): Omit<CallAssessment, 'reasons'> {
  const last = look === undefined ? undefined : knownValues(look, definitions)
  const commands = commandsFor(message, values, last)
  const data = commands.ok ? commands.value[0]?.data : undefined
  const what = `${message.circuit}.${message.name}`
  const target = message.zz === undefined ? 'any' : formatBusAddress(message.zz)
  return {
    effect: classifyMessageWrite(definitions, message, data),
    target: `ebus:${heating.id}:${target}/${what}`,
    label: `${what} at ${target}`,
    keyedChange: { bus: heating.id, message: what, ...(values as unknown as JsonObject) },
    preview: {
      message: what,
      value: values.value,
      ...(look === undefined || last === undefined ? {} : { before: toMessageValuesJson(look, last) }),
      ...(data === undefined ? {} : { telegram_data: toHex(data) }),
    },
  }
}

export interface MessageWriteOutcome {
  readonly before: JsonObject | undefined
  readonly written: JsonObject | undefined
  readonly readBack: JsonObject | undefined
  /** `undefined` when it cannot be asked. */
  readonly confirmed: boolean | undefined
}

export async function writeDefinedMessage(
  planned: PlannedMessageWrite,
  call: Call,
): Promise<Result<MessageWriteOutcome, Fault>> {
  const { heating, message, look, values } = planned
  const send = { deadlineMs: DEADLINE_MS, caller: toAccountKey(call.caller) }
  // Nothing of ours goes out between the look before, the change and the look at it.
  return heating.exclusively(async () => {
    if (call.signal.aborted) return fail(createCancelledBusCallFault())
    const before = await lookAt(planned, { ...send, signal: call.signal })
    const commands = commandsFor(message, values, before)
    if (!commands.ok) return commands
    for (const { target, data } of commands.value) {
      const request = { target, primary: message.pb, secondary: message.sb, data }
      // Not repeatable: a telegram that may have reached its target is not said a second time.
      const sent = await heating.send(request, { ...send, signal: call.signal, repeatable: false })
      if (!sent.ok) return fail(createBusWriteFault(sent.fault, target))
    }
    const [first] = commands.value
    const written = first === undefined || commands.value.length > 1 ? undefined : writtenValues(message, first.data)
    const after = await lookAt(planned, send)
    return ok({
      before: look === undefined || before === undefined ? undefined : toMessageValuesJson(look, before),
      written: written === undefined ? undefined : toMessageValuesJson(message, written),
      readBack: look === undefined || after === undefined ? undefined : toMessageValuesJson(look, after),
      confirmed:
        after === undefined || written === undefined || first === undefined
          ? undefined
          : holdsNow(planned, { command: first.data, written, after }),
    })
  })
}

function knownValues(look: MessageDefinition, definitions: BusDefinitions): DecodedMessage | undefined {
  const last = definitions.last(look)
  const decoded = last === undefined ? undefined : decodeMessage(look, last)
  return decoded?.ok === true ? decoded.value : undefined
}

/** One text for every field of the command; those that are not given keep what they have. */
function commandsFor(
  message: MessageDefinition,
  { field, value }: MessageWriteValues,
  current: DecodedMessage | undefined,
): Result<readonly EncodedCommand[], Fault> {
  const keys = listFieldKeys(message.fields)
  const settable = message.fields.flatMap((each, index) =>
    each.part === 'm' && !isIgnoredField(each) ? [{ key: keys[index] ?? '', constant: each.constant }] : [],
  )
  const given = typeof value === 'object' ? value : field === undefined ? undefined : { [field]: value }
  const unknown = Object.keys(given ?? {}).find((key) => !settable.some((each) => each.key === key))
  if (unknown !== undefined)
    return fail(
      createEbusArgumentFault('field', `${unknown} is none; there is ${settable.map(({ key }) => key).join(', ')}`),
    )
  const texts: string[] = []
  for (const { key, constant } of given === undefined ? [] : settable) {
    const own = given?.[key]
    const known = current?.fields.find((each) => each.key === key)?.reading
    const text = own === undefined ? (constant?.text ?? known?.printed) : textOf(own)
    if (text === undefined)
      return fail(createEbusArgumentFault('value', `${key} is missing, and its present value is not known`))
    if (text.includes(';') && settable.length > 1) return fail(createEbusArgumentFault('value', `${key} holds a ;`))
    texts.push(text)
  }
  const commands = encodeCommands(message, given === undefined ? textOf(value as ScalarValue) : texts.join(';'))
  return commands.ok ? commands : fail(createEbusArgumentFault('value', formatDefinitionErrorCode(commands.fault)))
}

function textOf(value: ScalarValue): string {
  if (typeof value === 'boolean') return value ? '1' : '0'
  return String(value)
}

async function lookAt(
  { heating, look }: PlannedMessageWrite,
  options: { readonly deadlineMs: number; readonly caller: string; readonly signal?: AbortSignal },
): Promise<DecodedMessage | undefined> {
  if (look === undefined || look.isPassive) return undefined
  const read = await heating.messages.read(look, '', { ...options, repeatable: true })
  const decoded = read.ok ? decodeMessage(look, read.value) : undefined
  return decoded?.ok === true ? decoded.value : undefined
}

/** What the bytes that were sent say, by the definition itself. */
function writtenValues(message: MessageDefinition, command: Uint8Array): DecodedMessage | undefined {
  const own = { ...message, fields: message.fields.filter(({ part }) => part === 'm') }
  const decoded = decodeMessage(own, { command, response: new Uint8Array() })
  return decoded.ok ? decoded.value : undefined
}

/**
 * Fields of the same name say the same; with one field on each side the names do not matter. A duration that runs down
 * is the built-in map's to judge: it has become less since.
 */
function holdsNow(
  { message, look, definitions }: PlannedMessageWrite,
  {
    command,
    written,
    after,
  }: { readonly command: Uint8Array; readonly written: DecodedMessage; readonly after: DecodedMessage },
): boolean {
  const response = look === undefined ? undefined : definitions.last(look)?.response
  if (response !== undefined && findBuiltInWrite(message, command)?.confirm?.holds(response) === true) return true
  // What is always the same is sent with the value, and not asked for.
  const variable = written.fields.filter(({ field }) => field.constant === undefined)
  const [only, ...others] = variable
  const [seen, ...more] = after.fields
  if (only !== undefined && seen !== undefined && others.length === 0 && more.length === 0)
    return saysSame(only.reading, seen.reading)
  return variable.every(({ key, reading }) => {
    const found = after.fields.find((each) => each.key === key)
    return found !== undefined && saysSame(reading, found.reading)
  })
}

/** Question and answer may be coded differently: then the one with fewer digits decides. */
function saysSame(left: FieldValueReading, right: FieldValueReading): boolean {
  if (left.printed === right.printed) return true
  if (typeof left.value !== 'number' || typeof right.value !== 'number') return false
  const digits = Math.min(fractionDigits(left.printed), fractionDigits(right.printed))
  return Math.abs(left.value - right.value) <= 0.5 * 10 ** -digits
}

function fractionDigits(printed: string): number {
  const point = printed.indexOf('.')
  return point < 0 ? 0 : printed.length - point - 1
}

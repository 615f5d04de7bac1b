/**
 * Message write: a setting of a definition file is written, and the message is read again afterwards.
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import { accountKey } from '../../bus/caller.ts'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Assessment, Capability } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import { hex } from '../../core/bytes.ts'
import type { Fault, Reason } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { BusDefinitions } from '../definitions/bus-definitions.ts'
import type { DecodedMessage } from '../definitions/decode.ts'
import { decodeMessage, fieldKeys } from '../definitions/decode.ts'
import { errorText } from '../definitions/definition-error.ts'
import type { EncodedCommand } from '../definitions/encode.ts'
import { encodeCommands } from '../definitions/encode.ts'
import { isIgnoredField } from '../definitions/field.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import type { HeatingBus } from '../heating-bus-client.ts'
import { addressText } from '../observe/observation.ts'
import { busArgument, idempotencyKeyArgument } from './arguments.ts'
import { definitionsOf, unknownMessage } from './defined-bus.ts'
import { answered, ebusFamily } from './envelope.ts'
import { badArgument, withdrawn, writeFault } from './faults.ts'
import type { House } from './house.ts'
import { besideLive, busLock } from './house.ts'
import { valuesJson, writeEffect } from './message-view.ts'

const DEADLINE_MS = 5_000

const word = z.string().trim().min(1).max(64)
const scalar = z.union([z.string().max(200), z.number(), z.boolean()])

const input = z.strictObject({
  circuit: word,
  name: word,
  field: word.exactOptional().describe('The field to change; the others keep the values that they have.'),
  value: z
    .union([scalar, z.record(z.string().max(64), scalar)])
    .describe('The value, by name where the field has named values; or several as {field: value}.'),
  intent: z.enum(['MUTATE']).exactOptional().describe('MUTATE; anything else changes nothing.'),
  allow_dangerous: z.boolean().default(false).describe('True: this changes something.'),
  idempotency_key: idempotencyKeyArgument.exactOptional(),
  bus: busArgument,
})
type WriteWish = z.output<typeof input>

const values = z.record(z.string(), z.unknown()).nullable()

const words = {
  name: 'ebus.v1.messages.write',
  title: 'Write a message by definition',
  description:
    'Writes a setting that the owner’s definition files describe (ebus.v1.messages.find with writable) and reads it back. Needs intent MUTATE, allow_dangerous and an idempotency_key. Settings of the installer and of service, and what cannot be read back, also need a person’s approval.',
  input,
  output: answered(
    z.object({
      circuit: z.string(),
      name: z.string(),
      before: values.describe('What it was before; null when that is not known.'),
      written: values,
      read_back: values,
      confirmed: z.boolean().nullable().describe('Whether the device has it now; null when it cannot be asked.'),
    }),
  ),
  effect: 'writes',
  idempotent: false,
  family: ebusFamily,
} as const

export function messageWriteTool(house: House): Capability {
  return defineChange({
    ...words,
    lock: (body: JsonObject): string => busLock(house, body),
    plan: (wish) => plan(house, wish),
    assess,
    assessMistake: (wish) => ({ reasons: gateReasons(wish) }),
    act: (planned, wish, call) => write(house, planned, { wish, call }),
  })
}

/** What a wish comes to on this bus, now. */
interface PlannedWrite {
  readonly heating: HeatingBus
  readonly definitions: BusDefinitions
  readonly message: MessageDefinition
  /** Asks for the same thing; `undefined` where nothing does. */
  readonly look: MessageDefinition | undefined
}

function plan(house: House, wish: WriteWish): Result<PlannedWrite, Fault> {
  const found = definitionsOf(house, wish.bus)
  if (!found.ok) return found
  const { heating, definitions } = found.value
  const message = definitions.named(wish.circuit, wish.name, 'write')
  if (message === undefined) return fail(unknownMessage(definitions, wish))
  const look = definitions.named(wish.circuit, wish.name, 'read')
  const last = look === undefined ? undefined : knownValues(look, definitions)
  // Values that nobody knows yet are read before the change: only what is wrong whatever they are is refused here.
  const commands = commandsFor(message, wish, last)
  if (!commands.ok && last !== undefined) return commands
  return ok({ heating, definitions, message, look })
}

function gateReasons({ intent, allow_dangerous: dangerous, idempotency_key: key }: WriteWish): readonly Reason[] {
  return [
    ...(intent === 'MUTATE' ? [] : [{ rule: 'intent', message: 'A write needs intent: MUTATE.' }]),
    ...(dangerous ? [] : [{ rule: 'allow-dangerous', message: 'MUTATE needs allow_dangerous: true.' }]),
    ...(key === undefined
      ? [{ rule: 'idempotency-key', message: 'MUTATE needs an idempotency_key: a new one for each change.' }]
      : []),
  ]
}

function assess({ heating, definitions, message, look }: PlannedWrite, wish: WriteWish): Assessment {
  const { idempotency_key: key } = wish
  const last = look === undefined ? undefined : knownValues(look, definitions)
  const commands = commandsFor(message, wish, last)
  const data = commands.ok ? commands.value[0]?.data : undefined
  const what = `${message.circuit}.${message.name}`
  const target = message.zz === undefined ? 'any' : addressText(message.zz)
  return {
    effect: writeEffect(definitions, message, data),
    reasons: gateReasons(wish),
    target: `ebus:${heating.id}:${target}/${what}`,
    label: `${what} at ${target}`,
    ...(key === undefined ? {} : { idempotencyKey: key }),
    keyedChange: {
      bus: heating.id,
      message: what,
      ...(wish.field === undefined ? {} : { field: wish.field }),
      value: wish.value,
    },
    preview: {
      message: what,
      value: wish.value,
      ...(look === undefined || last === undefined ? {} : { before: valuesJson(look, last) }),
      ...(data === undefined ? {} : { telegram_data: hex(data) }),
    },
  }
}

function knownValues(look: MessageDefinition, definitions: BusDefinitions): DecodedMessage | undefined {
  const last = definitions.last(look)
  const decoded = last === undefined ? undefined : decodeMessage(look, last)
  return decoded?.ok === true ? decoded.value : undefined
}

/** One text for every field of the command; those that are not given keep what they have. */
function commandsFor(
  message: MessageDefinition,
  { field, value }: WriteWish,
  current: DecodedMessage | undefined,
): Result<readonly EncodedCommand[], Fault> {
  const keys = fieldKeys(message.fields)
  const settable = message.fields.flatMap((each, index) =>
    each.part === 'm' && !isIgnoredField(each) ? [{ key: keys[index] ?? '', constant: each.constant }] : [],
  )
  const given = typeof value === 'object' ? value : field === undefined ? undefined : { [field]: value }
  const unknown = Object.keys(given ?? {}).find((key) => !settable.some((each) => each.key === key))
  if (unknown !== undefined)
    return fail(badArgument('field', `${unknown} is none; there is ${settable.map(({ key }) => key).join(', ')}`))
  const texts: string[] = []
  for (const { key, constant } of given === undefined ? [] : settable) {
    const own = given?.[key]
    const known = current?.fields.find((each) => each.key === key)?.reading
    const text = own === undefined ? (constant?.text ?? known?.printed) : textOf(own)
    if (text === undefined) return fail(badArgument('value', `${key} is missing, and its present value is not known`))
    if (text.includes(';') && settable.length > 1) return fail(badArgument('value', `${key} holds a ;`))
    texts.push(text)
  }
  const commands = encodeCommands(message, given === undefined ? textOf(value as string) : texts.join(';'))
  return commands.ok ? commands : fail(badArgument('value', errorText(commands.fault)))
}

function textOf(value: string | number | boolean): string {
  if (typeof value === 'boolean') return value ? '1' : '0'
  return String(value)
}

async function write(
  house: House,
  planned: PlannedWrite,
  { wish, call }: { readonly wish: WriteWish; readonly call: Call },
): Promise<Outcome> {
  const { heating, message, look } = planned
  const send = { deadlineMs: DEADLINE_MS, caller: accountKey(call.caller) }
  // Nothing of ours goes out between the look before, the change and the look at it.
  return heating.exclusively(async () => {
    if (call.signal.aborted) return fail(withdrawn())
    const before = await lookAt(planned, { ...send, signal: call.signal })
    const commands = commandsFor(message, wish, before)
    if (!commands.ok) return commands
    for (const { target, data } of commands.value) {
      const request = { target, primary: message.pb, secondary: message.sb, data }
      // Not repeatable: a telegram that may have reached its target is not said a second time.
      const sent = await heating.send(request, { ...send, signal: call.signal, repeatable: false })
      if (!sent.ok) return fail(writeFault(sent.fault, target))
    }
    const [first] = commands.value
    const written = first === undefined || commands.value.length > 1 ? undefined : writtenValues(message, first.data)
    const after = await lookAt(planned, send)
    return ok({
      data: {
        ...besideLive(house, heating, house.clock.now()),
        data: {
          circuit: message.circuit,
          name: message.name,
          before: look === undefined || before === undefined ? null : valuesJson(look, before),
          written: written === undefined ? null : valuesJson(message, written),
          read_back: look === undefined || after === undefined ? null : valuesJson(look, after),
          confirmed: after === undefined || written === undefined ? null : isSame(written, after),
        },
      },
    })
  })
}

async function lookAt(
  { heating, look }: PlannedWrite,
  wish: { readonly deadlineMs: number; readonly caller: string; readonly signal?: AbortSignal },
): Promise<DecodedMessage | undefined> {
  if (look === undefined || look.isPassive) return undefined
  const read = await heating.readDefined(look, '', { ...wish, repeatable: true })
  const decoded = read.ok ? decodeMessage(look, read.value) : undefined
  return decoded?.ok === true ? decoded.value : undefined
}

/** What the bytes that were sent say, by the definition itself. */
function writtenValues(message: MessageDefinition, command: Uint8Array): DecodedMessage | undefined {
  const own = { ...message, fields: message.fields.filter(({ part }) => part === 'm') }
  const decoded = decodeMessage(own, { command, response: new Uint8Array() })
  return decoded.ok ? decoded.value : undefined
}

/** Fields of the same name say the same; with one field on each side the names do not matter. */
function isSame(written: DecodedMessage, after: DecodedMessage): boolean {
  const [only, ...others] = written.fields
  const [seen, ...more] = after.fields
  if (only !== undefined && seen !== undefined && others.length === 0 && more.length === 0)
    return only.reading.printed === seen.reading.printed
  return written.fields.every(
    ({ key, reading }) => after.fields.find((each) => each.key === key)?.reading.printed === reading.printed,
  )
}

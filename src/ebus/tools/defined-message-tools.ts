/**
 * Defined message tools: messages of the owner's definition files by circuit and name, as ebusd knows them. Reads come
 * from what was heard where that is fresh enough; changes pass the guard first and are read back afterwards.
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import type { Call, Outcome } from '../../bus/call.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import type { BusDefinitions } from '../definitions/bus-definitions.ts'
import { formatDefinitionFileFault } from '../definitions/definition-error.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import { busArgument } from './arguments.ts'
import { getBusDefinitions, createUnknownMessageFault } from './definition-lookup.ts'
import { readDefinedMessage } from './defined-message-read.ts'
import { createEbusOutputSchema, ebusFamilyEnvelope } from './ebus-envelope.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { findHeatingBus, createLiveOutcome, createAnswerAgeJson } from './ebus-tool-context.ts'
import { toMessageDefinitionJson } from './message-definition-view.ts'
import { createDefinedMessageWriteTool } from './defined-message-write-tool.ts'

const DEFAULT_LIMIT = 30
const MAX_LIMIT = 200
const MAX_AGE_S = 60
const READ_DEADLINE_MS = 5_000
const FAULTS_SHOWN = 20

const word = z.string().trim().min(1).max(64)
const common = { effect: 'reads', family: ebusFamilyEnvelope } as const

const findTool = defineTool({
  ...common,
  name: 'ebus.v1.messages.find',
  title: 'Find messages by definition',
  description:
    'Messages that the owner’s ebusd definition files describe for the devices on this bus: what can be read and written, with fields, units, limits and the value heard last. Narrow it with circuit, name or words (`query`).',
  input: z.strictObject({
    circuit: word.exactOptional().describe('Part of the circuit, e.g. bai or ctlv2.'),
    name: word.exactOptional().describe('Part of the message’s name.'),
    query: z.string().trim().max(200).exactOptional().describe('Words in circuit, name, comment, fields or units.'),
    writable: z.boolean().exactOptional().describe('Only what can be written, or only what cannot.'),
    limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
    bus: busArgument,
  }),
  output: createEbusOutputSchema(z.object({ count: z.int(), messages: z.array(z.record(z.string(), z.unknown())) })),
})

const readTool = defineTool({
  ...common,
  name: 'ebus.v1.messages.read',
  title: 'Read a message by definition',
  description:
    'The values of one message as its definition reads them, from what was heard if that is fresh enough, else from the device.',
  input: z.strictObject({
    circuit: word,
    name: word,
    field: word.exactOptional().describe('Only this field.'),
    input: z
      .string()
      .max(200)
      .exactOptional()
      .describe('Values of the fields that the question itself takes, joined by `;`.'),
    max_age: z
      .int()
      .min(0)
      .default(MAX_AGE_S)
      .describe('How old an answer may be, in seconds; 0 asks the device in any case.'),
    bus: busArgument,
  }),
  output: createEbusOutputSchema(
    z.object({
      circuit: z.string(),
      name: z.string(),
      values: z.record(z.string(), z.unknown()).describe('By field. Null: the device says that it has no value.'),
      units: z.record(z.string(), z.string()),
    }),
  ),
})

const statusTool = defineTool({
  ...common,
  name: 'ebus.v1.definitions.status',
  title: 'Status of the message definitions',
  description:
    'Where message definitions come from, which file describes which device, and which lines were refused, with file and line.',
  input: z.strictObject({ bus: busArgument }),
  output: createEbusOutputSchema(z.record(z.string(), z.unknown())),
})

export function createDefinedMessageTools(context: EbusToolContext): readonly Capability[] {
  return [
    findTool.handledBy(async (request) => {
      const found = getBusDefinitions(context, request.bus)
      if (!found.ok) return found
      const { heating, definitions } = found.value
      const matching = definitions.messages.filter((message) => matches(definitions, message, request))
      const nowMs = context.clock.now()
      const messages = matching
        .slice(0, request.limit)
        .map((message) => toMessageDefinitionJson(definitions, message, nowMs))
      return createLiveOutcome(context, heating, { count: matching.length, messages }, { atMs: nowMs })
    }),
    readTool.handledBy((request, call) => readMessage(context, request, call)),
    createDefinedMessageWriteTool(context),
    statusTool.handledBy(async ({ bus }) => {
      const heating = findHeatingBus(context, bus)
      return heating.ok ? createLiveOutcome(context, heating.value, statusJson(context, heating.value)) : heating
    }),
  ]
}

interface Filter {
  readonly circuit?: string
  readonly name?: string
  readonly query?: string
  readonly writable?: boolean
}

function matches(definitions: BusDefinitions, message: MessageDefinition, filter: Filter): boolean {
  const { circuit, name, query = '', writable } = filter
  if (writable !== undefined && writable !== (message.isWrite && !message.isPassive)) return false
  if (circuit !== undefined && !message.circuit.toLowerCase().includes(circuit.toLowerCase())) return false
  if (name !== undefined && !message.name.toLowerCase().includes(name.toLowerCase())) return false
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length > 0) {
    const fields = message.fields.flatMap((field) => [field.name, ...Object.values(field.attributes)])
    const text = [message.circuit, message.name, ...Object.values(message.attributes), ...fields]
      .join(' ')
      .toLowerCase()
    if (!words.every((each) => text.includes(each))) return false
  }
  return definitions.isAvailable(message)
}

interface ReadRequest {
  readonly circuit: string
  readonly name: string
  readonly field?: string
  readonly input?: string
  readonly max_age: number
  readonly bus?: string
}

async function readMessage(context: EbusToolContext, request: ReadRequest, call: Call): Promise<Outcome> {
  const found = getBusDefinitions(context, request.bus)
  if (!found.ok) return found
  const { heating, definitions } = found.value
  const message = definitions.named(request.circuit, request.name, 'read')
  if (message === undefined) return fail(createUnknownMessageFault(definitions, request))
  const { field, input } = request
  const read = await readDefinedMessage(heating, message, {
    maxAgeMs: request.max_age * 1_000,
    deadlineMs: READ_DEADLINE_MS,
    nowMs: context.clock.now(),
    call,
    ...(field === undefined ? {} : { field }),
    ...(input === undefined ? {} : { input }),
  })
  if (!read.ok) return read
  const { values, units, atMs, fromCache } = read.value
  const data = { circuit: message.circuit, name: message.name, values, units }
  return createLiveOutcome(context, heating, data, { atMs, cache: createAnswerAgeJson(context, fromCache, atMs) })
}

function statusJson(context: EbusToolContext, { installation: { definitions } }: HeatingBusClient): JsonObject {
  const origin = context.definitions
  if (origin === undefined) return { state: 'none' }
  const { source, state, problem, sha256 } = origin
  const faults = definitions?.faults ?? []
  return {
    state,
    source,
    ...(problem === undefined ? {} : { problem }),
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(definitions === undefined
      ? {}
      : {
          files: definitions.files,
          messages: definitions.messages.length,
          available: definitions.messages.filter((message) => definitions.isAvailable(message)).length,
          polled: definitions.messages.filter(({ pollPriority }) => pollPriority > 0).length,
          devices: definitions.devices().map(({ address, deviceId, file }) => ({
            address,
            device: deviceId,
            file: file ?? null,
          })),
          refused_lines: faults.length,
          faults: faults.slice(0, FAULTS_SHOWN).map(formatDefinitionFileFault),
        }),
  }
}

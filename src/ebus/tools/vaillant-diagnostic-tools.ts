/**
 * Vaillant diagnostic tools: the present and past errors and the service messages of a Vaillant device (B503).
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import { toAccountKey } from '../../bus/caller.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineChange, defineTool } from '../../bus/capability-definition.ts'
import { toHex } from '../../core/bytes.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import { formatBusAddress } from '../observe/observation.ts'
import { VAILLANT_MANUFACTURER_CODE } from '../wire/device-identity.ts'
import { decodeCurrentErrorCodes, decodeErrorHistoryEntry } from '../semantic/error-code-decoder.ts'
import {
  PAST_ERRORS_SELECTOR,
  CURRENT_ERRORS_SELECTOR,
  ERROR_KIND_SELECTORS,
  toErrorsReadKey,
} from '../semantic/read-key.ts'
import { addressArgument, busArgument } from './arguments.ts'
import { createEbusOutputSchema, ebusFamilyEnvelope } from './ebus-envelope.ts'
import { createEbusNotFoundFault, createBusReadFault, createBusWriteFault } from './faults.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { resolveBusLockKey, findHeatingBus, createLiveOutcome } from './ebus-tool-context.ts'

/** The limit for one telegram. */
const TELEGRAM_MS = 4_000
const MAX_AGE_MS = 60_000
/** Devices store ten entries. */
const HISTORY_LENGTH = 10

const input = {
  address: addressArgument
    .exactOptional()
    .describe('The device; the boiler or heat pump if left out. Regulators and modules have a memory of their own.'),
  bus: busArgument,
}

const current = createEbusOutputSchema(
  z.object({
    address: z.int(),
    device_id: z.string().nullable(),
    codes: z
      .array(z.int())
      .nullable()
      .describe('The numbers, F.22 is 22; empty when there is nothing; null when it has no such memory.'),
  }),
)
const history = createEbusOutputSchema(
  z.object({
    address: z.int(),
    device_id: z.string().nullable(),
    entries: z.array(
      z.object({
        index: z.int(),
        code: z.int(),
        at: z.string().nullable().describe('By the clock of the device; null where it had none.'),
        status: z.int(),
      }),
    ),
  }),
)

type Kind = keyof typeof ERROR_KIND_SELECTORS

interface DeviceRequest {
  readonly address?: number
  readonly bus?: string
}

export function createVaillantDiagnosticTools(context: EbusToolContext): readonly Capability[] {
  const reads = { effect: 'reads', family: ebusFamilyEnvelope, input: z.strictObject(input) } as const
  return [
    defineTool({
      ...reads,
      name: 'ebus.v1.vaillant.errors.get',
      title: 'Read what a device complains about',
      description:
        'The error numbers that a Vaillant device shows now. Their texts are in its manual, as F. and the number.',
      output: current,
    }).handledBy((request, call) => readCurrent(context, { request, kind: 'errors' }, call)),
    defineTool({
      ...reads,
      name: 'ebus.v1.vaillant.errors.history.get',
      title: 'Read what a device complained about',
      description: 'The last ten errors of a Vaillant device with their times, newest first. Takes some seconds.',
      output: history,
    }).handledBy((request, call) => readHistory(context, { request, kind: 'errors' }, call)),
    defineTool({
      ...reads,
      name: 'ebus.v1.vaillant.service.current.get',
      title: 'Read whether a device wants service',
      description: 'The numbers of the service messages that a Vaillant device shows now.',
      output: current,
    }).handledBy((request, call) => readCurrent(context, { request, kind: 'service' }, call)),
    defineTool({
      ...reads,
      name: 'ebus.v1.vaillant.service.history.get',
      title: 'Read when a device wanted service',
      description: 'The last ten service messages of a Vaillant device with their times, newest first.',
      output: history,
    }).handledBy((request, call) => readHistory(context, { request, kind: 'service' }, call)),
    defineChange({
      name: 'ebus.v1.vaillant.live_monitor.get',
      title: 'Look through a device’s live monitor',
      description:
        'Asks a Vaillant device for the status number that its live monitor shows. Takes over the monitor of the device for half a minute, so a person is asked first.',
      input: z.strictObject(input),
      output: createEbusOutputSchema(
        z.object({
          address: z.int(),
          device_id: z.string().nullable(),
          status: z.int().nullable(),
          payload: z.string(),
        }),
      ),
      // It is a write to the device, in front of which a technician may be standing.
      effect: 'sensitive',
      idempotent: true,
      family: ebusFamilyEnvelope,
      lock: (body: JsonObject): string => resolveBusLockKey(context, body),
      plan: (request) => deviceOf(context, request),
      assess: ({ heating, address }) => ({
        effect: 'sensitive',
        reasons: [],
        target: `ebus:${heating.id}:${formatBusAddress(address)}/b503/live`,
        label: `live monitor of ${formatBusAddress(address)}`,
      }),
      act: (device, _, call) => readMonitor(context, device, call),
    }),
  ]
}

interface DiagnosedDevice {
  readonly heating: HeatingBusClient
  readonly address: number
  readonly deviceId: string | null
}

function deviceOf(context: EbusToolContext, { address, bus }: DeviceRequest): Result<DiagnosedDevice, Fault> {
  const found = findHeatingBus(context, bus)
  if (!found.ok) return found
  const heating = found.value
  const { registry, topology } = heating.installation
  const wanted = address ?? topology.boiler?.address
  if (wanted === undefined)
    return fail(createEbusNotFoundFault('No boiler or heat pump is known yet; say which address.'))
  const device = registry.find(wanted)
  if (device === undefined) return fail(createEbusNotFoundFault(`There is no device at ${formatBusAddress(wanted)}.`))
  if (device.identity?.manufacturerCode !== VAILLANT_MANUFACTURER_CODE)
    return fail(
      createEbusNotFoundFault(
        `The device at ${formatBusAddress(wanted)} is not known to be of Vaillant, and nobody else has this memory.`,
      ),
    )
  return ok({ heating, address: device.address, deviceId: device.identity.deviceId })
}

interface MemoryRequest {
  readonly request: DeviceRequest
  readonly kind: Kind
}

async function readCurrent(context: EbusToolContext, { request, kind }: MemoryRequest, call: Call): Promise<Outcome> {
  const device = deviceOf(context, request)
  if (!device.ok) return device
  const { heating, address, deviceId } = device.value
  const read = await readMemory(device.value, [CURRENT_ERRORS_SELECTOR, ERROR_KIND_SELECTORS[kind]], call)
  if (!read.ok) return read
  const codes = read.value === undefined ? undefined : decodeCurrentErrorCodes(read.value)
  return createLiveOutcome(context, heating, { address, device_id: deviceId, codes: codes ?? null })
}

/** One request per entry, until one is empty, because entries have no gaps. */
async function readHistory(context: EbusToolContext, { request, kind }: MemoryRequest, call: Call): Promise<Outcome> {
  const device = deviceOf(context, request)
  if (!device.ok) return device
  const { heating, address, deviceId } = device.value
  const entries: JsonObject[] = []
  for (let index = 0; index < HISTORY_LENGTH; index++) {
    const read = await readMemory(device.value, [PAST_ERRORS_SELECTOR, ERROR_KIND_SELECTORS[kind], index], call)
    if (!read.ok) return read
    const entry = read.value === undefined ? undefined : decodeErrorHistoryEntry(read.value)
    if (entry === undefined || entry === 'empty') break
    entries.push({ index, code: entry.code, at: entry.at ?? null, status: entry.status })
  }
  return createLiveOutcome(context, heating, { address, device_id: deviceId, entries })
}

/** `undefined` for a device that refuses, because it has no such memory. */
async function readMemory(
  { heating, address }: DiagnosedDevice,
  selector: readonly number[],
  call: Call,
): Promise<Result<Uint8Array | undefined, Fault>> {
  const key = toErrorsReadKey(address, selector)
  const read = await heating.read(key, { ...telegramOf(call), maxAgeMs: MAX_AGE_MS, source: 'tool' })
  if (!read.ok && read.fault.kind !== 'refused') return fail(createBusReadFault(read.fault, address))
  return ok(read.ok ? read.value.entry.payload : undefined)
}

async function readMonitor(
  context: EbusToolContext,
  { heating, address, deviceId }: DiagnosedDevice,
  call: Call,
): Promise<Outcome> {
  const request = {
    target: address,
    primary: VAILLANT_MANUFACTURER_CODE,
    secondary: 0x03,
    data: Uint8Array.of(0x00, 0x03),
  }
  const sent = await heating.send(request, { ...telegramOf(call), repeatable: false })
  if (!sent.ok) return fail(createBusWriteFault(sent.fault, address))
  const [status] = sent.value
  return createLiveOutcome(context, heating, {
    address,
    device_id: deviceId,
    status: status ?? null,
    payload: toHex(sent.value),
  })
}

function telegramOf(call: Call): {
  readonly deadlineMs: number
  readonly caller: string
  readonly signal: AbortSignal
} {
  return { deadlineMs: TELEGRAM_MS, caller: toAccountKey(call.caller), signal: call.signal }
}

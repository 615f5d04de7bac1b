/**
 * Installer setting tools: the installer's settings of regulator and boiler by name. A person approves each; what was
 * set is read back, and the answer says what it was before.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import { toAccountKey } from '../../bus/caller.ts'
import type { CallAssessment, Capability } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import { formatBusAddress } from '../observe/observation.ts'
import { VAILLANT_MANUFACTURER_CODE } from '../wire/device-identity.ts'
import type { InstallerSetting } from '../semantic/installer-setting.ts'
import {
  BOILER_INSTALLER_SETTINGS,
  SYSTEM_INSTALLER_SETTINGS,
  normaliseInstallerSettingName,
  parseInstallerSettingValue,
} from '../semantic/installer-setting.ts'
import type { DecodedRegisterValue } from '../semantic/register.ts'
import { busArgument, ebusIdempotencyKeyArgument } from './arguments.ts'
import { createEbusOutputSchema, ebusFamilyEnvelope } from './ebus-envelope.ts'
import {
  createEbusArgumentFault,
  createBusReadFault,
  createCancelledBusCallFault,
  createBusWriteFault,
} from './faults.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { resolveBusLockKey, findHeatingBus, createLiveOutcome } from './ebus-tool-context.ts'
import { toAssessmentConfirmation } from './change-confirmation-arguments.ts'

const TELEGRAM_MS = 4_000

const input = z.strictObject({
  field: z
    .string()
    .trim()
    .min(1)
    .max(64)
    .describe('As the plane names it under `config`, in either spelling of names.'),
  value: z.union([z.string().trim().max(32), z.number(), z.boolean()]),
  dryRun: z.boolean().exactOptional().describe('Say what would be changed, and change nothing.'),
  idempotency_key: ebusIdempotencyKeyArgument.exactOptional(),
  bus: busArgument,
})
type ConfigRequest = z.output<typeof input>

const shown = z.union([z.string(), z.number(), z.boolean()]).nullable()
const output = createEbusOutputSchema(
  z.object({
    success: z.boolean().describe('Whether the device has it now.'),
    field: z.string(),
    before: shown.describe('What it was before; null when that is not known.'),
    wanted: shown,
    read_back: shown,
    dry_run: z.literal(true).exactOptional(),
  }),
)

interface ConfigTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly fields: Readonly<Record<string, InstallerSetting>>
  readonly device: (heating: HeatingBusClient) => number | undefined
  readonly absent: string
}

const TOOLS: readonly ConfigTool[] = [
  {
    name: 'ebus.v1.semantic.system.set_config',
    title: 'Change an installer’s setting of the regulator',
    description: `Changes one of ${Object.keys(SYSTEM_INSTALLER_SETTINGS).join(', ')} and reads it back. These are the installer’s: a person approves each change.`,
    fields: SYSTEM_INSTALLER_SETTINGS,
    device: ({ installation }) => installation.topology.regulator?.address,
    absent: 'No regulator has answered on this bus yet.',
  },
  {
    name: 'ebus.v1.semantic.boiler_status.set_config',
    title: 'Change an installer’s setting of the boiler',
    description: `Changes one of ${Object.keys(BOILER_INSTALLER_SETTINGS).join(', ')} and reads it back. These are the installer’s: a person approves each change.`,
    fields: BOILER_INSTALLER_SETTINGS,
    device: ({ installation: { topology } }) =>
      topology.boiler?.registers === 'bai' ? topology.boiler.address : undefined,
    absent: 'No boiler whose settings are known has answered on this bus yet.',
  },
]

/** What a wish comes to on this bus, now. */
interface PlannedConfig {
  readonly heating: HeatingBusClient
  readonly address: number
  readonly name: string
  readonly field: InstallerSetting
  readonly value: DecodedRegisterValue
  readonly bytes: Uint8Array
}

export function createInstallerSettingChangeTools(context: EbusToolContext): readonly Capability[] {
  return TOOLS.map((tool) =>
    defineChange({
      name: tool.name,
      title: tool.title,
      description: tool.description,
      input,
      output,
      effect: 'sensitive',
      idempotent: true,
      family: ebusFamilyEnvelope,
      lock: (body: JsonObject): string => resolveBusLockKey(context, body),
      plan: (request) => planConfig(context, tool, request),
      assess,
      act: (planned, _request, call) => setConfig(context, planned, call),
      rehearse: (planned, _request, call) => setConfig(context, planned, call),
    }),
  )
}

function planConfig(context: EbusToolContext, tool: ConfigTool, request: ConfigRequest): Result<PlannedConfig, Fault> {
  const heating = findHeatingBus(context, request.bus)
  if (!heating.ok) return heating
  const name = normaliseInstallerSettingName(request.field)
  const field = Object.hasOwn(tool.fields, name) ? tool.fields[name] : undefined
  if (field === undefined)
    return fail(createEbusArgumentFault('field', `one of ${Object.keys(tool.fields).join(', ')}`))
  const value = parseInstallerSettingValue(field, request.value)
  if (!value.ok) return fail(createEbusArgumentFault('value', value.fault))
  const bytes = field.encode(value.value)
  if (bytes === undefined) return fail(createEbusArgumentFault('value', 'does not fit the setting'))
  const address = tool.device(heating.value)
  if (address === undefined) return fail({ kind: 'offline', code: 'BUS_UNAVAILABLE', message: tool.absent })
  return ok({ heating: heating.value, address, name, field, value: value.value, bytes })
}

function assess({ heating, address, name, field, value }: PlannedConfig, request: ConfigRequest): CallAssessment {
  const entry = heating.installation.shadow.get(field.key(address))
  const before = entry?.state === 'present' ? field.decode(entry.payload) : undefined
  return {
    effect: 'sensitive',
    reasons: [],
    target: `ebus:${heating.id}:${formatBusAddress(address)}/${field.actuator}`,
    label: `${name.replaceAll('_', ' ')}: ${String(value)}${field.unit === undefined ? '' : ` ${field.unit}`}`,
    keyedChange: { bus: heating.id, field: name, value },
    preview: { field: name, before: before ?? null, after: value },
    ...toAssessmentConfirmation(request),
  }
}

async function setConfig(context: EbusToolContext, planned: PlannedConfig, call: Call): Promise<Outcome> {
  const { heating, address, name, field, value, bytes } = planned
  const telegram = { deadlineMs: TELEGRAM_MS, caller: toAccountKey(call.caller) }
  const look = { ...telegram, maxAgeMs: 0, source: 'write_confirm' } as const
  return heating.exclusively(async () => {
    if (call.signal.aborted) return fail(createCancelledBusCallFault())
    const before = await heating.read(field.key(address), look)
    // What is not known beforehand cannot be put back: nothing is changed then.
    if (!before.ok) return fail(createBusReadFault(before.fault, address))
    const answer = (success: boolean, more: JsonObject): Outcome =>
      createLiveOutcome(context, heating, {
        success,
        field: name,
        before: field.decode(before.value.entry.payload) ?? null,
        wanted: value,
        read_back: null,
        ...more,
      })
    if (call.rehearsal) return answer(false, { dry_run: true })
    const request = {
      target: address,
      primary: VAILLANT_MANUFACTURER_CODE,
      secondary: field.secondary,
      data: field.command(bytes),
    }
    const sent = await heating.send(request, { ...telegram, signal: call.signal, repeatable: false })
    if (!sent.ok) return fail(createBusWriteFault(sent.fault, address))
    const after = await heating.read(field.key(address), look)
    if (!after.ok) return answer(false, {})
    const { payload } = after.value.entry
    return answer(field.holds(bytes, payload), { read_back: field.decode(payload) ?? null })
  })
}

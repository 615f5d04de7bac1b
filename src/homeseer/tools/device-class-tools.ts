/**
 * Device class tools: what every device is taken for and why, and the owner's correction in one step, which holds at
 * once.
 *
 *   hs4.classes.list · hs4.classes.correct
 *
 * They are for the console; models do not see them, and only an admin may use them: a lock that is classed as a lamp
 * needs no approval.
 *
 * Reads and writes through the link and the ledger.
 */
import { z } from 'zod'
import type { Caller } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import type { CallAssessment, Capability } from '../../bus/capability.ts'
import { defineChange, defineTool } from '../../bus/capability-definition.ts'
import { HOMESEER_DEVICE_KINDS } from '../../config/homeseer.ts'
import type { Fault, PolicyReason } from '../../core/fault.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { explainAdministrationRefusal } from '../../guard/administration-and-record-rights.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { refArgument } from './device-arguments.ts'
import { createHomeseerOutcome, homeseerFamilyEnvelope } from './homeseer-envelope.ts'
import { createHomeseerReadFault } from './faults.ts'
import { toHomeseerDeviceTarget } from './homeseer-change.ts'
import { formatDeviceLabel, createNoDeviceFault } from './catalog-reader.ts'

const common = { family: homeseerFamilyEnvelope, face: { kind: 'service' }, trustRequired: 'self' } as const

const classView = z.object({
  ref: z.int(),
  name: z.string(),
  kind: z.enum(HOMESEER_DEVICE_KINDS),
  asks: z.boolean().describe('Whether a change of it waits for a person.'),
  because: z.array(z.string()).describe('What it was recognised by.'),
  corrected: z.boolean().describe('The owner said so.'),
})

export function createDeviceClassTools(homeseer: HomeseerToolContext): readonly Capability[] {
  return [listTool(homeseer), correctTool(homeseer)]
}

function listTool(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...common,
    effect: 'reads',
    assess: (_input, { caller }): CallAssessment => ({ effect: 'reads', reasons: ownerReasons(caller) }),
    name: 'hs4.classes.list',
    title: 'What devices are taken for',
    description: 'Lists every device of HomeSeer with its kind, whether a change of it asks a person, and why.',
    input: z.strictObject({}),
    output: z.object({ kinds: z.array(z.string()), devices: z.array(classView) }),
  }).handledBy(async () => {
    const deviceCatalog = await homeseer.catalog.devices()
    if (!deviceCatalog.ok) return fail(createHomeseerReadFault(deviceCatalog.fault, 'reading the devices'))
    const devices = deviceCatalog.value.devices.map((device) => classJson(homeseer, device))
    return createHomeseerOutcome({ kinds: [...HOMESEER_DEVICE_KINDS], devices })
  })
}

function correctTool(homeseer: HomeseerToolContext): Capability {
  return defineChange({
    ...common,
    effect: 'admin',
    idempotent: false,
    name: 'hs4.classes.correct',
    title: 'Say what a device is',
    description: 'Says what a device is, from now on. Without a kind, it is again what it is recognised as.',
    input: z.strictObject({ ref: refArgument, kind: z.enum(HOMESEER_DEVICE_KINDS).exactOptional() }),
    output: classView,
    plan: ({ ref }) => findListed(homeseer, ref),
    assess: (device, _input, { caller }) => ({
      effect: 'admin',
      target: toHomeseerDeviceTarget(device.ref),
      label: formatDeviceLabel(device),
      reasons: ownerReasons(caller),
    }),
    assessMistake: (_input, { caller }) => ({ reasons: ownerReasons(caller) }),
    act: async ({ ref }, { kind }, { caller }) => {
      await homeseer.classes.correct(ref, kind, toCallerKey(caller))
      const renewed = await findListed(homeseer, ref)
      return renewed.ok ? createHomeseerOutcome(classJson(homeseer, renewed.value)) : renewed
    },
  })
}

/** Finds any device, also one that is hidden from agents, because the owner sees all of them. */
async function findListed({ catalog }: HomeseerToolContext, ref: number): Promise<Result<HomeseerDevice, Fault>> {
  const deviceCatalog = await catalog.devices()
  if (!deviceCatalog.ok) return fail(createHomeseerReadFault(deviceCatalog.fault, 'reading the devices'))
  const device = deviceCatalog.value.byRef.get(ref)
  return device === undefined ? fail(createNoDeviceFault(ref)) : ok(device)
}

function classJson({ classes }: HomeseerToolContext, device: HomeseerDevice): z.output<typeof classView> {
  const { ref, kind, sensitivity, evidence } = device
  const corrected = classes.kinds.has(ref)
  return { ref, name: formatDeviceLabel(device), kind, asks: sensitivity.length > 0, because: [...evidence], corrected }
}

function ownerReasons(caller: Caller): readonly PolicyReason[] {
  const flaw = explainAdministrationRefusal(caller)
  return flaw === undefined ? [] : [{ rule: 'admin-only', message: 'Only the owner decides what kind a device is.' }]
}

/**
 * Admin tools: every administration operation as a guarded tool.
 *
 * Reads and writes through the link.
 */
import type { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Capability, Effect } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { hideSecretsInJson } from '../../guard/redaction.ts'
import { createHomeseerOutcome } from '../tools/homeseer-envelope.ts'
import type { HomeseerToolContext } from '../tools/homeseer-tool-context.ts'
import { findSelectedEvent, type EventSelector } from '../tools/event-read-tools.ts'
import {
  assessEventRunConsequences,
  assessDeviceWriteConsequences,
  listPossiblyReachedTargets,
  listReachedTargets,
  toTouchedTargets,
} from '../tools/consequence-assessment-client.ts'
import { createHs4Fault, extendHs4Fault } from '../tools/faults.ts'
import { defineHomeseerChange, toHomeseerDeviceTarget, createTolerantInputSchema } from '../tools/homeseer-change.ts'
import { findHomeseerDevice } from '../tools/catalog-reader.ts'
import type { TouchedTargets } from '../tools/change-policy.ts'
import type { HomeseerDeviceCatalog } from '../catalog/device-catalog-and-event-consequences.ts'
import {
  createAdminEnvelope,
  ADMIN_ENVELOPE_SCHEMA,
  createPlannedAdminEnvelope,
  createAdminRefusalDetails,
  formatAuditRef,
  type AdminEnvelopeFields,
  type AdminRollbackAvailability,
} from './admin-envelope.ts'
import type { UnsupportedAdminOperationCache } from './unsupported-operation-cache.ts'
import { listEventActionDeviceRefs, isDescriptiveProperty } from './camera-event-config-operations.ts'
import { isSecurityCriticalOperation } from './security-critical-operation.ts'
import { createAdminCallRedactor } from './admin-redaction.ts'
import { ADMIN_ADAPTER_SCRIPT_FILE_NAME } from '../wire/admin-adapter.ts'
import { executeAdminOperation, type ExecutedAdminOperation } from './admin-execute-client.ts'
import { readAdminOperationTarget, isAdminChangePlausible } from './admin-target-read-client.ts'
import {
  createAdminGuardArgumentSchemas,
  omitGuardArguments,
  type AdminGuardArguments,
  type AdminOperation,
} from './admin-operation.ts'
import { ADMIN_OPERATIONS } from './admin-operations.ts'
import type { AdminRollbackStore } from './rollback-store.ts'

export interface AdminToolDependencies {
  readonly homeseer: HomeseerToolContext
  readonly cache: UnsupportedAdminOperationCache
  readonly rollbacks: AdminRollbackStore
}

type AdminInput = JsonObject & AdminGuardArguments

interface Plan {
  /** The arguments with names resolved to ids, and without those of the guard. */
  readonly args: JsonObject
  readonly effect: Effect
  /** Devices and events that the changed event or device will reach later, as the owner's rules name them. */
  readonly reaches?: readonly string[]
  readonly touched?: TouchedTargets
}

export function createAdminTools(parts: AdminToolDependencies): readonly Capability[] {
  return ADMIN_OPERATIONS.map((operation) => operationTool(parts, operation))
}

function operationTool(parts: AdminToolDependencies, operation: AdminOperation): Capability {
  const { homeseer } = parts
  const { op, domain, title, description, shape, target, touched, secrets } = operation
  const requireTicket = homeseer.config.admin.requireChangeTicket
  return defineHomeseerChange<z.ZodType<AdminInput, unknown>, Plan>(homeseer.rules, {
    name: `hs4.admin.${op}`,
    title,
    description,
    input: createTolerantInputSchema({ ...shape, ...createAdminGuardArgumentSchemas(domain) }),
    output: ADMIN_ENVELOPE_SCHEMA,
    effect: 'admin',
    // One lock per domain: two changes of users must not overlap, but a backup may run beside them.
    lock: `homeseer:admin:${domain}`,
    // HomeSeer keeps the request open while it downloads and starts a plug-in, or packs a backup.
    timeoutSeconds: 120,
    ...omitUndefined({ secrets }),
    alwaysTouched: { domain },
    plan: (input) => planOperation(homeseer, operation, omitGuardArguments(input)),
    refusal: (claims, call) =>
      createAdminRefusalDetails({ domain, claims, requireTicket, auditRef: formatAuditRef(call) }),
    assess: ({ args, effect, reaches = [], touched: more = {} }) => ({
      effect,
      target: `homeseer:${target(args)}`,
      label: `${title}: ${target(args)}`,
      touched: { ...more, ...touched(args), ...adapterScript(homeseer), domain },
      // Nothing moves now; the call only configures, renames or removes things.
      mayReach: [...(touched(args).refs ?? []).map(toHomeseerDeviceTarget), ...reaches],
      // A person who approves sees what will be done, never the password it is done with.
      preview: { operation: op, arguments: createAdminCallRedactor(operation, args).payload },
    }),
    act: ({ args }, claims, call) => actOperation(parts, { operation, args, claims, call }),
    rehearse: ({ args }, claims, call) => {
      const redaction = createAdminCallRedactor(operation, args)
      const common = { domain, claims, redaction, requireTicket, auditRef: formatAuditRef(call) }
      return createPlannedAdminEnvelope({ ...common, data: { operation: op } }, homeseer.config.admin.executionMode)
    },
  })
}

/** In mode `adapter` every operation runs a script, so the owner's list of scripts applies as well. */
function adapterScript({ config }: HomeseerToolContext): { readonly scriptId?: string } {
  return config.admin.executionMode === 'adapter' ? { scriptId: ADMIN_ADAPTER_SCRIPT_FILE_NAME } : {}
}

/** Resolves the target with HomeSeer's own requests. No code runs on HomeSeer for a plan. */
async function planOperation(
  homeseer: HomeseerToolContext,
  { op }: AdminOperation,
  args: JsonObject,
): Promise<Result<Plan, Fault>> {
  if (op === 'config.device_metadata.set') {
    const device = await findHomeseerDevice(homeseer, Number(args['ref']))
    if (!device.ok) return device
    // A device is recognised as a door by its name and place, so changing them changes how it is guarded.
    const isOrdinary = device.value.sensitivity.length === 0 && isDescriptiveProperty(args['property'])
    return ok({ args, effect: isOrdinary ? 'admin' : 'sensitive' })
  }
  if (op === 'events.update' || op === 'events.delete') {
    const { eventId, ...name } = args
    const wanted = { ...name, ...omitUndefined({ id: eventId }) } as EventSelector
    const found = await findSelectedEvent(homeseer, wanted)
    if (!found.ok) return found
    const { event } = found.value
    const { id, group, name: called } = event
    const { definition } = args
    const resolved = {
      ...(id === undefined ? { group, name: called } : { eventId: id }),
      ...omitUndefined({ definition }),
    }
    // Disabling or deleting an event is as sensitive as what the event controls.
    const assessed = await assessEventRunConsequences(homeseer, event)
    if (!assessed.ok) return assessed
    const reaches = [...listReachedTargets(assessed.value), ...listPossiblyReachedTargets(assessed.value)]
    if (assessed.value.reasons.length > 0) return ok({ args: resolved, effect: 'sensitive', reaches })
    return planDefinition(homeseer, resolved, definition)
  }
  if (op === 'events.create') return planDefinition(homeseer, args, args['definition'])
  return ok({ args, effect: isSecurityCriticalOperation(op) ? 'sensitive' : 'admin' })
}

/** An event that opens a lock, or sets off one that does, is sensitive; so is one that cannot be read completely. */
async function planDefinition(
  homeseer: HomeseerToolContext,
  args: JsonObject,
  definition: Json | undefined,
): Promise<Result<Plan, Fault>> {
  if (definition === undefined) return ok({ args, effect: 'admin' })
  const assessed = await assessDeviceWriteConsequences(homeseer, listEventActionDeviceRefs(definition))
  if (!assessed.ok) return assessed
  const isOrdinary = isHarmless(definition, assessed.value.deviceCatalog) && assessed.value.reasons.length === 0
  const { refs: _, ...touched } = toTouchedTargets(assessed.value)
  const reaches = [...listReachedTargets(assessed.value), ...listPossiblyReachedTargets(assessed.value)]
  return ok({ args, effect: isOrdinary ? 'admin' : 'sensitive', reaches, touched })
}

/** Only what is understood to the last member: an unknown key may be a script. */
function isHarmless(definition: Json, catalog: HomeseerDeviceCatalog): boolean {
  if (!isJsonObject(definition)) return false
  const { enabled: _, actions = [], ...unknown } = definition
  if (Object.keys(unknown).length > 0 || !Array.isArray(actions)) return false
  return (actions as readonly Json[]).every((action) => {
    const ref = isJsonObject(action) ? action['ref'] : undefined
    return typeof ref === 'number' && catalog.byRef.get(ref)?.sensitivity.length === 0
  })
}

interface Acting {
  readonly operation: AdminOperation
  readonly args: JsonObject
  readonly claims: AdminGuardArguments
  readonly call: Call
}

async function actOperation(parts: AdminToolDependencies, acting: Acting): Promise<Outcome> {
  const { homeseer, cache } = parts
  const { operation, args, claims, call } = acting
  const { op, domain } = operation
  // The adapter's own before and after are preferred, because it sees more than HomeSeer's requests show.
  const seen = await readAdminOperationTarget(homeseer, op, args)
  const done = await executeAdminOperation(homeseer, { op, args, signal: call.signal, cache })
  const requireTicket = homeseer.config.admin.requireChangeTicket
  const redaction = createAdminCallRedactor(operation, args)
  const envelope = { domain, claims, requireTicket, auditRef: formatAuditRef(call), redaction }
  if (!done.ok) return fail(withEnvelope(done.fault.fault, { ...envelope, result: 'failed', steps: done.fault.steps }))
  // The catalog's content is from before the change.
  homeseer.catalog.forget()
  const after = await readAdminOperationTarget(homeseer, op, args)
  const result = { ...done.value, before: done.value.before ?? seen, after: done.value.after ?? after }
  // The adapter reads back by itself; HomeSeer's own `ok` only means that it accepted the request.
  if (result.route === 'direct' && !isAdminChangePlausible(op, args, after))
    return fail(withEnvelope(unseen(op), { ...envelope, result: 'failed', steps: result.steps, before: seen, after }))
  const rollback = await storeRollback(parts, acting, result)
  return createHomeseerOutcome(
    createAdminEnvelope({
      ...envelope,
      result: 'applied',
      steps: [
        ...result.steps,
        { name: 'verify', status: after === undefined && result.route === 'direct' ? 'not_observable' : 'ok' },
      ],
      rollback,
      before: result.before,
      after: result.after,
      data: {
        route: result.route,
        transport: result.transport,
        operation: op,
        payload: redaction.payload,
        raw: redaction.raw(result.raw),
      },
    }),
  )
}

/**
 * Stores a rollback only if it can really be carried out: the inverse is known, it contains no secret, and the owner
 * wants rollbacks.
 */
async function storeRollback(
  { homeseer, rollbacks }: AdminToolDependencies,
  { operation, args }: Acting,
  { before, after }: ExecutedAdminOperation,
): Promise<AdminRollbackAvailability | undefined> {
  if (!homeseer.config.admin.rollback) return undefined
  const undo = operation.undo?.({ args, before, after })
  // Rollbacks are stored in the database, which must not contain secrets.
  if (operation.setsSecret?.(args) === true || holdsSecret(undo?.args ?? args)) return { refusedBecause: NOT_STORED }
  if (undo === undefined) return undefined
  const inverse = homeseer.bus.offer(`hs4.admin.${undo.op}`)
  // The former value may be one that the tool refuses, such as an empty name; then no rollback is offered.
  if (inverse?.accept?.(undo.args).ok !== true) return undefined
  const { domain, op } = operation
  const rollback = { domain, tool: inverse.name, args: undo.args, undoes: `hs4.admin.${op}` }
  return { id: await rollbacks.store(rollback, homeseer.clock.now()) }
}

const NOT_STORED = 'This cannot be taken back: a secret is part of it, and secrets are not kept.'

/** Whether redaction changes the arguments, which means that they contain a secret. */
function holdsSecret(args: JsonObject): boolean {
  return canonicalJson(hideSecretsInJson(args)) !== canonicalJson(args)
}

function withEnvelope(fault: Fault, parts: AdminEnvelopeFields): Fault {
  return extendHs4Fault(fault, { details: { envelope: createAdminEnvelope(parts) } })
}

/** Not UNKNOWN, because HomeSeer was asked afterwards and answered. */
function unseen(op: string): Fault {
  return createHs4Fault('HS4_ERROR', `HomeSeer accepted ${op} but shows no change.`)
}

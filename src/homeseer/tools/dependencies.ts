/**
 * Dependencies: what the HomeSeer tools are given. They know nothing of who made it.
 *
 * Pure.
 */
import type { CallOptions } from '../../bus/call-options.ts'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Offer } from '../../bus/capability.ts'
import type { HomeseerConfig } from '../../config/homeseer.ts'
import type { Clock } from '../../core/clock.ts'
import type { Fault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { GuardServices } from '../../guard/guard.ts'
import type { CatalogClient } from '../catalog/catalog-client.ts'
import type { Exposes } from '../catalog/exposure.ts'
import type { EventDefinition } from '../catalog/event-definition.ts'
import type { EventDefinitionSource } from '../catalog/event-file-store.ts'
import type { AliasStore } from '../resolve/alias-store.ts'
import type { Alias } from '../resolve/alias.ts'
import type { ResolverClient } from '../resolve/resolver-client.ts'
import type { Link } from '../wire/link-client.ts'
import type { Arrivals } from './arrivals.ts'
import type { AuditTrail } from './audit.ts'
import type { Rules } from './rules.ts'

/** The bus, as far as tools call tools. */
export interface CallingBus {
  readonly call: (name: string, version: undefined, body: JsonObject, options: CallOptions) => Promise<Outcome>
  readonly offer: (name: string) => Offer | undefined
  readonly offers: () => readonly Offer[]
}

/** One HomeSeer and everything that is known of it. */
export interface Homeseer {
  readonly config: HomeseerConfig
  readonly rules: Rules
  readonly link: Link
  readonly catalog: CatalogClient
  readonly resolver: ResolverClient
  readonly configuredAliases: readonly Alias[]
  /** `undefined` where learning is switched off. */
  readonly learned: AliasStore | undefined
  readonly eventFiles: EventDefinitionSource
  readonly arrivals: Arrivals
  /** Which devices exist for callers; `undefined`: all. */
  readonly exposes: Exposes | undefined
  readonly bus: CallingBus
  readonly guard: Pick<GuardServices, 'judge' | 'changes' | 'mode'>
  readonly audit: AuditTrail
  readonly clock: Clock
}

export function answer(data: Json): Outcome {
  return ok({ data })
}

export function answerOf(result: Result<Json, Fault>): Outcome {
  return result.ok ? answer(result.value) : fail(result.fault)
}

/** `null` is the contract's word for a time that nobody knows. */
export function isoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

/** Where the record of this very call can be found: every event of it bears the trace. */
export function auditRef(call: Pick<Call, 'traceId'>): string {
  return `trace:${call.traceId}`
}

/** A call made in the middle of another, for the same caller and within its time. */
export function nested({ clock }: Homeseer, call: Call): CallOptions {
  const { caller, channel, traceId, signal, heldLocks, interaction } = call
  const timeoutMs = Math.max(0, call.deadlineMs - clock.monotonic())
  // The deadline shrinks; nested calls stay in this house (`hopBudget` 0) and may share the locks that are held.
  return { caller, channel, traceId, signal, heldLocks, interaction, timeoutMs, hopBudget: 0 }
}

/** The definition of an event where HomeSeer's files can be read; why not is no reason to fail here. */
export async function definitionOf({ eventFiles }: Homeseer, id: number): Promise<EventDefinition | undefined> {
  const files = await eventFiles.read()
  return files.ok ? files.value.definitions.find((one) => one.id === id) : undefined
}

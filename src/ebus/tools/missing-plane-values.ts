/**
 * Missing plane values: what was never read is read now, within the deadline of the call that asks for it.
 *
 * Pure, given its house.
 */
import type { Call } from '../../bus/call.ts'
import type { HeatingPlaneName, SemanticPlaneName } from '../semantic/planes.ts'
import { HEATING_PLANE_NAMES } from '../semantic/planes.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { findHeatingBus } from './ebus-tool-context.ts'

/** The time that is left for the answer itself. */
const ANSWER_MS = 2_000
/** The limit for a call with a long deadline, if no device answers. */
const MAX_WAIT_MS = 20_000

export async function readMissingPlaneValues(
  context: EbusToolContext,
  { planes, bus }: { readonly planes: readonly SemanticPlaneName[]; readonly bus: string | undefined },
  call: Call,
): Promise<void> {
  const heating = findHeatingBus(context, bus)
  const read = planes.filter(isHeatingPlane)
  const leftMs = Math.min(MAX_WAIT_MS, Math.floor(call.deadlineMs - context.clock.monotonic() - ANSWER_MS))
  if (!heating.ok || read.length === 0 || leftMs <= 0) return
  await heating.value.makeReady(read, AbortSignal.any([call.signal, AbortSignal.timeout(leftMs)]))
}

function isHeatingPlane(plane: SemanticPlaneName): plane is HeatingPlaneName {
  return (HEATING_PLANE_NAMES as readonly string[]).includes(plane)
}

/**
 * Event weight: what an event does, as far as it can be read, and why that may need a person's consent.
 *
 * Reads through the link.
 */
import type { Fault } from '../../core/fault.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { EventDefinition } from '../catalog/event-definition.ts'
import { eventSensitivity, type EventSensitivityReason } from '../catalog/event.ts'
import type { House } from '../catalog/house.ts'
import type { ReceivedEvent } from '../wire/event.ts'
import type { Homeseer } from './dependencies.ts'
import { readFault } from './faults.ts'

export interface EventWeight {
  /** `undefined` where HomeSeer's files do not say. */
  readonly definition: EventDefinition | undefined
  readonly sensitivity: readonly EventSensitivityReason[]
}

/** Devices of one event that are asked about before it is weighed. */
const MAX_ASKED = 20

/** With the house, because an event is as sensitive as what it touches. */
export async function weighEvent(homeseer: Homeseer, event: ReceivedEvent): Promise<Result<EventWeight, Fault>> {
  const { definition, isMissed } = await definitionFor(homeseer, event)
  const seen = await houseFor(homeseer, definition?.actionRefs ?? [])
  if (!seen.ok) return seen
  const sensitivity = eventSensitivity(event, definition, seen.value.house)
  // What nobody was asked about may be a lock by now.
  const isUnsure = (isMissed || seen.value.unasked > 0) && !sensitivity.includes('unknown-action')
  return ok({ definition, sensitivity: isUnsure ? [...sensitivity, 'unknown-action'] : sensitivity })
}

/**
 * `isMissed`: the files should say what the event does and do not: it is too new, or they are being written. What they
 * could not say on any day is another matter (ADR 29, ADR 101).
 */
async function definitionFor(
  { eventFiles }: Homeseer,
  { id }: ReceivedEvent,
): Promise<{ readonly definition: EventDefinition | undefined; readonly isMissed: boolean }> {
  const files = await eventFiles.read()
  if (!files.ok) {
    const isUsual = files.fault.kind === 'unreadable' && !eventFiles.wereRead
    return { definition: undefined, isMissed: !isUsual }
  }
  const definition = files.value.definitions.find((one) => one.id === id)
  return { definition, isMissed: definition === undefined }
}

interface SeenHouse {
  readonly house: House
  /** Devices that may have got controls since, and were too many to ask. */
  readonly unasked: number
}

/** What an event sets and has no controls that we know of has got them since: a lock is known by its controls. */
async function houseFor({ catalog }: Homeseer, refs: readonly number[]): Promise<Result<SeenHouse, Fault>> {
  const known = await catalog.houseFor(refs)
  if (!known.ok) return fail(readFault(known.fault, 'reading the devices'))
  const bare = refs.filter((ref) => known.value.byRef.get(ref)?.controls.length === 0)
  if (bare.length === 0) return ok({ house: known.value, unasked: 0 })
  const asked = await Promise.all(bare.slice(0, MAX_ASKED).map((ref) => catalog.freshControls(ref)))
  const failed = asked.find((answer) => !answer.ok)
  if (failed !== undefined && !failed.ok) return fail(readFault(failed.fault, 'reading the controls'))
  const renewed = await catalog.house()
  if (!renewed.ok) return fail(readFault(renewed.fault, 'reading the devices'))
  return ok({ house: renewed.value, unasked: bare.length - asked.length })
}

/**
 * Event definition tool: shows an event's triggers and actions as HomeSeer stores them on disk.
 *
 * Reads through the link and the event files.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import type { EventDefinition } from '../catalog/event-definition.ts'
import type { EventFileFault, LoadedEventDefinitions } from '../catalog/event-file-store.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { formatDeviceLabel } from './catalog-reader.ts'
import { createHomeseerOutcome, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import { toActionBlockJson, toTriggerJson } from './event-definition-view.ts'
import { EVENT_SELECTOR_SCHEMAS, selectEvent, type SelectedEvent } from './event-read-tools.ts'
import { createHs4Fault, createHomeseerReadFault } from './faults.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

export function createEventDefinitionTool(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.events.definition.get',
    title: 'Get the definition of an event',
    description:
      'What an event reacts to and does, from HomeSeer’s own files: triggers, conditions, actions, and the devices they name. Needs HomeSeer’s data directory to be readable from here.',
    input: createTolerantInputSchema({
      ...EVENT_SELECTOR_SCHEMAS,
      resolveDeviceRefs: z.boolean().default(true).describe('With the names of the devices.'),
      includeRaw: z.boolean().default(false),
    }),
    output: z.looseObject({
      source: z.looseObject({}),
      event: z.looseObject({}),
      summary: z.looseObject({}),
      triggers: z.array(z.looseObject({})),
      conditionalActions: z.array(z.looseObject({})),
      refs: z.looseObject({}),
    }),
  }).handledBy(async ({ resolveDeviceRefs, includeRaw, ...wanted }) => {
    const files = await homeseer.eventFiles.read()
    if (!files.ok) return fail(fileFault(files.fault))
    const found = selectEvent(files.value.definitions, wanted)
    if (!found.ok) return found
    return createHomeseerOutcome(
      await definitionJson(homeseer, files.value, { ...found.value, resolveDeviceRefs, includeRaw }),
    )
  })
}

async function definitionJson(
  homeseer: HomeseerToolContext,
  files: LoadedEventDefinitions,
  found: SelectedEvent<EventDefinition> & { readonly resolveDeviceRefs: boolean; readonly includeRaw: boolean },
): Promise<JsonObject> {
  const { event: stored, matchedBy, resolveDeviceRefs, includeRaw } = found
  const allDeviceRefs = [...new Set([...stored.triggerRefs, ...stored.actionRefs])].sort((a, b) => a - b)
  const deviceCatalog = resolveDeviceRefs ? await homeseer.catalog.devices() : undefined
  const triggers = stored.triggerGroups.flat()
  const actions = stored.blocks.flatMap((block) => block.actions)
  const { eventsPath, eventGroupsPath } = homeseer.config
  return {
    matchedBy,
    source: {
      eventsPath,
      eventGroupsPath,
      eventsFileMtime: formatIsoTimeOrNull(files.eventsModifiedMs),
      eventGroupsFileMtime: formatIsoTimeOrNull(files.groupsModifiedMs),
      eventCount: files.definitions.length,
      eventGroupCount: new Set(files.definitions.map(({ groupRef }) => groupRef)).size,
    },
    event: {
      id: stored.id,
      name: stored.name,
      group: stored.group,
      groupRef: stored.groupRef ?? null,
      type: stored.type,
      lastTriggerTime: stored.lastTriggered ?? null,
      voiceTag: stored.voiceTag ?? null,
      enabled: stored.enabled,
      security: stored.security,
    },
    summary: {
      triggerGroupCount: stored.triggerGroups.length,
      triggerCount: triggers.length,
      actionBlockCount: stored.blocks.length,
      actionCount: actions.length,
      conditionCount: stored.blocks.reduce((count, { conditions }) => count + conditions.length, 0),
    },
    // Groups are alternatives: any one of them sets the event off.
    triggers: stored.triggerGroups.map((group, index) => ({ group: index, triggers: group.map(toTriggerJson) })),
    understood: stored.unknown.length === 0,
    ...(stored.unknown.length === 0 ? {} : { notUnderstood: [...stored.unknown] }),
    conditionalActions: stored.blocks.map(toActionBlockJson),
    refs: { triggerDeviceRefs: [...stored.triggerRefs], actionDeviceRefs: [...stored.actionRefs], allDeviceRefs },
    resolveDeviceRefs,
    // Devices that no longer exist stay in `refs` and have no name here.
    resolvedDevices: allDeviceRefs.flatMap((ref) => {
      const device = deviceCatalog?.ok === true ? deviceCatalog.value.byRef.get(ref) : undefined
      if (device === undefined || homeseer.exposes?.(device) === false) return []
      const { name, location, location2, kind } = device
      const live = homeseer.link.mirror.entries.get(ref)?.live
      return [
        {
          ref,
          name,
          label: formatDeviceLabel(device),
          location,
          location2,
          kind,
          status: live?.status ?? null,
          value: live?.value ?? null,
        },
      ]
    }),
    ...(deviceCatalog?.ok === false
      ? { warnings: [createHomeseerReadFault(deviceCatalog.fault, 'reading the devices').message] }
      : {}),
    ...(includeRaw ? { raw: stored.raw } : {}),
  }
}

/** On most installations the files cannot be read, which is normal; invalid content is HomeSeer's fault. */
function fileFault(fault: EventFileFault): Fault {
  if (fault.kind === 'unreadable')
    return createHs4Fault('UNSUPPORTED_ON_TARGET', `HomeSeer's event files cannot be read here (${fault.code}).`, {
      details: { path: fault.path },
      fixHint: 'Set homeseer.eventsPath and homeseer.eventGroupsPath to where HomeSeer keeps them.',
      next: [{ name: 'hs4.events.list' }],
    })
  const why = fault.kind === 'not-events' ? fault.detail : `${fault.path}: ${fault.kind}`
  return createHs4Fault('HS4_ERROR', `HomeSeer's event files cannot be understood: ${why}.`)
}

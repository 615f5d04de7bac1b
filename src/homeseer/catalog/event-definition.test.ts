import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../core/json.ts'
import { decodeEventDefinitions, type EventDefinition } from './event-definition.ts'
import { EventFileReader } from './event-file-store.ts'

const EVENTS = [
  {
    evRef: 31,
    mvarGroupRef: 880_011_223,
    Name: 'Dim Ground Floor',
    sType: '',
    Last_Trigger_Time: '2026-01-03T18:00:00',
    Triggers: {
      TrigGroups: {
        K0: {
          $values: [
            {
              $type: 'Scheduler.Classes.EvTrig_DEVICE_VALUE, Scheduler',
              ev_trig_dvRef: 420,
              TriggerSubType: 7,
              mvarOperationSelected: true,
              mvarValue_or_Start: 1,
              ValEnd_Spec: -99_999.987_65,
            },
          ],
        },
      },
    },
    ConditionalActions: [
      {
        mvarConditions: [],
        mvarActions: {
          K0: {
            $type: 'Scheduler.Classes.EvACT_DEVICE, Scheduler',
            delay: '00:00:00',
            devices: { K412: { dvRef: 412, ControlLabel: 'Dim 20%', ControlValue: 20 } },
          },
          K10: { $type: 'Scheduler.Classes.EvACT_SCRIPT, Scheduler', mvarScript: 'evening.vb', mvarMethod: 'Main' },
          K2: { $type: 'x', devices: { K413: {} } },
        },
      },
    ],
  },
]
const GROUPS = [{ Group: 'Evening', Ref: 880_011_223 }]

function only(events: Json, groups: Json): EventDefinition {
  const definitions = decodeEventDefinitions(events, groups)
  const first = definitions.ok ? definitions.value.definitions[0] : undefined
  if (first === undefined) throw new Error('no definition')
  return first
}

describe('event definition', () => {
  it('reads triggers, actions and the devices they refer to', () => {
    expect(only(EVENTS, GROUPS)).toMatchObject({
      id: 31,
      name: 'Dim Ground Floor',
      group: 'Evening',
      triggerGroups: [[{ index: 0, deviceRef: 420, triggerSubType: 7, valueStart: 1, valueEnd: undefined }]],
      triggerRefs: [420],
      actionRefs: [412, 413],
      runsScript: true,
      enabled: true,
    })
  })

  it('sorts actions by their number', () => {
    expect(only(EVENTS, GROUPS).blocks[0]?.actions.map((action) => action.actionKey)).toEqual(['K0', 'K2', 'K10'])
  })

  it('accepts an object around the list, and events of an unknown group', () => {
    expect(only({ Events: EVENTS }, [])).toMatchObject({ id: 31, group: '', groupRef: 880_011_223 })
  })

  it('refuses data without events, and counts records without an id', () => {
    expect(decodeEventDefinitions('x', [])).toMatchObject({ ok: false, fault: { kind: 'not-events' } })
    expect(decodeEventDefinitions([{ Name: 'x' }, null], [])).toEqual({
      ok: true,
      value: { definitions: [], unread: 2 },
    })
  })

  it.each<[what: string, events: Json, groups: Json]>([
    ['two events of one number', [...EVENTS, ...EVENTS], GROUPS],
    ['a second list beside the first', { Events: EVENTS, items: [...EVENTS] }, GROUPS],
    ['a group without a number', EVENTS, [...GROUPS, { Group: 'Night', Global_Actions: [{ K0: {} }] }]],
  ])('counts as unread: %s', (_, events, groups) => {
    expect(decodeEventDefinitions(events, groups)).toMatchObject({ ok: true, value: { unread: 1 } })
  })
})

describe('event file reader', () => {
  async function inDirectory(work: (paths: { events: string; groups: string }) => Promise<void>): Promise<void> {
    const directory = await mkdtemp(join(tmpdir(), 'hearthbus-events-'))
    try {
      await work({ events: join(directory, 'events.json'), groups: join(directory, 'eventgroups.json') })
    } finally {
      await rm(directory, { recursive: true })
    }
  }

  it('retries a file that HomeSeer is still writing', async () => {
    await inDirectory(async (paths) => {
      await writeFile(paths.groups, JSON.stringify(GROUPS))
      await writeFile(paths.events, '[{"evRef":31,')
      const reading = new EventFileReader(paths).read()
      await writeFile(paths.events, JSON.stringify(EVENTS))
      expect(await reading).toMatchObject({ ok: true, value: { definitions: [{ id: 31 }] } })
    })
  })

  it('parses the files again only after a change', async () => {
    await inDirectory(async (paths) => {
      await writeFile(paths.groups, JSON.stringify(GROUPS))
      await writeFile(paths.events, JSON.stringify(EVENTS))
      const store = new EventFileReader(paths)
      const first = await store.read()
      const second = await store.read()
      expect(first.ok && second.ok && second.value === first.value).toBe(true)
      await writeFile(paths.events, '[]')
      expect(await store.read()).toMatchObject({ ok: true, value: { definitions: [] } })
    })
  })

  it('reports which file is unreadable, and that a file is not JSON', async () => {
    await inDirectory(async (paths) => {
      expect(await new EventFileReader(paths).read()).toEqual({
        ok: false,
        fault: { kind: 'unreadable', path: paths.events, code: 'ENOENT' },
      })
      await writeFile(paths.groups, '[]')
      await writeFile(paths.events, '{')
      expect(await new EventFileReader(paths).read()).toMatchObject({ ok: false, fault: { kind: 'not-json' } })
    })
  })
})

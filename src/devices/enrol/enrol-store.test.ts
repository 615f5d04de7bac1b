import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LOG_TABLE, tableLog } from '../../../test/table-log.ts'
import { systemClock } from '../../core/clock.ts'
import { Database } from '../../core/database-store.ts'
import { deviceToolsMigrations } from '../tools/tool-pin-store.ts'
import { rememberedDevicesMigrations, EnrolStore } from './enrol-store.ts'

const TOOL = { name: 'self.lamp.on', description: 'Turns it on.', inputSchema: { type: 'object' }, userOnly: false }
const MEMORY = { info: { name: 'box', version: '1' }, tools: [TOOL] }

let database: Database
let store: EnrolStore
beforeEach(async () => {
  database = new Database({
    path: ':memory:',
    migrations: [rememberedDevicesMigrations, deviceToolsMigrations, LOG_TABLE],
  })
  store = new EnrolStore(database, tableLog(database, systemClock))
  await store.approve({
    deviceId: 'aa:bb:cc:dd:ee:ff',
    clientId: 'client',
    transport: 'websocket',
    approvedBy: 'owner',
    name: 'box',
    board: 'box',
    firmware: '1',
  })
})
afterEach(() => database.close())

function recallOf(text: string): unknown {
  database.sql.prepare('INSERT OR REPLACE INTO device_memory VALUES (?, ?)').run('aa:bb:cc:dd:ee:ff', text)
  return store.memory(() => undefined).recall()[0]?.remembered
}

describe('the stored snapshot of a device', () => {
  it('is read as it was stored', () => {
    expect(recallOf(JSON.stringify(MEMORY))).toEqual({ transport: 'websocket', ...MEMORY })
    expect(recallOf('{"tools":[]}')).toEqual({ transport: 'websocket', info: undefined, tools: [] })
  })

  it.each([
    'x',
    'null',
    '[]',
    '{"tools":[{"name":5}],"info":7}',
    JSON.stringify({ ...MEMORY, info: 7 }),
    JSON.stringify({ ...MEMORY, tools: [{ ...TOOL, inputSchema: [] }] }),
    JSON.stringify({ ...MEMORY, tools: Array.from({ length: 5_000 }, () => TOOL) }),
  ])('is read as empty when its text is malformed: %.40s', (text) => {
    expect(recallOf(text)).toEqual({ transport: 'websocket', info: undefined, tools: [] })
  })
})

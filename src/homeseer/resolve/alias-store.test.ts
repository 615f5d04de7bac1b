import { describe, expect, it } from 'vitest'
import { LOG_TABLE, tableLog } from '../../../test/table-log.ts'
import { systemClock } from '../../core/clock.ts'
import { Database } from '../../core/database-store.ts'
import { parseConfiguredAliases, toAliasProvenance, type Alias } from './alias.ts'
import { AliasStore } from './alias-store.ts'

const open = () => new Database({ path: ':memory:', migrations: [LOG_TABLE] })
const aliasOf = (id: number, text: string) => ({ kind: 'device', id, text, confirmedBy: 'ann' }) as const
const NAMES: readonly Alias[] = [{ kind: 'device', id: 120, text: 'Kitchen Lamp', origin: 'name' }]

describe('learned aliases', () => {
  it('are stored, and are listed by their text', async () => {
    const database = open()
    const store = new AliasStore(database, tableLog(database, systemClock))
    expect(await store.learn(aliasOf(120, 'cooking light'), NAMES)).toEqual({ ok: true, value: undefined })
    expect(await store.learn(aliasOf(111, 'Veranda'), NAMES)).toMatchObject({ ok: true })
    expect(new AliasStore(database, tableLog(database, systemClock)).all).toEqual([
      { kind: 'device', id: 120, text: 'cooking light', origin: 'confirmed', owner: 'ann' },
      { kind: 'device', id: 111, text: 'Veranda', origin: 'confirmed', owner: 'ann' },
    ])
    database.close()
  })

  it('cannot take the name of another device, or one that looks the same', async () => {
    const database = open()
    const store = new AliasStore(database, tableLog(database, systemClock))
    expect(await store.learn(aliasOf(141, 'kitchen-lamp'), NAMES)).toEqual({
      ok: false,
      fault: { kind: 'taken', byIds: [120] },
    })
    expect(await store.learn(aliasOf(141, 'Kitсhen Lаmp'), NAMES)).toMatchObject({ fault: { kind: 'taken' } })
    expect(await store.learn(aliasOf(120, 'Kitchen lamp'), NAMES)).toMatchObject({ ok: true })
    expect(await store.learn(aliasOf(120, ' – '), NAMES)).toEqual({ ok: false, fault: { kind: 'not-a-name' } })
    expect(await store.learn(aliasOf(120, 'x'.repeat(101)), NAMES)).toMatchObject({ fault: { kind: 'not-a-name' } })
    database.close()
  })

  it('belong to the caller who confirmed them, unless the owner shares them', async () => {
    const database = open()
    const store = new AliasStore(database, tableLog(database, systemClock))
    await store.learn(aliasOf(120, 'the light'), NAMES)
    await store.learn({ ...aliasOf(141, 'the light'), confirmedBy: 'bob' }, NAMES)
    await store.learn({ ...aliasOf(111, 'veranda'), confirmedBy: 'owner', shared: true }, NAMES)
    expect(store.all.map(({ id, owner }) => [id, owner])).toEqual([
      [120, 'ann'],
      [141, 'bob'],
      [111, undefined],
    ])
    expect(await store.forget('device', 'the light')).toBe(true)
    expect(store.all.map(({ id }) => id)).toEqual([111])
    database.close()
  })

  it('are replaced by the newest confirmation, and can be forgotten', async () => {
    const database = open()
    const store = new AliasStore(database, tableLog(database, systemClock))
    await store.learn(aliasOf(120, 'the light'), NAMES)
    await store.learn(aliasOf(111, 'The Light'), [...NAMES, ...store.all])
    expect(store.all.map((alias) => alias.id)).toEqual([111])
    const before = store.all
    expect(store.all).toBe(before)
    expect(await store.forget('device', 'the LIGHT')).toBe(true)
    expect(await store.forget('device', 'the light')).toBe(false)
    expect(store.all).toEqual([])
    database.close()
  })
})

describe('configured aliases', () => {
  it('are read under any separator, and unreadable ones are reported', () => {
    const file = {
      'device:412': ['reading lamp'],
      'EVENT / 31': ['film'],
      'camera#1': [],
      lamp: ['x'],
      'device:1': 'x',
    }
    expect(parseConfiguredAliases(file)).toEqual({
      aliases: [
        { kind: 'device', id: 412, text: 'reading lamp', origin: 'configuration' },
        { kind: 'event', id: 31, text: 'film', origin: 'configuration' },
      ],
      faults: [
        { kind: 'bad-alias-key', key: 'lamp' },
        { kind: 'bad-alias-list', key: 'device:1' },
      ],
    })
  })

  it('have the provenance that the contract names', () => {
    expect(
      ['configuration', 'confirmed', 'name'].map((origin) => toAliasProvenance(origin as Alias['origin'])),
    ).toEqual(['config', 'learned', 'learned'])
  })
})

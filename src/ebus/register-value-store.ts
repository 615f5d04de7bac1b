/**
 * Register value store: the last values of a bus, kept over a restart, so that there are values in the first minute.
 * They are shown as old.
 */
import type { Database, ModuleMigrations } from '../core/database-store.ts'
import type { StoredMessageData } from './definitions/bus-definitions.ts'
import type { ShadowEntry } from './semantic/register-shadow.ts'

export const ebusMigrations: ModuleMigrations = {
  module: 'ebus',
  steps: [
    `-- The last known answer to what was read on a bus; a key is ebus/semantic/read-key.ts's number.
    CREATE TABLE ebus_value (
      bus TEXT NOT NULL,
      key INTEGER NOT NULL,
      payload BLOB NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (bus, key)
    ) STRICT, WITHOUT ROWID`,
    `-- The same for messages of definition files that planes are made of; message is circuit and name.
    CREATE TABLE ebus_message (
      bus TEXT NOT NULL,
      message TEXT NOT NULL,
      command BLOB NOT NULL,
      response BLOB NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (bus, message)
    ) STRICT, WITHOUT ROWID`,
  ],
}

export interface StoredRegisterValue {
  readonly key: number
  readonly payload: Uint8Array
  readonly atMs: number
}

export interface RegisterValueStore {
  readonly load: () => readonly StoredRegisterValue[]
  readonly loadMessages: () => readonly StoredMessageData[]
  readonly save: (entries: Iterable<ShadowEntry>, messages: Iterable<StoredMessageData>) => Promise<void>
}

/** Older values are useless. */
const MAX_AGE_MS = 86_400_000
/** ECMA-262: the latest time that a date has. */
const MAX_AT = 8_640_000_000_000_000
const MAX_KEY = Number.MAX_SAFE_INTEGER

export function createRegisterValueStore(database: Database, bus: string, now: () => number): RegisterValueStore {
  // Rows of another program, with impossible numbers, are skipped and removed by the next save.
  const select = database.sql.prepare(
    `SELECT key, payload, at FROM ebus_value WHERE bus = ? AND at > ? AND at <= ${MAX_AT} AND key BETWEEN 0 AND ${MAX_KEY}`,
  )
  const selectMessages = database.sql.prepare(
    `SELECT message, command, response, at FROM ebus_message WHERE bus = ? AND at > ? AND at <= ${MAX_AT}`,
  )
  return {
    load: () =>
      select.all(bus, now() - MAX_AGE_MS).map((row) => ({
        key: Number(row['key']),
        payload: new Uint8Array(row['payload'] as Uint8Array),
        atMs: Number(row['at']),
      })),
    loadMessages: () =>
      selectMessages.all(bus, now() - MAX_AGE_MS).map((row) => ({
        message: String(row['message']),
        command: new Uint8Array(row['command'] as Uint8Array),
        response: new Uint8Array(row['response'] as Uint8Array),
        atMs: Number(row['at']),
      })),
    save: async (entries, messages) => {
      const rows = [...entries].filter(({ state, source }) => state === 'present' && source !== 'cache')
      await database.commit((sql) => {
        const insertValue = sql.prepare('INSERT OR REPLACE INTO ebus_value (bus, key, payload, at) VALUES (?, ?, ?, ?)')
        for (const { key, payload, atMs } of rows) insertValue.run(bus, key, payload, Math.round(atMs))
        const insertMessage = sql.prepare(
          'INSERT OR REPLACE INTO ebus_message (bus, message, command, response, at) VALUES (?, ?, ?, ?, ?)',
        )
        for (const { message, command, response, atMs } of messages)
          insertMessage.run(bus, message, command, response, Math.round(atMs))
        sql
          .prepare(`DELETE FROM ebus_message WHERE bus = ? AND (at <= ? OR at > ${MAX_AT})`)
          .run(bus, now() - MAX_AGE_MS)
        sql
          .prepare(
            `DELETE FROM ebus_value WHERE bus = ? AND (at <= ? OR at > ${MAX_AT} OR key NOT BETWEEN 0 AND ${MAX_KEY})`,
          )
          .run(bus, now() - MAX_AGE_MS)
      })
    },
  }
}

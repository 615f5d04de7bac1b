import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Database, DatabaseTooNewError } from './database-store.ts'
import type { PreCommitJournal } from './database-store.ts'

const migrations = [{ module: 'test', steps: ['CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE) STRICT'] }]
let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearthbus-db-'))
  path = join(folder, 'node.db')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function names(database: Database): unknown[] {
  return database.sql
    .prepare('SELECT name FROM item ORDER BY id')
    .all()
    .map((row) => row['name'])
}

/** Ours, which only reads: SQLite has the same file open to write to it. */
function syncedDescriptor(file: string): number {
  const found = readdirSync('/proc/self/fd').find((descriptor) => {
    const place = `/proc/self/fd/${descriptor}`
    if (!existsSync(place) || readlinkSync(place) !== file) return false
    return /^flags:\s+\d*0$/m.test(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))
  })
  return Number(found)
}

describe('database', () => {
  it('answers all transactions of a group in their order', async () => {
    const database = new Database({ path, migrations })
    const insert = (name: string): Promise<unknown> =>
      database.commit((sql) => sql.prepare('INSERT INTO item (name) VALUES (?)').run(name).lastInsertRowid)
    expect(await Promise.all(['a', 'b', 'c'].map(insert))).toEqual([1, 2, 3])
    database.close()
    const again = new Database({ path, migrations })
    expect(names(again)).toEqual(['a', 'b', 'c'])
    again.close()
  })

  it.each([
    ['in one group while every turn of the event loop brings one', 5, [5]],
    ['in a group of 128 at most', 130, [128, 2]],
  ])('commits works %s', async (_, count, expected) => {
    const database = new Database({ path, migrations })
    let works = 0
    const groups: number[] = []
    database.follow({
      workBegins: () => {
        works += 1
      },
      workUndone: () => undefined,
      groupEnds: () => {
        groups.push(works)
        works = 0
      },
    })
    const committed: Promise<unknown>[] = []
    for (let turn = 0; turn < count; turn++) {
      committed.push(database.commit(() => turn))
      await new Promise(setImmediate)
    }
    await Promise.all(committed)
    expect(groups).toEqual(expected)
    database.close()
  })

  it.each(['with the folder that it is in', 'alone'])('removed %s refuses transactions', async (how) => {
    const database = new Database({ path, migrations })
    rmSync(how === 'alone' ? path : folder, { recursive: true })
    const written = database.commit((sql) => sql.prepare('INSERT INTO item (name) VALUES (?)').run('a'))
    await expect(written).rejects.toThrow(/^the database .*node\.db was removed/)
    await expect(database.commit(() => 'read')).rejects.toThrow('was removed')
    expect(() => database.close()).toThrow('was removed')
  })

  it('answers a read only after the rows it read are stored on disk', async () => {
    const database = new Database({ path, migrations })
    const order: string[] = []
    for (let round = 0; round < 20; round++) {
      const name = `item ${round}`
      const written = database
        .commit((sql) => sql.prepare('INSERT INTO item (name) VALUES (?)').run(name))
        .then(() => order.push(`${name} is there`))
      const read = new Promise<void>((resolve) => {
        // One turn later: the row is committed, and its sync is under way.
        setImmediate(() => {
          void database
            .commit(() => names(database).at(-1))
            .then((last) => resolve(void order.push(`${String(last)} is read`)))
        })
      })
      await Promise.all([written, read])
      await database.commit(() => undefined)
    }
    expect(order).toEqual(Array.from({ length: 20 }, (_, n) => [`item ${n} is there`, `item ${n} is read`]).flat())
    database.close()
  })

  it('rolls back only the transaction that throws', async () => {
    const database = new Database({ path, migrations })
    const undone: string[] = []
    database.useJournal({
      workBegins: () => undone.push('begins'),
      workUndone: () => undone.push('undone'),
      writeGroup: (changedRows) => void undone.push(`written ${changedRows}`),
      groupEnds: (committed) => undone.push(`ends ${committed}`),
      close: () => undefined,
    })
    const results = await Promise.allSettled([
      database.commit((sql) => sql.exec("INSERT INTO item (name) VALUES ('a')")),
      database.commit((sql) => {
        sql.exec("INSERT INTO item (name) VALUES ('b')")
        throw new Error('no')
      }),
      database.commit((sql) => sql.exec("INSERT INTO item (name) VALUES ('c')")),
    ])
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(names(database)).toEqual(['a', 'c'])
    expect(undone).toEqual(['begins', 'begins', 'undone', 'begins', 'written true', 'ends true'])
    database.close()
  })

  it('runs what the journal prepared when the group is durable, before its callers are answered', async () => {
    const database = new Database({ path, migrations })
    const order: string[] = []
    let fails = false
    let groups = 0
    database.useJournal({
      workBegins: () => undefined,
      workUndone: () => undefined,
      writeGroup: () => {
        if (fails) throw new Error('full')
        return undefined
      },
      groupEnds: (committed) => order.push(`ends ${committed}`),
      prepareAnswer: () => {
        const group = ++groups
        return () => order.push(`prepared ${group}`)
      },
      close: () => undefined,
    })
    const insert = "INSERT INTO item (name) VALUES ('a')"
    await database.commit((sql) => sql.exec(insert)).then(() => order.push('answered 1'))
    await database.commit(() => undefined, { tables: false }).then(() => order.push('answered 2'))
    fails = true
    await database.commit((sql) => sql.exec(insert)).catch(() => order.push('refused'))
    expect(order).toEqual([
      'ends true',
      'prepared 1',
      'answered 1',
      'ends true',
      'prepared 2',
      'answered 2',
      'ends false',
      'refused',
    ])
    database.close()
  })

  it('rejects all transactions of the group when the disk is full, and continues when there is room again', async () => {
    const database = new Database({ path, migrations })
    const pages = Number(database.sql.prepare('PRAGMA page_count').get()?.['page_count'])
    database.sql.exec(`PRAGMA max_page_count = ${pages + 2}`)
    const big = 'x'.repeat(100_000)
    const results = await Promise.allSettled([
      database.commit((sql) => sql.prepare('INSERT INTO item (name) VALUES (?)').run('small')),
      database.commit((sql) => sql.prepare('INSERT INTO item (name) VALUES (?)').run(big)),
    ])
    expect(results.at(1)).toMatchObject({ status: 'rejected', reason: { message: 'database or disk is full' } })
    database.sql.exec('PRAGMA max_page_count = 100000')
    await database.commit((sql) => sql.prepare('INSERT INTO item (name) VALUES (?)').run('later'))
    // Either the small one was kept and acknowledged, or it was not kept and refused: never a third thing.
    expect(names(database)).toEqual(results[0].status === 'fulfilled' ? ['small', 'later'] : ['later'])
    database.close()
  })

  it.runIf(existsSync('/proc/self/fd'))(
    'acknowledges no transaction after a failed sync, not even waiting ones',
    async () => {
      const database = new Database({ path, migrations })
      const insert = (name: string): Promise<unknown> =>
        database.commit((sql) => sql.prepare('INSERT INTO item (name) VALUES (?)').run(name))
      closeSync(syncedDescriptor(`${path}-wal`))
      let second: Promise<unknown> | undefined
      const first = database.commit((sql) => {
        sql.prepare('INSERT INTO item (name) VALUES (?)').run('a')
        // Runs when the group was handed to the sync.
        process.nextTick(() => {
          second = insert('b')
          // The sync of the first fails now, while the second waits for its turn. The next sync would succeed.
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
          openSync(`${path}-wal`, 'r')
        })
      })
      await first.catch(() => undefined)
      const outcomes = await Promise.allSettled([first, second])
      expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
      await expect(insert('c')).rejects.toThrow('repair it, then restart')
      database.close()
    },
  )

  it('refuses a file written by a newer program', () => {
    new Database({
      path,
      migrations: [{ module: 'test', steps: ['CREATE TABLE a (x)', 'CREATE TABLE b (x)'] }],
    }).close()
    expect(() => new Database({ path, migrations: [{ module: 'test', steps: ['CREATE TABLE a (x)'] }] })).toThrow(
      DatabaseTooNewError,
    )
  })

  it('rolls back completely when a migration fails', () => {
    const broken = [{ module: 'test', steps: ['CREATE TABLE a (x)', 'CREATE TABLE'] }]
    expect(() => new Database({ path, migrations: broken })).toThrow('incomplete input')
    const database = new Database({ path, migrations })
    expect(database.sql.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name = 'a'").get()).toEqual({ n: 0 })
    database.close()
  })

  it('refuses a transaction after it was closed', async () => {
    const database = new Database({ path, migrations })
    database.close()
    await expect(database.commit(() => 1)).rejects.toThrow('closed')
  })
})

/** A log on a disk that is as quick as memory, until it is told to be slow or to fail. */
class QuickJournal implements PreCommitJournal {
  readonly syncs: ('now' | 'later')[] = []
  failure: Error | undefined
  syncMs = 0
  readonly workBegins = (): void => undefined
  readonly workUndone = (): void => undefined
  readonly groupEnds = (): void => undefined
  readonly close = (): void => undefined
  readonly writeGroup = () => ({
    later: (done: (error: Error | null) => void) => {
      this.syncs.push('later')
      queueMicrotask(() => done(null))
    },
    now: () => {
      this.syncs.push('now')
      vi.advanceTimersByTime(this.syncMs)
      if (this.failure !== undefined) throw this.failure
    },
  })
}

describe('journal sync', () => {
  const append = (database: Database): Promise<void> => database.commit(() => undefined, { tables: false })

  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('moves off the event loop after a slow sync, and back later', async () => {
    const database = new Database({ path, migrations })
    const journal = new QuickJournal()
    database.useJournal(journal)
    journal.syncMs = 30
    await append(database)
    journal.syncMs = 0
    // 0.5 % of the event loop's time; 20 ms of it may be used in advance.
    vi.advanceTimersByTime((30 - 20) * 200 - 31)
    await append(database)
    await Promise.all(Array.from({ length: 3 }, () => append(database)))
    expect(journal.syncs).toEqual(['now', 'later', 'later'])
    vi.advanceTimersByTime(1)
    await append(database)
    expect(journal.syncs.at(-1)).toBe('now')
    database.close()
  })

  it('stays on the event loop after some slow syncs that last 20 ms in total', async () => {
    const database = new Database({ path, migrations })
    const journal = new QuickJournal()
    database.useJournal(journal)
    journal.syncMs = 2
    for (let sync = 0; sync < 10; sync++) await append(database)
    expect(journal.syncs).toEqual(Array(10).fill('now'))
    await append(database)
    await append(database)
    expect(journal.syncs.at(-1)).toBe('later')
    database.close()
  })

  it('that fails on the event loop rejects that transaction and all later ones', async () => {
    const database = new Database({ path, migrations })
    const journal = new QuickJournal()
    database.useJournal(journal)
    journal.failure = new Error('EIO')
    await expect(append(database)).rejects.toThrow('the disk failed to store what was written (EIO)')
    await expect(append(database)).rejects.toThrow('the disk failed')
    database.close()
  })
})

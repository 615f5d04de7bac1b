import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { explainDataDirectoryTrouble } from './data-directory-trouble.ts'

function errorWith(facts: object): Error {
  return Object.assign(new Error('the system says so'), facts)
}

function troubleOf(act: () => unknown): string | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return explainDataDirectoryTrouble(error, '/data/home')
  }
}

describe('explanation of a data directory error', () => {
  it('covers the directory, the paths in it and the path to it', () => {
    for (const path of ['/data/home', '/data/home/keys', '/data'])
      expect(explainDataDirectoryTrouble(errorWith({ code: 'EROFS', path }), '/data/home')).toContain(
        'mounted read-only',
      )
    expect(
      explainDataDirectoryTrouble(errorWith({ code: 'ENOTDIR', path: '/data/home/keys' }), '/data/home'),
    ).toContain('a file in its place')
  })

  it('is given even if no remedy is known', () => {
    const unknown = errorWith({ code: 'EXDEV', path: '/data/home' })
    expect(explainDataDirectoryTrouble(unknown, '/data/home')).toBe('/data/home cannot be used (the system says so).')
  })

  // `node -e "fs.writeFileSync(fd, …)"` on a full tmpfs: code ENOSPC, syscall write, no path.
  it('says that the disk is full, also when the error names no path', () => {
    const full = errorWith({ code: 'ENOSPC', errno: -28, syscall: 'write' })
    expect(explainDataDirectoryTrouble(full, '/data/home')).toContain('is full')
    const database = errorWith({ code: 'ERR_SQLITE_ERROR', errcode: 13 })
    expect(explainDataDirectoryTrouble(database, '/data/home')).toContain('is full')
  })

  it('says that a file is not a database, for every extended SQLite code', () => {
    for (const errcode of [26, 11, 11 | (3 << 8)])
      expect(explainDataDirectoryTrouble(errorWith({ code: 'ERR_SQLITE_ERROR', errcode }), '/data/home')).toContain(
        'from a backup',
      )
    expect(explainDataDirectoryTrouble(errorWith({ code: 'ERR_SQLITE_ERROR', errcode: 14 }), '/data/home')).toContain(
      'cannot be used',
    )
  })

  it('covers a number in a database that node:sqlite cannot read', () => {
    const file = new DatabaseSync(':memory:')
    file.exec('CREATE TABLE t (n INTEGER PRIMARY KEY); INSERT INTO t VALUES (9007199254740993)')
    const read = (): unknown => file.prepare('SELECT n FROM t').all()
    expect(read).toThrow(RangeError)
    expect(troubleOf(read)).toMatch(/^A database in \/data\/home contains a number that this program did not write \(/)
    expect(explainDataDirectoryTrouble(new RangeError('too large'), '/data/home')).toBeUndefined()
  })

  it('is not given for programming errors and for errors of other paths', () => {
    expect(explainDataDirectoryTrouble(new TypeError('x is undefined'), '/data/home')).toBeUndefined()
    expect(
      explainDataDirectoryTrouble(errorWith({ code: 'EACCES', path: '/data/homestead' }), '/data/home'),
    ).toBeUndefined()
    expect(explainDataDirectoryTrouble(errorWith({ code: 'EADDRINUSE' }), '/data/home')).toBeUndefined()
  })
})
